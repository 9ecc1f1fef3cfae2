"""Lower bounds on waits and times that hold under every policy."""

from __future__ import annotations

import math

from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.planning.goal import Goal


def least_figure(scenario: Scenario, goal: Goal) -> float:
    """Return a lower bound on the limited figure under every policy; 0 where none is known."""
    if not math.isinf(scenario.waiting):
        return 0.0
    if goal.name == "max_wait_probability":
        return least_wait_probability(scenario)
    if goal.name == "max_response":
        return least_wait(scenario) + fastest_time(scenario)
    return least_wait(scenario)


def least_busy(scenario: Scenario) -> float:
    """Return the mean number of busy servers with every job on its most efficient width."""
    return math.fsum(
        c.offered * float((c.speedup.widths / c.speedup.speedups).min())
        for c in scenario.workload.classes
    )


def fastest_time(scenario: Scenario) -> float:
    """Return the mean execution time with every job on its fastest width."""
    workload = scenario.workload
    times = (c.offered / float(c.speedup.speedups.max()) for c in workload.classes)
    return math.fsum(times) / workload.arrival_rate


def least_wait(scenario: Scenario) -> float:
    """Return a lower bound on the mean wait in an unlimited queue with Poisson arrivals.

    Jobs are measured by the server-time that they need at least. Servers do at most one unit of it
    per unit of time, so at least as much is left as in an M/G/1 queue whose server is as fast as
    all of them together. What running jobs have left follows from their execution times, which
    are longest on the slowest width; the rest is that of waiting jobs.
    """
    classes, spare = scenario.workload.classes, scenario.servers - least_busy(scenario)
    variable = any(math.isinf(c.size.variance) for c in classes)
    if not isinstance(scenario.arrivals, Poisson) or spare <= 0.0 or variable:
        return 0.0
    total = running = largest = 0.0
    for c in classes:
        needed = float((c.speedup.widths / c.speedup.speedups).min())  # per unit of size
        squares = c.arrival_rate * c.mean_size**2 * (1.0 + c.size.variance)
        total += needed**2 * squares / (2.0 * spare)
        running += needed * squares / (2.0 * float(c.speedup.speedups.min()))
        largest = max(largest, needed * c.mean_size)
    return max(0.0, (total - running) / (largest * scenario.workload.arrival_rate))


def least_wait_probability(scenario: Scenario) -> float:
    """Return a lower bound on the share of jobs that wait in an unlimited queue, Poisson arrivals.

    The mean number of idle servers is at most what the most efficient widths leave. By Markov's
    inequality it bounds the probability that the narrowest width fits.
    """
    if not isinstance(scenario.arrivals, Poisson):
        return 0.0
    narrowest = min(int(c.speedup.widths[0]) for c in scenario.workload.classes)
    return max(0.0, 1.0 - (scenario.servers - least_busy(scenario)) / narrowest)
