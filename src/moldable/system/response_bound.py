"""A lower bound of the mean response time of all policies."""

from __future__ import annotations

import dataclasses
import math

from moldable.allocation.division import reserve
from moldable.errors import InfeasibleError
from moldable.model.arrivals import ArrivalTimes, Poisson
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.system.equi_queue import equi_queue


def response_bound(scenario: Scenario) -> float | None:
    """Return a mean response time that no policy beats; None where none is known.

    With unlimited waiting places the mean execution time is at least the optimum of the paper's
    linear program, for any sizes. For exponential sizes and a concave curve the preemptive EQUI has
    the least mean response time of all. A list of arrival times has no bound: its rate is not that
    of the workload, and jobs may find an empty cluster.
    """
    if not math.isinf(scenario.waiting) or isinstance(scenario.arrivals, ArrivalTimes):
        return None
    workload = scenario.workload
    alike = tuple(dataclasses.replace(part, weight=1.0) for part in workload.classes)
    try:
        best = reserve(
            dataclasses.replace(scenario, workload=dataclasses.replace(workload, classes=alike))
        ).mean_execution_time
    except InfeasibleError:
        return None
    first, *others = workload.classes
    memoryless = isinstance(scenario.arrivals, Poisson) and isinstance(first.size, Exponential)
    if others or not memoryless or not first.speedup.is_concave():
        return best
    return max(best, equi_queue(scenario, scenario.waiting).mean_response)
