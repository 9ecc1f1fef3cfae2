"""Families of policies with one parameter: value policies, and static widths."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.allocation.division import pure_loads
from moldable.arrays import Ints
from moldable.errors import InfeasibleError
from moldable.model.scenario import Scenario
from moldable.policies.greedy import GreedyP, greedy_p
from moldable.policies.kinds import Kinds, extended
from moldable.policies.policy import Policy
from moldable.policies.thresholds import Choice, Thresholds
from moldable.policies.value import MOST_COSTLY, ValueFunction, value_function
from moldable.system.performance import Performance
from moldable.tuning.targets import Target

ADJACENT: Final = 5e-4
"""Share of the range of parameters below which two of them are not worth telling apart."""
FIRST, STEP, TRIES, MARGIN = math.log(8.0), 2.0, 60, 0.1
"""Of the root search in the model: start, first step, most trials, distance from the ends."""
SAME, CLOSE = 5e-3, 3e-3
"""Its accuracy: as logarithms of costs, and of the model's figure."""
LARGEST: Final = 1.0 - 1e-9
"""Largest design load, as a share of the largest feasible load."""

Improve = Callable[[Ints, float], Ints]
"""Improves a table at a blocking cost."""


class Family(ABC):
    """Policies with one parameter: the larger it is, the less is blocked and the longer jobs take.

    Attributes:
        low, high: range of the parameter.
        step: first step of a search that has no guess.
        evaluations: number of evaluations after which the limit should be bracketed.
        modelled: whether a model predicts the performance along the parameter.
    """

    low: float
    high: float
    step: float
    evaluations: int
    modelled: bool = False

    @abstractmethod
    def policy(self, parameter: float) -> Policy:
        """Return the policy at a parameter."""

    @abstractmethod
    def first(self, aim: float) -> float:
        """Return the parameter to begin with; `aim` is the log share of the limit to be used."""

    def guess(self, parameter: float, used: float) -> float:  # noqa: ARG002 - for models
        """Return the parameter to try next, after this one used this log share of the limit."""
        return parameter

    def adjacent(self, one: float, other: float) -> bool:
        """Return whether no policy of interest lies between two parameters."""
        return abs(one - other) < ADJACENT * (self.high - self.low)

    def between(self, one: float, other: float, share: float) -> Policy | None:  # noqa: ARG002
        """Return a policy that decides as the other one with this probability, if there is one."""
        return None


@final
class ValueTables(Family):
    """Value policies by the logarithm of the blocking cost.

    Each is computed once, starting from the closest known one. Below `low`, a blocked job costs
    less than one that runs on the fastest width.
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


@final
@dataclass(frozen=True)
class Static:
    """The best static policy.

    Attributes:
        design_load: the load for which its shares were computed.
        performance: of greedy(p) with them, at the true load.
    """

    design_load: float
    performance: Performance


@final
class DesignLoads(Family):
    """greedy(p*) by its design load, from half of the true load to the largest feasible one."""

    evaluations = 10

    def __init__(self, scenario: Scenario, cap: Thresholds | None = None) -> None:
        self.scenario, self.cap = scenario, cap
        curves = [(c, c.speedup.up_to(scenario.servers)) for c in scenario.workload.classes]
        needed = sum(c.offered * float(np.min(s.widths / s.speedups)) for c, s in curves)
        self.high = scenario.load * scenario.servers / needed * LARGEST
        self.low = 0.5 * min(scenario.load, self.high)
        self.step = 0.25 * (self.high - self.low)

    def pure(self) -> list[float]:
        """Return the loads at which every class has one width.

        Widths that divide the servers leave none over; at a load nearby, a few jobs of another
        width already spoil that.
        """
        loads = pure_loads(self.scenario).tolist()
        return sorted({min(max(load, self.low), self.high) for load in loads})

    def policy(self, parameter: float) -> Policy:
        """Return the policy for a design load."""
        drawn = greedy_p(self.scenario, parameter)
        return drawn if self.cap is None else _capped(self.cap, drawn)

    def first(self, aim: float) -> float:  # noqa: ARG002 - no model predicts where the aim is met
        """Return a load somewhat above the true one."""
        load = min(self.scenario.load, self.high)
        return load + 0.25 * (self.high - load)


def optimal_shares(scenario: Scenario) -> GreedyP | None:
    """Return greedy(p*), or None if the cluster cannot carry the load."""
    try:
        return greedy_p(scenario)
    except InfeasibleError:
        return None


def _capped(table: Thresholds, drawn: GreedyP) -> Thresholds:
    """Draw widths from the shares, but none wider than the table grants."""

    def narrowed(choice: Choice, shares: Mapping[int, float]) -> Choice:
        if isinstance(choice, Mapping):
            raise TypeError("a table that draws widths cannot be a cap")
        found: dict[int, float] = {}
        for width, share in sorted(shares.items()):
            if share > 0.0:
                granted = min(width, choice)
                found[granted] = found.get(granted, 0.0) + share
        return found if len(found) > 1 else next(iter(found))

    return Thresholds(
        {
            name: {idle: narrowed(choice, drawn.shares[name]) for idle, choice in rows.items()}
            for name, rows in table.tables.items()
        }
    )
