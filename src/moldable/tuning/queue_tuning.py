"""Find a policy for a cluster that queues.

Two families of tables by idle servers and waiting jobs are searched, each from a good first guess:
the value policy, by the load that it is computed for, and the even price, by its two parameters.
Fixed widths are candidates, too: where sizes hardly vary, policies that react to idle servers let
the queue oscillate. A limit is kept by charging more for waiting, or for servers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from moldable.errors import ControlError, MoldableError
from moldable.model.scenario import Scenario
from moldable.policies.even_price import EvenPrice, even_price
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.policy import Policy
from moldable.policies.queue_value import default_load_factor, queue_value_policy
from moldable.system.performance import Performance
from moldable.tuning.queue_evaluator import QueueEvaluator
from moldable.tuning.queue_target import QueueTarget

STEP, HALVINGS = 0.04, 1
"""First step of the logarithm of the load factor, and how often steps are halved."""
PRICE_STEPS: Final = (0.4, 0.5)
"""First steps of the parameters of the even price: q0, and the logarithm of ell."""
MOST_MOVES: Final = 6
"""Moves of a search along a family."""
STRICTER, BISECTIONS = 12, 5
"""Doublings of what is charged until a limit is kept, and bisections after that."""
MOST_WIDTHS: Final = 8
"""Fixed widths that are tried first; on longer curves, more around the best of them."""

Point = tuple[float, ...]


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """An evaluated policy.

    Attributes:
        policy: the policy.
        answer: its performance.
        label: what reports call it.
    """

    policy: Policy
    answer: Performance
    label: str


@final
class QueueSearch:
    """Searches the families of policies of one scenario.

    Attributes:
        found: all policies that were evaluated, in this order.
        aim: share of the limit that is to be kept.
    """

    def __init__(self, scenario: Scenario, target: QueueTarget, evaluate: QueueEvaluator) -> None:
        self.scenario, self.target, self.evaluate, self.aim = scenario, target, evaluate, 1.0
        self.found: list[Candidate] = []
        self._policies: dict[tuple[str, Point, float], Policy | None] = {}

    def best(self) -> Candidate | None:
        """Return the best of the policies found that keep the limit; None if there is none."""
        kept = [one for one in self.found if self.target.excess(one.answer) <= self.aim]
        return min(kept, key=lambda one: self.target.objective(one.answer), default=None)

    def nearest(self) -> float:
        """Return the least value of the limited figure of any policy."""
        return min(self.target.figure(one.answer).value for one in self.found)

    def fixed(self) -> Candidate | None:
        """Try fixed widths, and return the best that keeps the limit."""
        widths = self._common_widths()
        step = max(1, len(widths) // MOST_WIDTHS)
        lengths = [step >> k for k in range(step.bit_length())]
        untried, wanted = set(range(len(widths))), set(range(0, len(widths), step))
        found: dict[int, Candidate] = {}
        while wanted:
            for k in sorted(wanted):
                one = self._try(FixedWidth(widths[k]), f"fixed width {widths[k]}")
                found |= {} if one is None else {k: one}
            untried -= wanted
            best = min(found, key=lambda k: self._rank(found[k].answer), default=0)
            around = ({best - length, best + length} & untried for length in lengths)
            wanted = next(filter(None, around), set())
        kept = [one for one in found.values() if self.target.excess(one.answer) <= self.aim]
        return min(kept, key=lambda one: self.target.objective(one.answer), default=None)

    def _rank(self, answer: Performance) -> tuple[float, float]:
        """Return what orders policies: those that keep the limit first, the best of them first."""
        excess = self.target.excess(answer)
        return (excess if excess > self.aim else 0.0, self.target.objective(answer))

    def families(self) -> None:
        """Search both families, and charge more until the limit is kept."""
        ell = math.sqrt(self.scenario.servers)

        def valued(point: Point, strictness: float) -> Policy:
            cost = 1.0 + strictness
            return queue_value_policy(
                self.scenario, load_factor=math.exp(point[0]), waiting_cost=cost
            )

        def priced(point: Point, strictness: float) -> Policy:
            return EvenPrice(point[0] + math.log1p(strictness), ell * math.exp(point[1]))

        start = (math.log(default_load_factor(self.scenario)),)
        self._search(valued, start, (STEP,), "value policy")
        first = even_price(self.scenario)
        self._search(priced, (first.q0, 0.0), PRICE_STEPS, "even price")

    def _common_widths(self) -> list[int]:
        """Return the widths that all classes have."""
        classes = self.scenario.workload.classes
        common = set(classes[0].speedup.widths.tolist())
        for job_class in classes[1:]:
            common &= set(job_class.speedup.widths.tolist())
        return sorted(width for width in common if width <= self.scenario.servers)

    def _try(self, policy: Policy, label: str) -> Candidate | None:
        try:
            answer = self.evaluate(policy)
        except MoldableError:  # it does not suit the scenario, or cannot be evaluated
            return None
        if answer is None:
            return None
        self.found.append(Candidate(policy, answer, label))
        return self.found[-1]

    def _search(
        self,
        make: Callable[[Point, float], Policy],
        start: Point,
        steps: Point,
        label: str,
    ) -> None:
        """Search from a point for the least objective, then for the least that keeps the limit."""

        def objective(point: Point) -> float:
            one = self._made(make, point, 0.0, label)
            return math.inf if one is None else self.target.objective(one.answer)

        point = pattern_search(objective, start, steps)
        if not self.target.limited:
            return
        # The least response without the limit may be far from the least within it.
        for first in dict.fromkeys((point, start)):
            strictness = self._strict_enough(make, first, label)
            if strictness is None:
                continue

            def within(point: Point, strictness: float = strictness) -> float:
                one = self._made(make, point, strictness, label)
                kept = one is not None and self.target.excess(one.answer) <= self.aim
                return self.target.objective(one.answer) if one and kept else math.inf

            pattern_search(within, first, steps)

    def _strict_enough(
        self, make: Callable[[Point, float], Policy], point: Point, label: str
    ) -> float | None:
        """Charge more until the limit is kept, and return the least charge found that keeps it."""

        def kept(strictness: float) -> bool:
            one = self._made(make, point, strictness, label)
            return one is not None and self.target.excess(one.answer) <= self.aim

        if kept(0.0):
            return 0.0
        low, high = 0.0, 0.5
        for _ in range(STRICTER):
            if kept(high):
                break
            low, high = high, 2.0 * high
        else:
            return None
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if kept(middle) else (middle, high)
        return high

    def _made(
        self, make: Callable[[Point, float], Policy], point: Point, strictness: float, label: str
    ) -> Candidate | None:
        key = label, point, strictness  # tables of many widths take seconds
        if key not in self._policies:
            try:
                self._policies[key] = make(point, strictness)
            except MoldableError:  # no such table for this scenario
                self._policies[key] = None
        policy = self._policies[key]
        return None if policy is None else self._try(policy, label)


def pattern_search(objective: Callable[[Point], float], start: Point, steps: Point) -> Point:
    """Return a point of small objective, found by steps along each coordinate.

    Args:
        objective: to minimise; infinite where a point is not allowed.
        start: the first point.
        steps: first length of a step along each coordinate; halved when no step improves.
    """
    best, least = start, objective(start)
    lengths, halvings = steps, 0
    for _ in range(MOST_MOVES):
        moved = False
        for k, length in enumerate(lengths):
            for step in (length, -length):
                point = (*best[:k], best[k] + step, *best[k + 1 :])
                value = objective(point)
                if value < least:
                    best, least, moved = point, value, True
                    break
        if moved:
            continue
        if halvings == HALVINGS:
            break
        halvings += 1
        lengths = tuple(length / 2.0 for length in lengths)
    return best


def not_reached(target: QueueTarget, nearest: float) -> ControlError:
    """Explain that no policy was found that keeps the limit."""
    what = target.name.removeprefix("max_").replace("_", " ")
    return ControlError(
        f"{target.given:g} was not reached; allow more, or add servers: the least {what} found is "
        f"{nearest:.4g}",
        target.name,
    )
