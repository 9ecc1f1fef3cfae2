"""The number of jobs under EQUI, the preemptive reference: a birth-death chain.

Without a queue it holds for any sizes. With one, first come, first served, jobs beyond the number
of servers wait; then sizes must be exponential. On a concave curve all present jobs together are
then as fast as they can be in every state, so the mean response is a lower bound for all policies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import checked_int
from moldable.errors import ChainError, UnstableError
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.model.workload import JobClass
from moldable.policies.equi import Equi

MOST_PLACES: Final = 50_000_000
"""Waiting places up to which the distribution is listed."""
CONSERVED: Final = 1e-9
"""Largest difference between departing and accepted jobs, relative to the arriving ones."""


def jobs_present(scenario: Scenario, places: int = 0) -> Floats:
    """Return the distribution of the number of jobs under EQUI, from 0 to the servers + places."""
    steps = _log_steps(scenario)
    return _normalised(np.concatenate((steps, np.full(places, steps[-1]))))


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
        busy_fraction: the fraction of servers kept busy.
    """

    blocking: float
    arrivals_waiting: float
    mean_jobs: float
    mean_queue: float
    mean_response: float
    busy_fraction: float


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
        return _unlimited(steps, servers, job_class)
    places = checked_int(places, "places", ChainError, least=0, most=MOST_PLACES)
    law = jobs_present(scenario, places)
    jobs, blocking = np.arange(law.size), float(law[-1])
    accepted = job_class.arrival_rate * (1.0 - blocking)
    departures = Equi.departure_rates(job_class, servers)[np.minimum(jobs, servers)]
    if not abs(float(law @ departures) - accepted) <= CONSERVED * job_class.arrival_rate:
        raise ChainError(
            "the distribution of equi fails rate conservation: a bug, please report it"
        )
    if accepted <= 0.0:
        raise ChainError(
            f"at load {scenario.load:.3g} no share of the jobs above rounding errors is accepted; "
            f"lower the load"
        )
    present = float(law @ jobs)
    return EquiQueue(
        blocking=blocking,
        arrivals_waiting=float(law[servers:-1].sum()),
        mean_jobs=present,
        mean_queue=float(law[servers:] @ (jobs[servers:] - servers)),
        mean_response=present / accepted,
        busy_fraction=float(law @ busy_share(job_class, servers, jobs)),
    )


def _unlimited(steps: Floats, servers: int, job_class: JobClass) -> EquiQueue:
    """Sum the geometric probabilities of n, n + 1, ... jobs."""
    arrival_rate = job_class.arrival_rate
    if steps[-1] >= 0.0:
        raise UnstableError(
            f"jobs arrive at rate {arrival_rate:.6g}, but {servers} of them on {servers} servers "
            f"complete at rate {arrival_rate * math.exp(-steps[-1]):.6g}, so the queue grows "
            f"without limit; lower the load or limit the waiting places"
        )
    law, spare = _normalised(steps), -math.expm1(steps[-1])
    jobs = np.arange(servers)
    waits = float(law[-1]) / spare
    total = 1.0 - float(law[-1]) + waits
    queue = waits * (1.0 - spare) / spare
    present = (float(law[:-1] @ jobs) + waits * servers + queue) / total
    return EquiQueue(
        blocking=0.0,
        arrivals_waiting=waits / total,
        mean_jobs=present,
        mean_queue=queue / total,
        mean_response=present / arrival_rate,
        busy_fraction=(float(law[:-1] @ busy_share(job_class, servers, jobs)) + waits) / total,
    )


def busy_share(job_class: JobClass, servers: int, jobs: Ints) -> Floats:
    """Return the fraction of servers that each number of jobs keeps busy."""
    usable = job_class.speedup.up_to(servers)
    widest = int(usable.widths[np.argmax(usable.speedups)])
    return np.minimum(jobs * widest, servers) / servers
