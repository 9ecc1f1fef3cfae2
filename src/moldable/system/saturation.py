"""How many jobs a policy completes per unit of time while jobs always wait.

Servers that a job leaves are granted at once to the next jobs in the queue. Unless a job holds out
for more servers, they are divided among these jobs and never joined with others, so a job's servers
end up as blocks that are no longer divided. The throughput is that of these blocks, starting from
the jobs that fill an empty cluster.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import UnstableError
from moldable.model.arrivals import ArrivalTimes
from moldable.model.assumptions import ROUNDING
from moldable.policies.even_price import even_price
from moldable.system.loss_system import System, build_system

MOST_FILLED: Final = 10_000
"""Servers for which the jobs that fill an empty cluster are counted one by one."""


def saturated_throughput(system: System) -> float | None:
    """Return the jobs completed per unit of time while jobs always wait; None if not known.

    It is not known where the head of the queue may wait although servers are idle.
    """
    rates = system.workload.rates
    shares = rates / rates.sum()
    filling = [rows.shape[0] - 1 for rows in system.wishes]
    waiting = [
        rows[-1] if rows.shape[0] else wishes
        for rows, wishes in zip(system.queue_rows, system.wishes, strict=True)
    ]
    try:
        blocks = _Blocks(system, shares, waiting)
        return blocks.filled(system.servers, max(filling))
    except _HoldsError:
        return None


def refuse_unstable(system: System) -> None:
    """Refuse an unlimited queue that grows without limit, and name the loads that could be carried.

    A list of arrival times has its own rate, and an end.
    """
    if not math.isinf(system.places) or isinstance(system.arrivals, ArrivalTimes):
        return
    throughput = saturated_throughput(system)
    arrivals = system.workload.arrival_rate
    if throughput is None or throughput > arrivals * (1.0 + ROUNDING):
        return
    carried = throughput * system.workload.mean_size / system.servers
    stable = saturated_throughput(build_system(system.scenario, even_price(system.scenario)))
    other = ""
    # Loads below that of the policy itself are no alternative.
    if stable is not None and stable > throughput * (1.0 + ROUNDING):
        other = (
            f"; the even price carries {stable * system.workload.mean_size / system.servers:.3g}"
        )
    below = "loads below" if throughput > arrivals * (1.0 - ROUNDING) else "load"
    digits = next((d for d in (3, 6, 9, 12) if _differ(carried, system.scenario.load, d)), 3)
    raise UnstableError(
        f"under policy {system.policy_name} the queue grows without limit: jobs arrive at rate "
        f"{arrivals:.{digits + 3}g}, but it completes only {throughput:.{digits + 3}g} per unit of "
        f"time while jobs wait; it can carry {below} {carried:.{digits}g} here, not "
        f"{system.scenario.load:.{digits}g}{other}: lower the load, choose another policy, or "
        f"limit the waiting places"
    )


def _differ(one: float, other: float, digits: int) -> bool:
    return f"{one:.{digits}g}" != f"{other:.{digits}g}"


class _HoldsError(Exception):
    """A job may wait although servers are idle."""


class _Blocks:
    """Throughputs of servers that are divided among jobs while others wait."""

    def __init__(self, system: System, shares: Floats, waiting: list[Floats]) -> None:
        self.system, self.shares, self.waiting = system, shares, waiting
        self.freed, self.granted = cache(self._freed), cache(self._granted)

    def filled(self, servers: int, reach: int) -> float:
        """Return the throughput of servers that jobs fill while no job waits."""
        found, left = self._wide_grants(servers, max(reach, MOST_FILLED))
        sums = np.zeros(left + 1)
        for idle in range(1, left + 1):
            try:
                widths, chances = self.granted(min(idle, reach))
            except _HoldsError:
                sums[idle] = math.nan  # an error only if this number is reached
                continue
            for width, chance in zip(widths.tolist(), chances.tolist(), strict=True):
                sums[idle] += chance * (self.freed(width) + sums[idle - width])
        if math.isnan(sums[left]):
            raise _HoldsError
        return found + float(sums[left])

    def _wide_grants(self, servers: int, most: int) -> tuple[float, int]:
        """Return the throughput of the first grants in a large cluster, and the servers left.

        If widths are drawn, their number is that of a long sequence of draws.
        """
        if servers <= most:
            return 0.0, servers
        widths, chances = self.granted(most)
        mean = float(chances @ widths)
        grants = math.ceil((servers - most) / mean)
        speed = sum(p * self.freed(w) for w, p in zip(widths.tolist(), chances, strict=True))
        return grants * float(speed), servers - round(grants * mean)

    def _granted(self, idle: int) -> tuple[Ints, Floats]:
        return self._grants(list(self.system.wishes), idle)

    def _freed(self, block: int) -> float:
        """Return the throughput of a block of servers that a job leaves while others wait."""
        widths, chances = self._grants(self.waiting, block)
        whole = float(chances[widths == block].sum())
        if whole > 1.0 - ROUNDING:
            return 1.0 / self._mean_time(block)
        parts = zip(widths.tolist(), chances.tolist(), strict=True)
        divided = sum(
            p * (self.freed(w) + self.freed(block - w)) for w, p in parts if w < block and p > 0.0
        )
        return float(divided) / (1.0 - whole)

    def _grants(self, tables: list[Floats], idle: int) -> tuple[Ints, Floats]:
        """Return the widths that are granted, over all classes, and their probabilities."""
        chances = np.zeros(self.system.kind_width.size)
        for share, rows in zip(self.shares.tolist(), tables, strict=True):
            row = rows[min(idle, rows.shape[0] - 1)]
            if row.sum() < 1.0 - ROUNDING:
                raise _HoldsError
            chances += share * row
        used = chances > 0.0
        return self.system.kind_width[used], chances[used]

    def _mean_time(self, width: int) -> float:
        """Return the mean time of jobs on a width that every class is granted."""
        kinds = self.system.kind_width == width
        return float(self.shares[self.system.kind_class[kinds]] @ self.system.kind_scale[kinds])
