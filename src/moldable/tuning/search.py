"""Find the parameter of a family of policies at which a limit is just kept, or a cost is least."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, final

from moldable.policies.policy_table import Policy
from moldable.system.performance import Performance
from moldable.tuning.evaluator import Evaluator
from moldable.tuning.targets import Target

UNUSED, UNUSED_SIMULATED, UNUSED_RARE = 1e-4, 0.03, 0.15
"""Share of the limit that may stay unused: exact answers, simulation, importance splitting."""
CLOSING, DRAWS = 3, 8
"""Least number of evaluations after the limit is bracketed; most evaluations of mixtures."""
TRIES: Final = 40
"""Parameters that are tried; many of them may give the same policy."""
MARGIN: Final = 0.15
"""A new parameter stays this share of the bracket away from its ends."""
ADJACENT: Final = 5e-4
"""Share of the range of parameters below which two of them are not worth telling apart."""
COST_EVALUATIONS: Final = 8


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
    """Brackets the limit and closes in on it.

    Attributes:
        points: all evaluated policies of the family, by parameter.
        feasible: the point closest to the limit of those that keep it.
        infeasible: the closest of the others.
    """

    def __init__(self, family: Family, evaluate: Evaluator, target: Target, aim: float) -> None:
        self.family, self.evaluate, self.target, self.aim = family, evaluate, target, aim
        self.points: dict[float, Point] = {}
        self.feasible: Point | None = None
        self.infeasible: Point | None = None

    def run(self) -> list[Point]:
        """Return the points that keep the limit."""
        self._close_in()
        mixtures = self._mixtures(*self.bracket) if self.bracket else []
        return [point for point in (*self.points.values(), *mixtures) if point.used <= 0.0]

    @property
    def bracket(self) -> tuple[Point, Point] | None:
        """The infeasible and the feasible point closest to the limit, once both are known."""
        return (self.infeasible, self.feasible) if self.infeasible and self.feasible else None

    @property
    def least_used(self) -> float:
        """Logarithm of the smallest share of the aim that any point uses."""
        return min(point.used for point in self.points.values())

    def _close_in(self) -> None:
        """Step until the limit is bracketed, then interpolate."""
        family, step, most = self.family, self.family.step, self.family.evaluations
        parameter = min(max(family.first(self.aim), family.low), family.high)
        bracket: tuple[Point, Point] | None = None
        for _ in range(TRIES):
            point = self._add(parameter)
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

    def _add(self, parameter: float) -> Point:
        point = self._evaluated(parameter, self.family.policy(parameter))
        self.points[parameter] = point
        if point.used <= 0.0:
            if self.feasible is None or point.used >= self.feasible.used:
                self.feasible = point
        elif self.infeasible is None or point.used <= self.infeasible.used:
            self.infeasible = point
        return point

    def _evaluated(self, parameter: float, policy: Policy) -> Point:
        answer = self.evaluate(policy)
        return Point(parameter, policy, answer, self.target.used(answer) - self.aim)

    def _tolerance(self, point: Point) -> float:
        """Return the share of the limit that may stay unused."""
        if point.answer.method != "simulate":
            return UNUSED
        return UNUSED_RARE if self.evaluate.rare else UNUSED_SIMULATED

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


def least_cost(family: Family, evaluate: Evaluator, target: Target) -> Point:
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
