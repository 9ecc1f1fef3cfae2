"""Find the parameter of a family of policies at which a limit is just kept, or a cost is least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from moldable.policies.policy import Policy
from moldable.system.performance import Performance
from moldable.tuning.evaluator import LossEvaluator
from moldable.tuning.families import Family
from moldable.tuning.targets import Target

UNUSED, UNUSED_SIMULATED, UNUSED_RARE = 1e-4, 0.5, 0.15
"""Share of the limit that may stay unused: with exact answers; with simulation, as a multiple of
its precision; with importance splitting."""
CLOSING, DRAWS = 3, 8
"""Least number of evaluations after the limit is bracketed; most evaluations of mixtures."""
TRIES: Final = 40
"""Parameters that are tried; many of them may give the same policy."""
MARGIN: Final = 0.15
"""A new parameter stays this share of the bracket away from its ends."""
COST_EVALUATIONS: Final = 8


@final
@dataclass(frozen=True)
class Point:
    """An evaluated policy.

    Attributes:
        parameter: of the policy in its family; of a mixture, that of its feasible end.
        policy: the policy.
        answer: its performance.
        used: logarithm of the share of the aim that it uses.
    """

    parameter: float
    policy: Policy
    answer: Performance
    used: float


@final
class LimitSearch:
    """Brackets the limit and closes in on it; `points` are all evaluated policies by parameter."""

    def __init__(self, family: Family, evaluate: LossEvaluator, target: Target, aim: float) -> None:
        self.family, self.evaluate, self.target, self.aim = family, evaluate, target, aim
        self.points: dict[float, Point] = {}

    def run(self) -> list[Point]:
        """Return the points that keep the limit."""
        self._close_in()
        bracket = self.bracket
        mixtures = self._mixtures(*bracket) if bracket else []
        return [point for point in (*self.points.values(), *mixtures) if point.used <= 0.0]

    @property
    def bracket(self) -> tuple[Point, Point] | None:
        """The infeasible and the feasible point closest to the limit, once both are known."""
        latest = list(reversed(self.points.values()))
        infeasible = [point for point in latest if point.used > 0.0]
        feasible = [point for point in latest if point.used <= 0.0]
        if not infeasible or not feasible:
            return None
        return min(infeasible, key=lambda p: p.used), max(feasible, key=lambda p: p.used)

    @property
    def closest(self) -> Point:
        """The point that uses the smallest share of the aim."""
        return min(self.points.values(), key=lambda point: point.used)

    def _close_in(self) -> None:
        """Step until the limit is bracketed, then interpolate."""
        family, step, most = self.family, self.family.step, self.family.evaluations
        parameter = min(max(family.first(self.aim), family.low), family.high)
        bracket: tuple[Point, Point] | None = None
        for _ in range(TRIES):
            point = self._evaluated(parameter, family.policy(parameter))
            self.points[parameter] = point
            evaluated = len({id(each.answer) for each in self.points.values()})
            bracket, before = self.bracket, bracket
            if bracket and not before:
                most = max(most, evaluated + CLOSING)
            spent = evaluated >= most
            ends = [end.parameter for end in bracket or ()]
            if self._close(point) or (bracket and (spent or family.adjacent(*ends))):
                return
            guess = family.guess(parameter, point.used + 0.5 * self._tolerance(point))
            if bracket:
                parameter = self._inside(*bracket, guess)
                continue
            # Blocking falls along the parameter, time grows.
            sign = 1.0 if (point.used > 0.0) != self.target.on_time else -1.0
            least = math.inf if spent else step
            following = parameter + sign * max(sign * (guess - parameter), least)
            following = min(max(following, family.low), family.high)
            if following == parameter:
                return
            parameter, step = following, 2.0 * step

    def _evaluated(self, parameter: float, policy: Policy) -> Point:
        answer = self.evaluate(policy)
        return Point(parameter, policy, answer, self.target.used(answer) - self.aim)

    def _tolerance(self, point: Point) -> float:
        """Return the share of the limit that may stay unused."""
        if point.answer.method != "simulate":
            return UNUSED
        if self.evaluate.rare:
            return UNUSED_RARE
        return UNUSED_SIMULATED * self.evaluate.precision

    def _close(self, point: Point) -> bool:
        """Return whether the limit is kept and nearly used up."""
        if point.answer.blocking.value == 0.0 and not self.target.on_time:
            return self.family.modelled  # a simulation without blocking does not tell how much
        return -self._tolerance(point) <= point.used <= 0.0

    def _inside(self, infeasible: Point, feasible: Point, guess: float) -> float:
        """Return a parameter inside the bracket: the guess, or the ends' linear interpolation."""
        low, high = sorted((feasible.parameter, infeasible.parameter))
        if not low < guess < high:
            over = infeasible.used + 0.5 * self._tolerance(feasible)
            share = over / (infeasible.used - feasible.used)
            guess = infeasible.parameter + share * (feasible.parameter - infeasible.parameter)
        margin = MARGIN * (high - low)
        return min(max(guess, low + margin), high - margin)

    def _mixtures(self, infeasible: Point, feasible: Point) -> list[Point]:
        """Use the limit up by drawing between a policy that breaks it and one that keeps it.

        The probability is found by the Illinois variant of regula falsi: the weight of an end that
        is kept twice is halved.
        """
        goal = 1.0 - 0.5 * self._tolerance(feasible)
        ends = [[0.0, math.exp(infeasible.used) - goal], [1.0, math.exp(feasible.used) - goal]]
        side, found = -1, list[Point]()
        while not self._close(found[-1] if found else feasible) and len(found) < DRAWS:
            (low, over), (high, under) = ends
            share = low + min(max(over / (over - under), MARGIN / 10.0), 1.0) * (high - low)
            if not low < share < high:
                break
            policy = self.family.between(infeasible.parameter, feasible.parameter, share)
            if policy is None:
                break
            point = self._evaluated(feasible.parameter, policy)
            found.append(point)
            before, side = side, 0 if math.exp(point.used) > goal else 1
            ends[side] = [share, math.exp(point.used) - goal]
            if side == before:
                ends[1 - side][1] *= 0.5
        return found


def least_cost(family: Family, evaluate: LossEvaluator, target: Target) -> Point:
    """Return the policy of least cost in a family, after a few evaluations."""
    from scipy.optimize import minimize_scalar

    points: list[Point] = []

    def cost(parameter: float) -> float:
        policy = family.policy(float(parameter))
        points.append(Point(float(parameter), policy, evaluate(policy), 0.0))
        return target.objective(points[-1].answer)

    ends = (family.low, family.high)
    minimize_scalar(cost, bounds=ends, method="bounded", options={"maxiter": COST_EVALUATIONS})
    return min(points, key=lambda point: target.objective(point.answer))
