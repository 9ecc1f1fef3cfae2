"""The performance of EQUI, the preemptive reference: a birth-death chain, for any sizes."""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats
from moldable.errors import ChainError
from moldable.model.scenario import Scenario
from moldable.policies.equi import Equi
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance


def jobs_present(scenario: Scenario) -> Floats:
    """Return the distribution of the number of jobs under EQUI, from 0 to the servers."""
    workload, servers = scenario.workload, scenario.servers
    if len(workload.classes) != 1:
        raise ChainError(
            f"equi shares servers among the jobs of one class; this workload has "
            f"{len(workload.classes)}: evaluate them one by one"
        )
    job_class = workload.classes[0]
    deaths = Equi.departure_rates(job_class, servers)[1:]
    # By logarithms: on super-linear curves the departure rate falls again as jobs get narrower, so
    # the distribution may have two peaks with probabilities between them that underflow.
    steps = np.log(job_class.arrival_rate / deaths)
    likeliest = int(np.argmax(np.concatenate(((0.0,), np.cumsum(steps)))))
    up, down = np.cumsum(steps[likeliest:]), np.cumsum(-steps[:likeliest][::-1])[::-1]
    weights = np.exp(np.concatenate((down, (0.0,), up)))
    law: Floats = weights / weights.sum()
    return law


def equi_performance(scenario: Scenario, reason: str = "asked for") -> Performance:
    """Return the performance of EQUI; it grants no fixed widths, so there are no width shares."""
    law = jobs_present(scenario)
    job_class, servers = scenario.workload.classes[0], scenario.servers
    jobs = np.arange(servers + 1)
    blocking = Estimate.exact(float(law[-1]))
    departures = float(law @ Equi.departure_rates(job_class, servers))
    accepted = job_class.arrival_rate * (1.0 - float(law[-1]))
    if not abs(departures - accepted) <= 1e-9 * job_class.arrival_rate:
        raise ChainError(
            "the distribution of equi fails rate conservation: a bug, please report it"
        )
    time = Estimate.exact(float(law @ jobs) / departures)
    usable = job_class.speedup.up_to(servers)
    widest = int(usable.widths[np.argmax(usable.speedups)])
    return Performance(
        blocking=blocking,
        mean_execution_time=time,
        quantiles={},
        width_shares={},
        mean_jobs={},
        busy_fraction=float(law @ np.minimum(jobs * widest, servers)) / servers,
        departure_rate=departures / servers,
        classes=(ClassPerformance(job_class.name, blocking, time, {}, {}),),
        method="closed-form",
        reason=f"{reason}: a birth-death chain, any sizes",
        warnings=(),
        scenario=scenario,
        policy={"policy": Equi().name},
        provenance=provenance(scenario, Equi().name),
        detail=ExactDetail(states=servers + 1, error_bound=0.0, neglected_mass=0.0),
    )
