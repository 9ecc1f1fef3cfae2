"""How fast can jobs run if only so many may be blocked?

Among all policies, mixtures of them included, the least mean execution time with blocking at most
epsilon. Write B for blocking and W = (1 - B) E[D] for the accepted time per arrival. A policy that
is drawn at random for long epochs, a with probability q and b otherwise, has

    B = q B_a + (1 - q) B_b,   W = q W_a + (1 - q) W_b,   E[D] = W / (1 - B),

so what mixtures reach is the convex hull of what policies reach, and its lower edge is found by
pricing blocked jobs: the slope between two points is the price at which both cost the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

from moldable.checks import fraction
from moldable.errors import ChainError, InfeasibleError
from moldable.model.scenario import Scenario
from moldable.optimal.optimal_control import TOLERANCE, OptimalControl, solve
from moldable.optimal.pricing import SAME, SOLUTIONS, Pricing, mixture, same
from moldable.optimal.problem import control_problem


@final
@dataclass(frozen=True, repr=False, eq=False)
class LeastTime:
    """The least mean execution time with at most so many jobs blocked.

    Attributes:
        max_blocking: what was asked for.
        blocking: what is reached.
        mean_execution_time: of accepted jobs, in units of time.
        lower_bound: below which no policy's mean execution time can be, nor that of a mixture.
        policies: the one or two policies to follow.
        shares: probability with which each is drawn, at the start of every long epoch.
        price: of a blocked job at which these policies are the best, in mean sizes.
        solutions: prices that were tried.
    """

    max_blocking: float
    blocking: float
    mean_execution_time: float
    lower_bound: float
    policies: tuple[OptimalControl, ...]
    shares: tuple[float, ...]
    price: float
    solutions: int

    @property
    def gap(self) -> float:
        """How far above the least the time may be, as a share of it."""
        return max(0.0, 1.0 - self.lower_bound / self.mean_execution_time)

    def __repr__(self) -> str:
        return (
            f"LeastTime(max_blocking={self.max_blocking:g}, blocking={self.blocking:.6g}, "
            f"mean_execution_time={self.mean_execution_time:.6g}, gap={self.gap:.1e}, "
            f"shares={tuple(round(share, 4) for share in self.shares)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "max_blocking": self.max_blocking,
            "blocking": self.blocking,
            "mean_execution_time": self.mean_execution_time,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "price": self.price if math.isfinite(self.price) else None,
            "shares": list(self.shares),
            "policies": [policy.to_dict() for policy in self.policies],
            "solutions": self.solutions,
        }


def least_blocking(scenario: Scenario, *, tolerance: float = TOLERANCE) -> OptimalControl:
    """Return the policy that blocks the fewest jobs of all; its `lower_bound` is of blocking.

    Bounds are good to about 1e-14 beside 1, so that of blocking below about 1e-11 they certify
    less than was asked; `gap` says how much.
    """
    return solve(control_problem(scenario), math.inf, tolerance, None)


def least_time(
    scenario: Scenario, max_blocking: float, *, tolerance: float = TOLERANCE
) -> LeastTime:
    """Return the least mean execution time of accepted jobs with blocking at most `max_blocking`.

    Args:
        scenario: the classes and the cluster.
        max_blocking: at most this share of jobs may be blocked, between 0 and 1.
        tolerance: largest relative distance from the least time.
    """
    allowed = fraction(max_blocking, "max_blocking", ChainError)
    return _Search(Pricing(control_problem(scenario), tolerance), allowed).run()


@final
class _Search:
    """Closes in on the edge of the hull that crosses the allowed blocking."""

    def __init__(self, pricing: Pricing, allowed: float) -> None:
        self.pricing, self.allowed = pricing, allowed

    def run(self) -> LeastTime:
        own = self.pricing
        fast = own.fastest()
        safe = own.solved(math.inf)
        if fast.blocking <= self.allowed:
            best = safe if _as_fast(safe, fast) else fast
            return self._answer((best,), (1.0,), best.price)
        self._refuse_unreachable(safe)
        answer = self._mixed(safe, fast)
        while own.solutions < SOLUTIONS:
            found = own.solved(answer.price, fast)
            ended = same(found, fast) or same(found, safe)
            if found.blocking <= self.allowed:
                safe = found
            else:
                fast = found
            answer = self._mixed(safe, fast)
            if answer.gap <= own.tolerance:
                return answer
            if ended:
                break
        raise own.given_up("time", answer.gap)

    def _refuse_unreachable(self, safe: OptimalControl) -> None:
        if safe.blocking > self.allowed:
            servers = self.pricing.problem.servers
            raise InfeasibleError(
                f"blocking at most {self.allowed:g} cannot be reached on {servers} "
                f"servers: the least of any policy is {safe.blocking:.6g}; allow that much, add "
                f"servers or lower the load"
            )

    def _lower_bound(self) -> float:
        """Bound the time of all policies that block no more than allowed.

        Each has W >= bound - price B; divided by 1 - B that is least at one end of the allowed B.
        """
        allowed = self.allowed
        return max(
            (
                min(least, (least - charge * allowed) / (1.0 - allowed))
                for charge, least in self.pricing.bounds
            ),
            default=0.0,
        )

    def _mixed(self, safe: OptimalControl, fast: OptimalControl) -> LeastTime:
        """Block as much as is allowed, unless that saves no time."""
        if _as_fast(safe, fast):
            return self._answer((safe,), (1.0,), safe.price)
        share = (self.allowed - safe.blocking) / (fast.blocking - safe.blocking)
        price = self.pricing.slope(safe, fast)
        return self._answer((fast, safe), (share, 1.0 - share), price)

    def _answer(
        self, policies: tuple[OptimalControl, ...], shares: tuple[float, ...], price: float
    ) -> LeastTime:
        pairs = tuple(zip(policies, shares, strict=True))
        blocking, time = mixture(*pairs)
        return LeastTime(
            max_blocking=self.allowed,
            blocking=blocking,
            mean_execution_time=time,
            lower_bound=self._lower_bound(),
            policies=tuple(policy for policy, share in pairs if share > 0.0),
            shares=tuple(share for share in shares if share > 0.0),
            price=price,
            solutions=self.pricing.solutions,
        )


def _as_fast(safe: OptimalControl, fast: OptimalControl) -> bool:
    """Does blocking less cost no time? So it is where all widths are as fast."""
    return safe.mean_execution_time <= fast.mean_execution_time * (1.0 + SAME)
