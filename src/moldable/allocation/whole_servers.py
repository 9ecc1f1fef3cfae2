"""The optimal division of a cluster into whole servers.

A class's mean time is convex in its servers, so buying servers one by one where they save most is
optimal. Between two corners of a frontier every server saves the same, so servers are bought in
runs: the work depends on the curves, not on the size of the cluster.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from moldable.allocation.division import fitting_frontiers
from moldable.allocation.frontier import Frontier
from moldable.allocation.reservation import ClassAllocation, Reservation
from moldable.arrays import Floats, Ints
from moldable.errors import InfeasibleError, shortened
from moldable.model.assumptions import ROUNDING
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.workload import JobClass, Workload


def reserve_whole(scenario: ScenarioOrFile) -> Reservation:
    """Divide the cluster into whole servers with the least (weighted) mean time.

    Servers that no class gains from are spread in proportion to the reservations, so that these
    always sum to the size of the cluster.

    Examples:
        >>> jobs = JobClass("a", 2.0, [1, 1.8]), JobClass("b", 1.0, [1, 1.5])
        >>> [part.servers for part in reserve_whole(Scenario(Workload(jobs), 8)).classes]
        [5, 3]
    """
    scenario = checked_scenario(scenario)
    fronts = fitting_frontiers(scenario)
    workload, servers = scenario.workload, scenario.servers
    needs = list(map(_least_servers, workload.classes, fronts))
    if sum(needs) > servers:
        raise InfeasibleError(_shortage(workload, needs, servers))
    reserved, price = _buy_runs(workload, fronts, needs, servers - sum(needs))
    reserved = _spread(reserved, servers)
    parts = tuple(
        ClassAllocation(job_class, count, front, front.read(count / job_class.offered))
        for job_class, front, count in zip(workload.classes, fronts, reserved, strict=True)
    )
    return Reservation(servers, parts, price, whole=True, time_unit=scenario.time_unit)


def _least_servers(job_class: JobClass, front: Frontier) -> int:
    busy = math.ceil(job_class.offered * float(front.server_time[0]) * (1.0 - ROUNDING))
    return max(busy, int(front.speedup.widths[0]))


def _buy_runs(
    workload: Workload, fronts: list[Frontier], needs: list[int], spare: int
) -> tuple[list[int], float]:
    """Spend the spare servers on the best runs; return the reservations and the next price."""
    runs = list(map(_runs, workload.classes, fronts, needs))
    owner = np.repeat(np.arange(len(runs)), [length.size for length, _ in runs])
    length = np.concatenate([length for length, _ in runs])
    gain = np.concatenate([gain for _, gain in runs])
    order = np.argsort(-gain, kind="stable")
    sold = np.minimum(np.cumsum(length[order]), spare)
    bought = np.diff(sold, prepend=0)
    reserved = np.array(needs) + np.bincount(owner[order], bought, len(runs)).astype(np.int64)
    unsold = np.flatnonzero(bought < length[order])
    return reserved.tolist(), float(gain[order[unsold[0]]]) if unsold.size else 0.0


def _runs(job_class: JobClass, front: Frontier, least: int) -> tuple[Ints, Floats]:
    """Return the lengths of runs of servers that save the same, and what one server saves.

    Savings are in weighted time per server-time, the unit of the shadow price.
    """
    corners = job_class.offered * front.server_time[front.corners]
    enough = max(least, math.ceil(corners[-1] * (1.0 - ROUNDING)))
    steps = np.concatenate((np.floor(corners), np.ceil(corners), (least, enough)))
    stops = np.unique(np.clip(steps, least, enough))
    time = np.interp(stops / job_class.offered, front.server_time, front.time)
    length = np.diff(stops)
    gain = job_class.weight * job_class.offered * -np.diff(time) / length
    return length.astype(np.int64), gain


def _spread(reserved: list[int], servers: int) -> list[int]:
    """Distribute the remaining servers in proportion, by largest remainder."""
    total = sum(reserved)
    spare = servers - total
    extra, remainder = zip(*(divmod(spare * count, total) for count in reserved), strict=True)
    by_remainder = sorted(range(len(reserved)), key=lambda j: -remainder[j])
    rounded_up = set(by_remainder[: spare - sum(extra)])
    return [count + extra[j] + (j in rounded_up) for j, count in enumerate(reserved)]


def _shortage(workload: Workload, needs: list[int], servers: int) -> str:
    names = [job_class.name for job_class in workload.classes]
    totals = list(accumulate(needs))
    unserved = next(j for j, total in enumerate(totals) if total > servers)
    listed = shortened(f"{name} needs {need}" for name, need in zip(names, needs, strict=True))
    return (
        f"class {names[unserved]!r} cannot be served: it needs {needs[unserved]} whole servers, "
        f"but only {servers - totals[unserved] + needs[unserved]} of {servers} are left "
        f"({listed}; {sum(needs)} in all); add servers, or share one pool"
    )
