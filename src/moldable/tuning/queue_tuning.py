"""Find a policy for a cluster with a queue.

Two families of tables by idle servers and waiting jobs are searched, each from a good first guess:
the value policy, by the load that it is computed for, and the even price, by its two parameters.
Fixed widths are also candidates: where sizes hardly vary, policies that react to idle servers let
the queue oscillate. A limit is kept by charging more for waiting, or for servers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

from moldable.errors import ControlError, MoldableError
from moldable.model.scenario import Scenario
from moldable.policies.even_price import EvenPrice, even_price
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.policy import Policy
from moldable.policies.queue_table import QueueTable
from moldable.policies.queue_value import default_load_factor, queue_value_policy
from moldable.system.performance import Performance
from moldable.tuning.evaluator import QueueEvaluator
from moldable.tuning.line_search import MOST_MOVES, Point, nearly_used_up, pattern_search
from moldable.tuning.queue_target import QueueTarget

STEP: Final = 0.04
"""First step of the logarithm of the load factor."""
PRICE_STEPS: Final = (0.4, 0.5)
"""First steps of the parameters of the even price: q0, and the logarithm of ell."""
STRICTER, BISECTIONS = 12, 5
"""Doublings of what is charged until a limit is kept, and bisections after that."""
MOST_SPARES: Final = 2
"""Numbers of servers that are tried to be left idle."""
MIXTURES, UNUSED = 6, 0.998
"""Evaluations of mixtures of two tables, and share of the limit that counts as used up."""
MOST_WIDTHS: Final = 8
"""Fixed widths that are tried first; on longer curves, more around the best of them."""

VALUE: Final = "value policy"


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
        moves: most moves along a family.
        probes: charges of which one must keep the limit before smaller ones are searched, the best
            first. Fewer tables are computed than by doubling and bisection, where none keeps the
            limit as well as where one does.
        any_kept: whether to stop at the first policy that keeps the limit.
    """

    def __init__(
        self,
        scenario: Scenario,
        target: QueueTarget,
        evaluate: QueueEvaluator,
        moves: int = MOST_MOVES,
        probes: tuple[float, ...] = (),
        *,
        any_kept: bool = False,
    ) -> None:
        self.scenario, self.target, self.evaluate, self.aim = scenario, target, evaluate, 1.0
        self.moves, self.probes = moves, probes
        self.any_kept = any_kept and target.limited
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
        if self._done():
            return
        ell = math.sqrt(self.scenario.servers)

        def valued(point: Point, strictness: float) -> Policy:
            costs = self.target.costs(strictness)
            return queue_value_policy(self.scenario, load_factor=math.exp(point[0]), **costs)

        def priced(point: Point, strictness: float) -> Policy:
            return EvenPrice(point[0] + math.log1p(strictness), ell * math.exp(point[1]))

        start = (math.log(default_load_factor(self.scenario)),)
        charge = self._search(valued, start, (STEP,), VALUE)
        if self._done():
            return
        first = even_price(self.scenario)
        self._search(priced, (first.q0, 0.0), PRICE_STEPS, "even price")
        if self._done():
            return
        self._leave_idle(charge)
        if self.target.limited and not self._done():
            self._use_up_limit()

    def _done(self) -> bool:
        """Return whether one policy that keeps the limit is enough, and there is one."""
        return self.any_kept and self.best() is not None

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
        except MoldableError:  # its queue grows, or it does not suit the scenario
            return None
        self.found.append(Candidate(policy, answer, label))
        return self.found[-1]

    def _search(
        self,
        make: Callable[[Point, float], Policy],
        start: Point,
        steps: Point,
        label: str,
    ) -> float | None:
        """Search from a point for the least objective, then for the least that keeps the limit.

        Returns:
            The charge for the limit; None if there is none, or if it is not kept.
        """

        def objective(point: Point) -> float:
            one = self._made(make, point, 0.0, label)
            return math.inf if one is None else self.target.objective(one.answer)

        if self.any_kept:
            return self._strict_enough(make, start, label) or self._nearest(
                make, start, steps, label
            )
        point = pattern_search(objective, start, steps, self.moves)
        if not self.target.limited:
            return None
        charge: float | None = None
        # The least response without the limit may be far from the least within it.
        for first in dict.fromkeys((point, start)):
            strictness = self._strict_enough(make, first, label)
            if strictness is None:
                continue
            charge = strictness

            def within(point: Point, strictness: float = strictness) -> float:
                one = self._made(make, point, strictness, label)
                kept = one is not None and self.target.excess(one.answer) <= self.aim
                return self.target.objective(one.answer) if one and kept else math.inf

            pattern_search(within, first, steps, self.moves)
        return charge

    def _leave_idle(self, charge: float | None) -> None:
        """Try the value policies of the next smaller clusters that widths divide.

        With widths 1, 2, 4 and 8, an odd number of servers can be worse than one less: some job
        always gets one server and keeps it for long.

        Args:
            charge: for the limit, of the value policy that uses all servers; None if there is none.
        """
        servers = self.scenario.servers
        widths = {int(w) for c in self.scenario.workload.classes for w in c.speedup.widths}
        sparse = len(widths) < max(widths) - min(widths) + 1
        spares = sorted({servers % w for w in widths if w <= servers} - {0}) if sparse else []
        for spare in spares[: MOST_SPARES if self.moves else 1]:
            smaller = replace(self.scenario, servers=servers - spare)

            def made(point: Point, strictness: float, smaller: Scenario = smaller) -> Policy:
                costs = self.target.costs(strictness)
                factor = math.exp(point[0])
                table = queue_value_policy(smaller, load_factor=factor, **costs)
                return table.leaving_idle(servers - smaller.servers)

            start = (math.log(default_load_factor(smaller)),)
            label = f"value policy of {smaller.servers} servers"
            if self.target.limited and self.probes:
                self._made(made, start, self.probes[0] if charge is None else charge, label)
                continue
            self._made(made, start, 0.0, label)
            if self.target.limited:
                self._strict_enough(made, start, label)

    def _use_up_limit(self) -> None:
        """Draw between two tables, one of which exceeds the limit, so that it is just kept."""
        points = [
            (self.target.excess(one.answer), self.target.objective(one.answer), one.policy)
            for one in self.found
            if isinstance(one.policy, QueueTable)
        ]
        pairs = [
            (kept[1] + (self.aim - kept[0]) / (over[0] - kept[0]) * (over[1] - kept[1]), kept, over)
            for kept in points
            for over in points
            if kept[0] <= self.aim < over[0]
        ]
        if not pairs:
            return
        _, kept, over = min(pairs, key=lambda pair: pair[0])
        low, high, excess = 0.0, 1.0, (kept[0], over[0])
        for _ in range(MIXTURES):
            share = low + (high - low) * (self.aim - excess[0]) / (excess[1] - excess[0])
            one = self._try(kept[2].drawn_with(over[2], share), VALUE)
            found = math.inf if one is None else self.target.excess(one.answer)
            if not found <= self.aim:
                high, excess = share, (excess[0], found)
            elif found > UNUSED * self.aim:
                return
            else:
                low, excess = share, (found, excess[1])

    def _strict_enough(
        self, make: Callable[[Point, float], Policy], point: Point, label: str
    ) -> float | None:
        """Charge more until the limit is kept, and return the least charge found that keeps it."""

        def excess(strictness: float) -> float:
            one = self._made(make, point, strictness, label)
            return math.inf if one is None else self.target.excess(one.answer) / self.aim

        def kept(strictness: float) -> bool:
            return excess(strictness) <= 1.0

        if self.any_kept:
            return next(filter(kept, self.probes), None)
        if kept(0.0):
            return 0.0
        if self.probes:
            probe = next(filter(kept, self.probes), None)
            return None if probe is None else nearly_used_up(excess, probe)
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

    def _nearest(
        self, make: Callable[[Point, float], Policy], start: Point, steps: Point, label: str
    ) -> float | None:
        """Search around a point for the least excess; return the charge if the limit is kept."""

        def excess(point: Point, charge: float) -> float:
            one = self._made(make, point, charge, label)
            return math.inf if one is None else self.target.excess(one.answer)

        charge = min(self.probes, key=lambda probe: excess(start, probe))
        point = pattern_search(lambda point: excess(point, charge), start, steps, self.moves)
        return charge if excess(point, charge) <= self.aim else None

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


def not_reached(target: QueueTarget, nearest: float) -> ControlError:
    """Explain that no policy was found that keeps the limit."""
    what = target.name.removeprefix("max_").replace("_", " ")
    return ControlError(
        f"{target.given:g} was not reached; allow more, or add servers: the least {what} found is "
        f"{nearest:.6g}",
        target.name,
    )
