"""The family of value policies; its parameter is the logarithm of the blocking cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, final

import numpy as np

from moldable.arrays import Ints
from moldable.policies.kinds import Kinds, extended
from moldable.policies.thresholds import Thresholds
from moldable.policies.value import MOST_COSTLY, ValueFunction, value_function
from moldable.tuning.search import Family
from moldable.tuning.targets import Target

FIRST: Final = math.log(8.0)
SAME: Final = 5e-3
"""Logarithms of costs that differ by less are not told apart."""
CLOSE: Final = 3e-3
"""Accuracy to which the model's figure is set, as a logarithm."""
STEP, TRIES, MARGIN = 2.0, 60, 0.1

Improve = Callable[[Ints, float], Ints]
"""Improves a table at a blocking cost."""


@final
class ValueTables(Family):
    """Value policies of one scenario, each computed once, starting from the closest known one.

    Below `low`, a blocked job costs less than one that runs on the fastest width.
    """

    step, evaluations, modelled = 0.02, 6, True

    def __init__(self, kinds: Kinds, target: Target, improve: Improve | None = None) -> None:
        self.kinds, self.target, self.improve = kinds, target, improve
        fastest = [kinds.times[kinds.members(j)].min() for j in range(kinds.rates.size)]
        least = float(kinds.rates @ np.array(fastest) / kinds.rates.sum()) / kinds.mean_size
        self.low, self.high = math.log(least), math.log(MOST_COSTLY) - SAME
        self._solved: dict[float, ValueFunction] = {}
        self._tables: dict[float, Ints] = {}

    def parameter(self, blocking_cost: float) -> float:
        """Return the parameter of a blocking cost, within the range."""
        return min(max(math.log(max(blocking_cost, 1e-300)), self.low), self.high)

    def at(self, parameter: float) -> ValueFunction:
        """Return the value function at a parameter."""
        if parameter not in self._solved:
            near = min(self._solved, key=lambda known: abs(known - parameter), default=None)
            start = None if near is None else self._solved[near]
            self._solved[parameter] = value_function(self.kinds, math.exp(parameter), start)
        return self._solved[parameter]

    def table(self, parameter: float) -> Ints:
        """Return the table at a parameter, improved on the true chain where that is possible."""
        if parameter not in self._tables:
            table = self.at(parameter).table
            if self.improve is not None:
                table = self.improve(table, math.exp(parameter))
            self._tables[parameter] = table
        return self._tables[parameter]

    def policy(self, parameter: float) -> Thresholds:
        """Return the table at a parameter as a policy."""
        return self.kinds.policy(self.table(parameter))

    def between(self, one: float, other: float, share: float) -> Thresholds:
        """Draw the decision of the other table with this probability."""
        return self.kinds.policy(self.table(one), self.table(other), share)

    def adjacent(self, one: float, other: float) -> bool:
        """Return whether two tables differ in one entry only, or their costs hardly at all."""
        tables = self.table(one), self.table(other)
        size = max(table.shape[1] for table in tables)
        first, second = (extended(table, size) for table in tables)
        return int((first != second).sum()) == 1 or super().adjacent(one, other)

    def first(self, aim: float) -> float:
        """Return the parameter at which the model uses the limit up."""
        return self._root(math.log(self.target.value) + aim, FIRST)

    def guess(self, parameter: float, used: float) -> float:
        """Correct the model by its error at this parameter: neighbouring ones have nearly the same.

        `used` is the logarithm of true figure over aim.
        """
        return self._root(self.target.modelled(self.at(parameter)) - used, parameter)

    def _root(self, goal: float, begin: float) -> float:
        """Return a parameter at which the logarithm of the model's figure is near a goal."""
        sign = -1.0 if self.target.on_time else 1.0
        low: tuple[float, float] | None = None
        high: tuple[float, float] | None = None
        parameter, step = min(max(begin, self.low), self.high), STEP
        for _ in range(TRIES):
            gap = sign * (self.target.modelled(self.at(parameter)) - goal)
            if abs(gap) < CLOSE:
                break
            if gap > 0.0:
                low = parameter, gap
            else:
                high = parameter, gap
            if low is not None and high is not None:
                if high[0] - low[0] < SAME:
                    return high[0] if sign > 0.0 else low[0]
                share = min(max(low[1] / (low[1] - high[1]), MARGIN), 1.0 - MARGIN)
                parameter = low[0] + share * (high[0] - low[0])
                continue
            end = self.high if gap > 0.0 else self.low
            if parameter == end:
                break
            parameter = min(parameter + step, end) if gap > 0.0 else max(parameter - step, end)
            step *= 2.0
        return parameter
