"""Problem (Q) of the paper: the optimal division of a cluster among several classes.

Every class starts at its least server-time. Spare capacity then buys the edges of all frontiers in
order of the time they save per server-time, the last one in part: so at most one class randomises
between two widths.
"""

from __future__ import annotations

import math

import numpy as np

from moldable.allocation.frontier import Frontier, frontiers
from moldable.allocation.reservation import ClassAllocation, Reservation
from moldable.arrays import Floats, Ints
from moldable.errors import InfeasibleError, shortened
from moldable.model.assumptions import ROUNDING
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.workload import Workload


def reserve(scenario: ScenarioOrFile) -> Reservation:
    """Solve (Q): the division with the least (weighted) mean time if servers are divisible.

    Examples:
        >>> reserve(Scenario.single([1, 1.8, 2.5], 0.9, 8))
        Reservation(jobs: 8 servers, widths [2]; mean_execution_time=0.555556, shadow_price=1.75)
    """
    scenario = checked_scenario(scenario)
    fronts = fitting_frontiers(scenario)
    workload, servers = scenario.workload, scenario.servers
    least, owner, slope, cost = _edges(workload, fronts)
    needed = math.fsum(least)
    if needed > servers * (1.0 + ROUNDING):
        raise InfeasibleError(_overload(workload, least, servers))
    spare, offered = servers - needed, [job_class.offered for job_class in workload.classes]
    noise = ROUNDING * (spare + float(np.sum(offered)))
    bought = int(np.searchsorted(cost, spare + noise, side="right"))
    reached = np.bincount(owner[:bought], minlength=len(fronts)).tolist()
    mixes = [front.alone(int(front.corners[k])) for front, k in zip(fronts, reached, strict=True)]
    price = -float(slope[bought]) if bought < cost.size else 0.0
    left_over = spare - (float(cost[bought - 1]) if bought else 0.0)
    # A part that is bought because of rounding errors would randomise without a gain.
    if bought < cost.size and left_over > noise:
        j = int(owner[bought])
        mixes[j] = fronts[j].read(mixes[j].server_time + left_over / offered[j])
    parts = tuple(
        ClassAllocation(job_class, job_class.offered * mix.server_time, front, mix)
        for job_class, front, mix in zip(workload.classes, fronts, mixes, strict=True)
    )
    return Reservation(servers, parts, price, whole=False, time_unit=scenario.time_unit)


def fitting_frontiers(scenario: Scenario) -> list[Frontier]:
    """Return the frontier of every class over the widths that fit on the cluster."""
    classes = scenario.workload.classes
    return frontiers([job_class.speedup.up_to(scenario.servers) for job_class in classes])


def pure_loads(scenario: Scenario) -> Floats:
    """Return the loads, descending, at which the division gives every class one width.

    All classes are scaled alike; between two of these loads one class uses two widths.
    """
    workload = scenario.workload
    least, _, _, cost = _edges(workload, fitting_frontiers(scenario))
    offered = math.fsum(job_class.offered for job_class in workload.classes)
    return offered / (math.fsum(least) + np.concatenate((np.zeros(1), cost)))


def _edges(workload: Workload, fronts: list[Frontier]) -> tuple[Floats, Ints, Floats, Floats]:
    """Return the least servers of each class, and the edges of all frontiers, steepest first.

    For each edge: its class, the weighted time saved per server-time (negative), and the servers
    that all edges up to it take together.
    """
    offered = np.array([job_class.offered for job_class in workload.classes])
    least = offered * np.array([front.server_time[0] for front in fronts])
    corners = np.array([front.corners.size for front in fronts], dtype=np.int64)
    owner = np.repeat(np.arange(corners.size), corners)
    x = np.concatenate([front.server_time[front.corners] for front in fronts])
    t = np.concatenate([front.time[front.corners] for front in fronts])
    weight = np.array([job_class.weight for job_class in workload.classes])

    inner = np.flatnonzero(owner[1:] == owner[:-1])
    owner = owner[inner]
    run = x[inner + 1] - x[inner]
    slope = weight[owner] * _convex((t[inner + 1] - t[inner]) / run, owner)
    order = np.argsort(slope, kind="stable")
    return least, owner[order], slope[order], np.cumsum((offered[owner] * run)[order])


def _convex(slope: Floats, owner: Ints) -> Floats:
    """Undo rounding that would buy a later edge of a class before an earlier one."""
    while True:
        falls = np.flatnonzero((slope[1:] < slope[:-1]) & (owner[1:] == owner[:-1]))
        if not falls.size:
            return slope
        slope[falls + 1] = slope[falls]


def _overload(workload: Workload, least: Floats, servers: int) -> str:
    needs = shortened(
        f"{job_class.name} {need:.6g}"
        for job_class, need in zip(workload.classes, least.tolist(), strict=True)
    )
    total = math.fsum(least)
    return (
        f"the classes need at least {total:.6g} busy servers ({needs}), but there are {servers}; "
        f"add servers, or send at most {servers / total:.6g} times as many jobs"
    )
