"""The performance of EQUI, the preemptive reference: a birth-death chain.

Without a queue it holds for any sizes. With one, first come, first served, jobs beyond the number
of servers wait; then sizes must be exponential. On a concave curve all present jobs together are
then as fast as they can be in every state, so the mean response is a lower bound for all policies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import checked_int
from moldable.errors import ChainError, UnstableError
from moldable.exact.closed_forms import MOST_SLOTS
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.policies.equi import Equi
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance


def jobs_present(scenario: Scenario) -> Floats:
    """Return the distribution of the number of jobs under EQUI, from 0 to the servers."""
    return _normalised(_log_steps(scenario))


def _log_steps(scenario: Scenario) -> Floats:
    """Return log(arrival rate/departure rate) at 1, 2, ... jobs, up to the servers."""
    workload, servers = scenario.workload, scenario.servers
    if len(workload.classes) != 1:
        raise ChainError(
            f"equi shares servers among the jobs of one class; this workload has "
            f"{len(workload.classes)}: evaluate them one by one"
        )
    job_class = workload.classes[0]
    return np.log(job_class.arrival_rate / Equi.departure_rates(job_class, servers)[1:])


def _normalised(steps: Floats) -> Floats:
    """Return the distribution of a birth-death chain with these logarithms of ratios."""
    # By logarithms: on super-linear curves the departure rate falls again as jobs get narrower, so
    # the distribution may have two peaks with probabilities between them that underflow.
    likeliest = int(np.argmax(np.concatenate(((0.0,), np.cumsum(steps)))))
    up, down = np.cumsum(steps[likeliest:]), np.cumsum(-steps[:likeliest][::-1])[::-1]
    weights = np.exp(np.concatenate((down, (0.0,), up)))
    law: Floats = weights / weights.sum()
    return law


@final
@dataclass(frozen=True)
class EquiQueue:
    """EQUI with a queue.

    Attributes:
        blocking: probability that an arriving job is blocked.
        arrivals_waiting: probability that an arriving job waits.
        mean_jobs: mean number of jobs in the system.
        mean_queue: mean number of waiting jobs.
        mean_response: mean response time of accepted jobs; on a concave curve a lower bound for all
            policies.
    """

    blocking: float
    arrivals_waiting: float
    mean_jobs: float
    mean_queue: float
    mean_response: float


def equi_queue(scenario: Scenario, places: float) -> EquiQueue:
    """Return the performance of EQUI with a queue; up to n + places jobs are in the system.

    Args:
        scenario: one class with exponential sizes, and Poisson arrivals.
        places: number of jobs that may wait; `inf`: any number.
    """
    steps, servers = _log_steps(scenario), scenario.servers
    job_class = scenario.workload.classes[0]
    if places > 0 and not isinstance(job_class.size, Exponential):
        raise ChainError(
            f"equi with a queue is known for exponential sizes only; these are {job_class.size}: "
            f"use exponential sizes, or no waiting places"
        )
    if math.isinf(places):
        return _unlimited(steps, servers, job_class.arrival_rate)
    places = checked_int(places, "places", ChainError, least=0, most=MOST_SLOTS)
    law = _normalised(np.concatenate((steps, np.full(places, steps[-1]))))
    jobs, blocking = np.arange(law.size), float(law[-1])
    present = float(law @ jobs)
    return EquiQueue(
        blocking=blocking,
        arrivals_waiting=float(law[servers:-1].sum()),
        mean_jobs=present,
        mean_queue=float(law[servers:] @ (jobs[servers:] - servers)),
        mean_response=present / (job_class.arrival_rate * (1.0 - blocking)),
    )


def _unlimited(steps: Floats, servers: int, arrival_rate: float) -> EquiQueue:
    """Sum the geometric probabilities of n, n + 1, ... jobs."""
    if steps[-1] >= 0.0:
        raise UnstableError(
            f"jobs arrive at rate {arrival_rate:.6g}, but {servers} of them on {servers} servers "
            f"complete at rate {arrival_rate * math.exp(-steps[-1]):.6g}, so the queue grows "
            f"without limit; lower the load or limit the waiting places"
        )
    law, spare = _normalised(steps), -math.expm1(steps[-1])
    waits = float(law[-1]) / spare
    total = 1.0 - float(law[-1]) + waits
    queue = waits * (1.0 - spare) / spare
    present = (float(law[:-1] @ np.arange(servers)) + waits * servers + queue) / total
    return EquiQueue(
        blocking=0.0,
        arrivals_waiting=waits / total,
        mean_jobs=present,
        mean_queue=queue / total,
        mean_response=present / arrival_rate,
    )


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
