"""Turn a knob until a limit is just kept, or a cost is least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol, final

from moldable.policies.policy_table import Policy
from moldable.system.performance import Performance
from moldable.tuning.evaluator import Evaluator
from moldable.tuning.targets import Target
from moldable.tuning.value_tables import SAME, ValueTables

UNUSED, UNUSED_SIMULATED, UNUSED_RARE = 1e-4, 0.03, 0.15
"""Share of the limit that may stay unused: exactly, simulated, and found by splitting."""
CLOSING, DRAWS = 3, 8
"""Policies that are evaluated at least once both sides of the limit are known, and mixtures."""
TRIES: Final = 40
"""Knobs that are tried, many of which have the table of another."""
MARGIN: Final = 0.15
LOADS: Final = 8
"""Evaluations spent on the least cost of design loads."""


class Family(Protocol):
    """Policies along a knob: the higher it is, the less is blocked and the longer jobs take."""

    low: float
    high: float
    step: float
    evaluations: int

    def policy(self, knob: float, /) -> Policy:
        """Return the policy at a knob."""

    def first(self, aim: float, /) -> float:
        """Return the knob to begin with; `aim` is the log share of the limit to be used."""

    def guess(self, knob: float, used: float, /) -> float:
        """Return the knob to try next, after this one used the limit by this log share."""


@final
@dataclass(frozen=True)
class Point:
    """A policy that was evaluated.

    Attributes:
        knob: its place in the family; None of a mixture.
        policy: itself.
        answer: its performance.
        used: logarithm of how much of the aim it uses.
    """

    knob: float
    policy: Policy
    answer: Performance
    used: float


@final
class LimitSearch:
    """Closes in on the limit from both sides.

    Attributes:
        points: all that were evaluated.
        kept: the one nearest to the limit of those that keep it.
        broken: the nearest of the others.
    """

    def __init__(self, family: Family, evaluate: Evaluator, target: Target, aim: float) -> None:
        self.family, self.evaluate, self.target, self.aim = family, evaluate, target, aim
        self.points: dict[float, Point] = {}
        self.kept: Point | None = None
        self.broken: Point | None = None
        self.evaluated: set[int] = set()

    def run(self) -> list[Point]:
        """Return the points that keep the limit."""
        self._bracket()
        drawn: list[Point] = []
        if isinstance(self.family, ValueTables) and self.kept and self.broken:
            drawn = self._drawn(self.family, self.broken, self.kept)
        return [point for point in (*self.points.values(), *drawn) if point.used <= 0.0]

    @property
    def nearest(self) -> Point:
        """The point that uses least of the limit."""
        return min(self.points.values(), key=lambda point: point.used)

    def _unused(self, point: Point) -> float:
        """Return the share of the limit that may stay unused."""
        if point.answer.method != "simulate":
            return UNUSED
        return UNUSED_RARE if self.evaluate.rare else UNUSED_SIMULATED

    def _close(self, point: Point) -> bool:
        """Is the limit kept, and hardly wasted?"""
        if point.answer.blocking.value == 0.0 and not self.target.on_time:
            # Nothing was seen: only a model knows how much is used.
            return isinstance(self.family, ValueTables)
        return -self._unused(point) <= point.used <= 0.0

    def _bracket(self) -> None:
        helps, step = (-1.0 if self.target.on_time else 1.0), self.family.step
        left = self.family.evaluations
        knob, both = self._held(self.family.first(self.aim)), False
        for _ in range(TRIES):
            point = self._point(knob)
            self._note(point)
            first, both = not both, self.kept is not None and self.broken is not None
            if first and both:
                left = max(left, len(self.evaluated) + CLOSING)
            spent = len(self.evaluated) >= left
            if self._close(point) or (both and (spent or self._adjacent())):
                return
            guess = self.family.guess(knob, point.used + 0.5 * self._unused(point))
            if both:
                knob = self._inside(guess)
                continue
            way = helps if point.used > 0.0 else -helps
            least = math.inf if spent else step
            further = self._held(knob + way * max(way * (guess - knob), least))
            if further == knob:
                return
            knob, step = further, 2.0 * step

    def _held(self, knob: float) -> float:
        return min(max(knob, self.family.low), self.family.high)

    def _adjacent(self) -> bool:
        """Is there nothing between the two nearest points?"""
        assert self.kept is not None  # noqa: S101 - asked only when both are known
        assert self.broken is not None  # noqa: S101
        knobs = self.kept.knob, self.broken.knob
        if isinstance(self.family, ValueTables) and self.family.differences(*knobs) == 1:
            return True
        return abs(knobs[0] - knobs[1]) < SAME * (self.family.high - self.family.low) / 10.0

    def _inside(self, guess: float) -> float:
        """Return a knob between the two nearest points: the guess, or what these two say."""
        assert self.kept is not None  # noqa: S101 - asked only when both are known
        assert self.broken is not None  # noqa: S101
        low, high = sorted((self.kept.knob, self.broken.knob))
        if not low < guess < high:
            over = self.broken.used + 0.5 * self._unused(self.kept)
            share = over / (self.broken.used - self.kept.used)
            guess = self.broken.knob + share * (self.kept.knob - self.broken.knob)
        margin = MARGIN * (high - low)
        return min(max(guess, low + margin), high - margin)

    def _note(self, point: Point) -> None:
        if point.used > 0.0 and (self.broken is None or point.used <= self.broken.used):
            self.broken = point
        if point.used <= 0.0 and (self.kept is None or point.used >= self.kept.used):
            self.kept = point

    def _point(self, knob: float) -> Point:
        point = self._measured(knob, self.family.policy(knob))
        self.evaluated.add(id(point.answer))
        self.points[knob] = point
        return point

    def _measured(self, knob: float, policy: Policy) -> Point:
        answer = self.evaluate(policy)
        return Point(knob, policy, answer, self.target.used(answer) - self.aim)

    def _drawn(self, tables: ValueTables, broken: Point, kept: Point) -> list[Point]:
        """Use the limit up by drawing between a table that breaks it and one that keeps it.

        The share is found by the Illinois rule: an end that stays twice counts half.
        """
        goal = 1.0 - 0.5 * self._unused(kept)
        ends = [[0.0, math.exp(broken.used) - goal], [1.0, math.exp(kept.used) - goal]]
        side, found = -1, list[Point]()
        while not self._close(found[-1] if found else kept) and len(found) < DRAWS:
            (low, over), (high, under) = ends
            share = low + min(max(over / (over - under), MARGIN / 10.0), 1.0) * (high - low)
            if not low < share < high:
                break
            point = self._measured(kept.knob, tables.between(broken.knob, kept.knob, share))
            found.append(point)
            before, side = side, 0 if math.exp(point.used) > goal else 1
            ends[side] = [share, math.exp(point.used) - goal]
            if side == before:
                ends[1 - side][1] *= 0.5
        return found


def least_cost(family: Family, evaluate: Evaluator, target: Target) -> Point:
    """Return the policy of the least cost in a family, by a few evaluations."""
    from scipy.optimize import minimize_scalar

    points: dict[float, Point] = {}

    def cost(knob: float) -> float:
        knob = float(knob)
        policy = family.policy(knob)
        points[knob] = Point(knob, policy, evaluate(policy), 0.0)
        return target.objective(points[knob].answer)

    ends = (family.low, family.high)
    minimize_scalar(cost, bounds=ends, method="bounded", options={"maxiter": LOADS})
    return min(points.values(), key=lambda point: target.objective(point.answer))
