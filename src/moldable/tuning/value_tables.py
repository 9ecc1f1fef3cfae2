"""Tables of the value policy along its one knob, the logarithm of the blocking cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, final

import numpy as np

from moldable.arrays import Ints
from moldable.policies.kinds import Kinds, extended
from moldable.policies.thresholds import Thresholds
from moldable.policies.value import MOST_COSTLY, ValueFunction, value_function
from moldable.tuning.targets import Target

FIRST: Final = math.log(8.0)
SAME: Final = 5e-3
"""Distance of two knobs, in logarithms of costs, that are one."""
CLOSE: Final = 3e-3
"""Logarithm of the model's figure to which the knob is set."""
STEP, TRIES, MARGIN = 2.0, 60, 0.1

Improve = Callable[[Ints, float], Ints]
"""Makes a table better at a blocking cost."""


@final
class ValueTables:
    """The tables of one scenario, each found once; a new one starts from its nearest neighbour.

    Attributes:
        kinds: of the scenario.
        low, high: range of the knob. Below `low`, a blocked job costs less than the fastest one.
        step: by which a search moves on at least.
        evaluations: that a search may take before it draws between two tables.
    """

    step, evaluations = 0.02, 6

    def __init__(self, kinds: Kinds, target: Target, improve: Improve | None = None) -> None:
        self.kinds, self.target, self.improve = kinds, target, improve
        fastest = [kinds.times[kinds.members(j)].min() for j in range(kinds.rates.size)]
        least = float(kinds.rates @ np.array(fastest) / kinds.rates.sum()) / kinds.mean_size
        self.low, self.high = math.log(least), math.log(MOST_COSTLY) - SAME
        self._solved: dict[float, ValueFunction] = {}
        self._tables: dict[float, Ints] = {}

    def knob(self, blocking_cost: float) -> float:
        """Return where a blocking cost is."""
        return min(max(math.log(max(blocking_cost, 1e-300)), self.low), self.high)

    def at(self, knob: float) -> ValueFunction:
        """Return the value function at a knob."""
        if knob not in self._solved:
            near = min(self._solved, key=lambda known: abs(known - knob), default=None)
            start = None if near is None else self._solved[near]
            self._solved[knob] = value_function(self.kinds, math.exp(knob), start)
        return self._solved[knob]

    def table(self, knob: float) -> Ints:
        """Return the table at a knob, improved where that is possible."""
        if knob not in self._tables:
            table = self.at(knob).table
            better = self.improve
            self._tables[knob] = table if better is None else better(table, math.exp(knob))
        return self._tables[knob]

    def policy(self, knob: float) -> Thresholds:
        """Return the table at a knob as a policy."""
        return self.kinds.policy(self.table(knob))

    def between(self, one: float, other: float, share: float) -> Thresholds:
        """Draw the decision of the other knob's table with this probability."""
        return self.kinds.policy(self.table(one), self.table(other), share)

    def differences(self, one: float, other: float) -> int:
        """Return in how many entries two tables differ."""
        tables = self.table(one), self.table(other)
        size = max(table.shape[1] for table in tables)
        first, second = (extended(table, size) for table in tables)
        return int((first != second).sum())

    def first(self, aim: float) -> float:
        """Return the knob at which the model uses the limit up; `aim` is a log share of it."""
        return self._root(math.log(self.target.value) + aim, FIRST)

    def guess(self, knob: float, used: float) -> float:
        """Return the next knob, if the true figure is off its aim by this logarithm.

        The model errs by nearly the same factor at neighbouring knobs.
        """
        return self._root(self.target.modelled(self.at(knob)) - used, knob)

    def _root(self, goal: float, begin: float) -> float:
        """Return a knob at which the logarithm of the model's figure is near a goal."""
        falls = -1.0 if self.target.on_time else 1.0
        low: tuple[float, float] | None = None
        high: tuple[float, float] | None = None
        knob, step = min(max(begin, self.low), self.high), STEP
        for _ in range(TRIES):
            gap = falls * (self.target.modelled(self.at(knob)) - goal)
            if abs(gap) < CLOSE:
                break
            if gap > 0.0:
                low = knob, gap
            else:
                high = knob, gap
            if low is not None and high is not None:
                if high[0] - low[0] < SAME:
                    return high[0] if falls > 0.0 else low[0]
                share = min(max(low[1] / (low[1] - high[1]), MARGIN), 1.0 - MARGIN)
                knob = low[0] + share * (high[0] - low[0])
                continue
            end = self.high if gap > 0.0 else self.low
            if knob == end:
                break
            knob = min(knob + step, end) if gap > 0.0 else max(knob - step, end)
            step *= 2.0
        return knob
