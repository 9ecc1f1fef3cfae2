"""The search for the blocking cost at which the best policies just keep a limit.

Write B for blocking and W for the accepted time per arrival: (1 - B) times the mean time of the
accepted jobs, which is the execution time where jobs are lost and the response time where they may
wait. A policy that is drawn at random for long epochs, a with probability q and b otherwise, has

    B = q B_a + (1 - q) B_b,   W = q W_a + (1 - q) W_b,

so mixtures reach the convex hull of what single policies reach. The blocking cost is a Lagrange
multiplier: the best policy at a cost is a vertex of the lower edge of the hull, and the slope
between two vertices is the cost at which both are equally good. Limits such as B <= epsilon and
W <= T (1 - B) are lines, so one search finds the segment of the edge that crosses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar, final

SOLUTIONS: Final = 60
"""Blocking costs tried before the search stops."""
SAME: Final = 1e-12
"""Relative difference of solutions that is rounding."""


class Solved(Protocol):
    """The best policy at a blocking cost."""

    @property
    def blocking(self) -> float:
        """The probability that an arriving job is blocked."""

    @property
    def accepted_time(self) -> float:
        """Time per arrival, blocked jobs counting 0."""

    @property
    def lower_bound(self) -> float:
        """Lower bound of the cost per arrival of every policy."""


class Mixed(Protocol):
    """The answer between two policies."""

    @property
    def blocking_cost(self) -> float:
        """The cost, in mean sizes, at which both are equally good."""

    @property
    def gap(self) -> float:
        """Largest possible relative distance from the optimum."""


Solution = TypeVar("Solution", bound=Solved)
Answer = TypeVar("Answer", bound=Mixed)


@final
class LagrangianSearch(Generic[Solution]):
    """Solves for the best policy at one blocking cost after another.

    Args:
        solve: returns the best policy at a blocking cost in mean sizes, which may be infinite;
            the second argument is that at a similar cost, if there is one.
        mean_size: of the jobs.
        tolerance: of the answer that is sought.

    Attributes:
        solutions: number of blocking costs tried.
        bounds: each cost in units of time, and the lower bound of the cost per arrival there.
    """

    def __init__(
        self,
        solve: Callable[[float, Solution | None], Solution],
        mean_size: float,
        tolerance: float,
    ) -> None:
        self._solve, self.mean_size, self.tolerance = solve, mean_size, tolerance
        self.solutions = 0
        self.bounds: list[tuple[float, float]] = []

    def solve(self, blocking_cost: float, near: Solution | None = None) -> Solution:
        """Return the best policy at a blocking cost, starting from that at a similar one."""
        self.solutions += 1
        found = self._solve(blocking_cost, near)
        if math.isfinite(blocking_cost):
            self.bounds.append((blocking_cost * self.mean_size, found.lower_bound))
        return found

    def fastest(self, quickest: float) -> Solution:
        """Return the policy of the least mean time, whatever it blocks.

        The least of W / (1 - B) is the blocking cost at which it is optimal (Dinkelbach 1967);
        `quickest` is a time that no policy beats.
        """
        found = self.solve(quickest / self.mean_size)
        while self.solutions < SOLUTIONS:
            time = mean_time(found)
            found = self.solve(time / self.mean_size, found)
            if mean_time(found) >= time * (1.0 - self.tolerance):
                break
        return found

    def close_in(
        self,
        safe: Solution,
        fast: Solution,
        is_safe: Callable[[Solution], bool],
        mixed: Callable[[Solution, Solution], Answer],
    ) -> Answer:
        """Find the segment of the edge that crosses a limit, from a policy on either side of it.

        Args:
            safe: the policy that blocks less.
            fast: the policy that takes less time.
            is_safe: returns whether a policy lies on the side of `safe`.
            mixed: returns the answer between two policies.
        """
        answer = mixed(safe, fast)
        while self.solutions < SOLUTIONS:
            found = self.solve(answer.blocking_cost, fast)
            ended = same(found, fast) or same(found, safe)
            if is_safe(found):
                safe = found
            else:
                fast = found
            answer = mixed(safe, fast)
            if ended or answer.gap <= self.tolerance:
                break
        return answer

    def slope(self, safe: Solution, fast: Solution) -> float:
        """Return the blocking cost at which two policies are equally good, in mean sizes."""
        slower = safe.accepted_time - fast.accepted_time
        return max(0.0, slower / (fast.blocking - safe.blocking)) / self.mean_size

    def least_time(self, allowed: float) -> float:
        """Return a mean time that no policy with at most this blocking beats.

        Every policy has W >= bound - cost B. Divided by 1 - B, that is least at an end of
        [0, allowed].
        """
        bounds = (
            min(least, (least - cost * allowed) / (1.0 - allowed)) for cost, least in self.bounds
        )
        return max(bounds, default=0.0)


def shares_at(allowed: float, safe: Solution, fast: Solution) -> list[tuple[Solution, float]]:
    """Block as much as is allowed, unless that saves no time."""
    if mean_time(safe) <= mean_time(fast) * (1.0 + SAME):
        return [(safe, 1.0)]
    if fast.blocking <= allowed:
        return [(fast, 1.0)]
    share = (allowed - safe.blocking) / (fast.blocking - safe.blocking)
    return [(fast, share), (safe, 1.0 - share)]


def mean_time(policy: Solved) -> float:
    """Return the mean time of accepted jobs."""
    return policy.accepted_time / (1.0 - policy.blocking)


def mixture(*parts: tuple[Solved, float]) -> tuple[float, float]:
    """Return blocking and mean time of policies drawn with these shares for long epochs."""
    blocking = math.fsum(share * policy.blocking for policy, share in parts)
    accepted = math.fsum(share * policy.accepted_time for policy, share in parts)
    return blocking, accepted / (1.0 - blocking)


def same(one: Solved, two: Solved) -> bool:
    """Return whether two solutions are one vertex of the edge, except for rounding."""
    pairs = (one.blocking, two.blocking), (one.accepted_time, two.accepted_time)
    return all(math.isclose(a, b, rel_tol=SAME) for a, b in pairs)
