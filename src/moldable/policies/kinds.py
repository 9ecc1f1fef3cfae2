"""Classes at each of their widths, as arrays.

Widths that are not faster than a narrower one are left out: they are never granted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import PolicyError
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.waiting import refuse_waiting
from moldable.policies.thresholds import Choice, Thresholds


@final
@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of jobs of one scenario, class by class, narrowest first.

    Attributes:
        scenario: classes that share one pool.
        unit: common divisor of the widths, in which servers are counted here.
        servers: in these units.
        rates: arrival rate of each class.
        widths: of each kind, in these units.
        times: mean execution time of each kind.
        weights: how much a unit of its time counts.
        owner: the class of each kind.
    """

    scenario: Scenario
    unit: int
    servers: int
    rates: Floats
    widths: Ints
    times: Floats
    weights: Floats
    owner: Ints

    @classmethod
    def of(cls, scenario: ScenarioOrFile) -> Self:
        """List the kinds, or refuse classes that cannot share one pool."""
        scenario = checked_scenario(scenario)
        refuse_waiting(
            scenario.waiting,
            "the value policy with a blocking cost",
            "take waiting=0, or 'value' without a cost",
        )
        workload, servers = scenario.workload, scenario.servers
        if workload.sharing != "pool" and len(workload.classes) > 1:
            raise PolicyError(
                f"these {len(workload.classes)} classes have reserved servers, but the value "
                f"policy needs one "
                f"pool: let them share (sharing='pool'), or take one class at a time"
            )
        rows: list[tuple[int, float, float, int]] = []
        for j, job_class in enumerate(workload.classes):
            curve = job_class.speedup
            fastest = 0.0
            for width, speedup in zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True):
                if width <= servers and speedup > fastest:
                    fastest = speedup
                    rows.append((width, job_class.mean_size / speedup, job_class.weight, j))
        widths, times, weights, owner = (np.array(column) for column in zip(*rows, strict=True))
        unit = math.gcd(*widths.tolist())
        return cls(
            scenario, unit, servers // unit, workload.rates, widths // unit, times, weights, owner
        )

    @property
    def mean_size(self) -> float:
        """Over the jobs of all classes."""
        return self.scenario.workload.mean_size

    def scaled(self, times: int) -> Kinds:
        """Return the same load on fewer servers, divided by `times`."""
        servers = max(self.servers // times, int(self.widths.max()))
        return replace(self, servers=servers, rates=self.rates * (servers / self.servers))

    def members(self, job_class: int) -> Ints:
        """Return the kinds of a class."""
        return np.flatnonzero(self.owner == job_class)

    def fastest(self) -> Ints:
        """Return the table that grants the fastest width that fits; see `policy`."""
        idle = np.arange(int(self.widths.max()) + 1)

        def row(own: Ints) -> Ints:
            return np.append(-1, own)[np.searchsorted(self.widths[own], idle, side="right")]

        return np.array([row(self.members(j)) for j in range(self.rates.size)])

    def policy(self, table: Ints, other: Ints | None = None, share: float = 0.0) -> Thresholds:
        """Return the policy of a table, or one that draws between two tables.

        Args:
            table: the kind granted to each class (row) by idle servers in units; -1: blocked. The
                last column stands for all larger counts.
            other: a table whose decision is drawn with probability `share` where the two differ.
            share: that probability.
        """
        second = table if other is None else other
        size = max(table.shape[1], second.shape[1])
        table, second = extended(table, size), extended(second, size)
        tables = {
            job_class.name: self._rows(table[j], second[j], share)
            for j, job_class in enumerate(self.scenario.workload.classes)
        }
        return Thresholds(tables)

    def _rows(self, first: Ints, second: Ints, share: float) -> dict[int, Choice]:
        changes = (np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0)
        widths = (self.widths * self.unit).tolist()
        rows: dict[int, Choice] = {}
        for z in np.flatnonzero(changes).tolist():
            one, two = widths[first[z]], widths[second[z]]
            drawn = {one: 1.0 - share, two: share}
            choice: Choice = one if one == two else dict(sorted(drawn.items()))
            if not rows or rows[max(rows)] != choice:
                rows[z * self.unit] = choice
        return rows


def extended(table: Ints, size: int) -> Ints:
    """Return a table of that many idle counts; the last column stands for all larger ones."""
    return table[:, np.minimum(np.arange(size), table.shape[1] - 1)]
