"""The performance of EQUI, the preemptive reference, without a queue: for any sizes."""

from __future__ import annotations

import numpy as np

from moldable.errors import ChainError
from moldable.model.scenario import Scenario
from moldable.policies.equi import Equi
from moldable.system.equi_queue import busy_share, jobs_present
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance


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
    return Performance(
        blocking=blocking,
        mean_execution_time=time,
        quantiles={},
        width_shares={},
        mean_jobs={},
        busy_fraction=float(law @ busy_share(job_class, servers, jobs)),
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
