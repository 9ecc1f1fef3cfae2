"""The smallest cluster that keeps a limit.

A quick policy brackets the number of servers and halves the bracket. From there the best policy is
searched at each size until one size keeps the limit and the next smaller one does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, final

from moldable.errors import ControlError, NearlySaturatedError, UnstableError
from moldable.model.scenario import Scenario
from moldable.model.units import duration
from moldable.planning.choice import Choice, Options, choose, decided, only_policy
from moldable.planning.goal import TIMES, Goal
from moldable.planning.least_figures import fastest_time, least_busy, least_figure
from moldable.policies.even_price import EvenPrice, even_price
from moldable.policies.policy import Policy
from moldable.policies.value import value_policy
from moldable.system.performance import Performance

MOST_SERVERS: Final = 200_000
"""Larger clusters are not searched."""
CAREFUL_COST: Final = 1e4
"""Blocking cost, in mean sizes, of a policy that blocks about as little as possible."""
CAREFUL_WAIT: Final = 64.0
"""Cost of waiting, relative to execution, of a policy under which jobs wait about as little."""
NEAREST: Final = 1.05
"""A response time that can be met is looked for at this multiple of one that cannot."""
FAR: Final = 1.15
"""Multiple of the limit above which no search around the first guesses would keep it."""
OVERLOADED: Final = "overloaded"
UNDECIDED: Final = "undecided"
"""Why there are no figures for a size: it cannot carry the load or hold a job, or it is nearly
saturated, and simulations are too short to show whether it keeps the limit."""
STEP: Final = 1.3
"""Ratio of the first two sizes that are tried; the distance then doubles each time."""


@final
@dataclass(frozen=True, eq=False)
class ClusterSize:
    """The smallest cluster that keeps the limit.

    Attributes:
        growth: factor of the arrival rates.
        servers: the smallest number found; one server fewer does not keep the limit, or is
            undecided.
        choice: the policy on that cluster.
        fewer: the best on one server fewer; None if there is a problem.
        problem: why there are no figures for one server fewer: "overloaded", "undecided", or
            "at least 3 h" if no policy can bring the limited figure below; else empty.
    """

    growth: float
    servers: int
    choice: Choice
    fewer: Choice | None
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "growth": self.growth,
            "servers": self.servers,
            **self.choice.to_dict(),
            "one_fewer": None if self.fewer is None else self.fewer.to_dict(),
            "one_fewer_problem": self.problem,
        }


def smallest_cluster(
    scenario: Scenario,
    goal: Goal,
    options: Options,
    growth: float = 1.0,
    known: Mapping[int, Choice] = MappingProxyType({}),
) -> ClusterSize:
    """Return the smallest cluster that keeps the limit, or refuse it and name the nearest limit.

    Args:
        scenario: the classes; its number of servers does not matter.
        goal: a limit.
        options: of the search.
        growth: factor of the arrival rates.
        known: policies that were already chosen for these arrival rates, by servers.
    """
    scenario = scenario.at_load(growth * scenario.load)
    search = _Search(scenario, goal, options, known)
    refuse_unreachable(scenario, goal, options)
    servers = search.run()
    choice = search.best(servers)
    fewer = search.chosen(servers - 1) if servers > search.least else None
    problem = search.problems.get(servers - 1, OVERLOADED) if fewer is None else ""
    return ClusterSize(growth, servers, choice, fewer, problem)


def refuse_unreachable(scenario: Scenario, goal: Goal, options: Options) -> None:
    """Refuse a response time that no number of servers reaches, and name the nearest that one does.

    Even on an infinite cluster jobs take their time on the fastest width.
    """
    if goal.name != "max_response":
        return
    fastest = fastest_time(scenario)
    if goal.value > fastest:
        return
    shown = _shown(goal, scenario)
    near = replace(goal, value=NEAREST * fastest)
    servers = _Search(scenario, near, options).estimate()
    raise ControlError(
        f"{shown(goal.value)} cannot be met by any number of servers: with every job on its "
        f"fastest width the mean execution time is already {shown(fastest)}; the nearest that can "
        f"be met is just above that, for instance {shown(near.value)}, for which about {servers} "
        f"servers are enough",
        goal.name,
    )


def quick_policy(scenario: Scenario, goal: Goal) -> Policy:
    """Return a policy that comes near the least of the limited figure, without a search."""
    only = only_policy(scenario)
    if only is not None:
        return only
    if not scenario.waiting:
        return value_policy(scenario, CAREFUL_COST)
    cost = 1.0 if goal.name == "max_response" else CAREFUL_WAIT
    default = even_price(scenario)
    return EvenPrice(default.q0 + math.log(cost), default.ell)


@final
class _Search:
    """Searches the number of servers; every size is tried once."""

    def __init__(
        self,
        scenario: Scenario,
        goal: Goal,
        options: Options,
        known: Mapping[int, Choice] = MappingProxyType({}),
    ) -> None:
        self.scenario, self.goal, self.options = scenario, goal, options
        classes = scenario.workload.classes
        self.least = max(int(job_class.speedup.widths[0]) for job_class in classes)
        self._chosen: dict[int, Choice | None] = dict(known)
        self._refined: dict[int, Performance] = {}
        self.problems: dict[int, str] = {}
        self._known = frozenset(known)

    def run(self) -> int:
        """Return a size that keeps the limit although the next smaller one does not."""
        return _boundary(self._kept, self.estimate(), self.least, 1.0)

    def estimate(self) -> int:
        """Return the smallest size on which a quick policy meets the limit."""
        busy = least_busy(self.scenario)
        if goal_share(self.goal) < 1.0:
            busy *= 1.0 - self.goal.value
        first = max(self.least, math.ceil(busy))
        self.options.report("estimating the smallest cluster")
        return _boundary(self._likely, first, self.least, STEP)

    def chosen(self, servers: int) -> Choice | None:
        """Return the best policy on this many servers; None if there is a problem."""
        if servers not in self._chosen:
            try:
                self._chosen[servers] = self._choose(servers)
            except UnstableError as error:
                self._chosen[servers] = None
                self.problems[servers] = self._problem(servers, error)
        found = self._chosen[servers]
        if found is not None and found.performance is not self._refined.get(servers):
            found = self._chosen[servers] = decided(found, self.goal, self.options)
            self._refuse_unseen(found)
            self._refined[servers] = found.performance
        return found

    def best(self, servers: int) -> Choice:
        """Return the best policy on a number of servers that keeps the limit."""
        found = self.chosen(servers)
        assert found is not None  # noqa: S101 - it keeps the limit
        if not self.scenario.waiting or servers in self._known:
            return found
        options = self.options.during(f"searching the best policy for {servers} servers")
        best = choose(replace(self.scenario, servers=servers), self.goal, options)
        return best if best.kept else found

    def _choose(self, servers: int) -> Choice:
        """Search for any policy that keeps the limit, thoroughly only where that may matter."""
        scenario = replace(self.scenario, servers=servers)
        options = self.options.during(f"trying {servers} servers")
        if not self.scenario.waiting:
            return choose(scenario, self.goal, options)
        options = replace(options, any_kept=True)
        rough = choose(scenario, self.goal, replace(options, thorough=False))
        far = self.goal.figure(rough.performance) > FAR * self.goal.value
        if rough.kept or far or not options.thorough:
            return rough
        return choose(scenario, self.goal, options)

    def _refuse_unseen(self, choice: Choice) -> None:
        """Refuse a limit that is missed although simulations saw no job that was blocked or waited.

        More servers would not change what they can show.
        """
        figure = self.goal.figure(choice.performance)
        if choice.kept or figure.value > 0.0 or figure.interval is None:
            return
        raise ControlError(
            f"{self.goal.value:g} is too small to be checked by simulation: on "
            f"{choice.performance.scenario.servers} servers the {self.goal.words} is 0 in the "
            f"simulation, which only shows that it is below {figure.interval[1]:.2g} (95 % "
            f"confidence); a larger limit can be planned for",
            self.goal.name,
        )

    def _problem(self, servers: int, error: UnstableError) -> str:
        """Return why there are no figures for a size, with a lower bound that breaks the limit."""
        if not isinstance(error, NearlySaturatedError):
            return OVERLOADED
        least = least_figure(replace(self.scenario, servers=servers), self.goal)
        if least <= self.goal.value:
            return UNDECIDED
        return f"at least {_shown(self.goal, self.scenario)(least)}"

    def _kept(self, servers: int) -> bool:
        found = self.chosen(servers)
        return found is not None and found.kept

    def _likely(self, servers: int) -> bool:
        """Return whether a quick policy is within the limit on this many servers."""
        if servers > MOST_SERVERS:
            raise self._too_large()
        scenario = replace(self.scenario, servers=servers)
        found = self.options.predict(scenario, quick_policy(scenario, self.goal), precise=2.0)
        return not isinstance(found, str) and self.goal.met(found)

    def _too_large(self) -> ControlError:
        shown = _shown(self.goal, self.scenario)
        return ControlError(
            f"{shown(self.goal.value)} is not met by {MOST_SERVERS:,} servers, the most that are "
            f"tried; relax the limit",
            self.goal.name,
        )


def goal_share(goal: Goal) -> float:
    """Return the limit on blocking; 1 for other goals."""
    return goal.value if goal.name == "max_blocking" else 1.0


def _boundary(kept: Callable[[int], bool], start: int, least: int, ratio: float) -> int:
    """Return a size that is kept although the next smaller one is not.

    Sizes at growing distances from the start bracket it, bisection finds it. Both sizes have been
    tried; where the limit is kept at some sizes below and not at others, it is one of several.

    Args:
        kept: whether a size keeps the limit.
        start: the first size.
        least: the smallest size.
        ratio: of the first two sizes, whose distance then doubles; 1 for one server.
    """
    step = max(1, round(start * (ratio - 1.0)))
    low = high = start
    if kept(start):
        while low >= least and (low == start or kept(low)):
            high, low, step = low, max(low - step, least - 1), 2 * step
    else:
        while high == start or not kept(high):
            low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _shown(goal: Goal, scenario: Scenario) -> Callable[[float], str]:
    """Return how a limit is written: times with their unit, probabilities without."""
    unit = scenario.time_unit if goal.name in TIMES else None
    return lambda value: duration(f"{value:.4g}", unit)
