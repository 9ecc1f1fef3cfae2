"""The best policies under a limit on blocking, or on the mean execution time.

Write B for blocking and W = (1 - B) E[D] for the accepted time per arrival. A policy that is drawn
at random for long epochs, a with probability q and b otherwise, has

    B = q B_a + (1 - q) B_b,   W = q W_a + (1 - q) W_b,   E[D] = W / (1 - B),

so mixtures reach the convex hull of what single policies reach. The blocking cost is a Lagrange
multiplier: the best policy at a cost is a vertex of the lower edge of the hull, and the slope
between two vertices is the cost at which both are equally good. Both limits, B <= epsilon and
W <= T (1 - B), are lines, so one search finds the segment of the edge that crosses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar, final

from moldable.checks import fraction
from moldable.errors import ChainError, InfeasibleError
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.optimal.control import FINEST, TOLERANCE, OptimalControl, solve
from moldable.optimal.least import LeastBlocking, LeastTime
from moldable.optimal.problem import ControlProblem, control_problem

SOLUTIONS: Final = 60
"""Blocking costs tried before the search stops."""
SAME: Final = 1e-12
"""Relative difference of solutions that is rounding."""
FINER: Final = 0.1
"""Tolerance of each solution, relative to that of the answer."""


Answer = TypeVar("Answer", LeastTime, LeastBlocking)


def least_blocking(scenario: ScenarioOrFile, *, tolerance: float = TOLERANCE) -> OptimalControl:
    """Return the policy that blocks the fewest jobs; its `lower_bound` is of blocking.

    Bounds have absolute errors of about 1e-14. For blocking below about 1e-11 they therefore
    certify less than `tolerance` asks for; see `gap`.

    Example:
        >>> round(least_blocking(Scenario.single([1, 1.8, 2.5], 0.8, 8)).blocking, 4)
        0.1441
    """
    return solve(control_problem(scenario), math.inf, tolerance, None)


def least_time(
    scenario: ScenarioOrFile, max_blocking: float, *, tolerance: float = TOLERANCE
) -> LeastTime:
    """Return the least mean execution time of accepted jobs with blocking at most `max_blocking`.

    Args:
        scenario: the classes and the cluster.
        max_blocking: largest share of jobs that may be blocked, between 0 and 1.
        tolerance: largest relative distance from the least time.

    Example:
        >>> round(least_time(Scenario.single([1, 1.8, 2.5], 0.8, 8), 0.2).mean_execution_time, 4)
        0.7062
    """
    allowed = fraction(max_blocking, "max_blocking", ChainError)
    scenario = checked_scenario(scenario)
    search = LagrangianSearch(control_problem(scenario), tolerance)
    mixed = partial(_mixed_at_blocking, search, allowed)
    fast, safe = search.fastest(), search.solve(math.inf)
    if fast.blocking <= allowed:
        return mixed(safe, fast)
    if safe.blocking > allowed:
        raise InfeasibleError(
            f"blocking at most {allowed:g} cannot be reached on {scenario.servers} servers: the "
            f"least of any policy is {safe.blocking:.6g}; allow that much, add servers or lower "
            f"the load"
        )
    answer = search.close_in(safe, fast, lambda found: found.blocking <= allowed, mixed)
    if answer.gap > tolerance:
        raise ChainError(
            f"after {search.solutions} blocking costs the least time is only known to within "
            f"{answer.gap:.1g}; ask for a larger tolerance than {tolerance:g}"
        )
    return answer


def least_blocking_within(
    scenario: Scenario, max_time: float, *, tolerance: float = TOLERANCE
) -> LeastBlocking:
    """Return the least blocking of all policies whose mean execution time is at most `max_time`.

    Args:
        scenario: the classes and the cluster.
        max_time: of accepted jobs, in units of time.
        tolerance: relative distance from the least blocking at which to stop. It may be missed for
            blocking below about 1e-11; see `gap`.
    """
    search = LagrangianSearch(control_problem(scenario), tolerance)
    fast = search.fastest()
    if _spare(fast, max_time) < 0.0:
        raise InfeasibleError(
            f"a mean execution time of {max_time:g} cannot be reached on {scenario.servers} "
            f"servers: the least of any policy is {fast.mean_execution_time:.6g}; allow that much"
        )
    safe = search.solve(math.inf)
    if _spare(safe, max_time) >= 0.0:
        return LeastBlocking(safe.blocking, safe.mean_execution_time, safe.lower_bound, math.inf)
    mixed = partial(_mixed_at_time, search, max_time)
    return search.close_in(safe, fast, lambda found: _spare(found, max_time) < 0.0, mixed)


@final
class LagrangianSearch:
    """Solves for the best policy at one blocking cost after another.

    Attributes:
        problem: the states.
        tolerance: of the answer that is sought.
        solutions: number of blocking costs tried.
        bounds: each cost in units of time, and the lower bound of the cost per arrival there.
    """

    def __init__(self, problem: ControlProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.solutions = 0
        self.bounds: list[tuple[float, float]] = []

    def solve(self, blocking_cost: float, near: OptimalControl | None = None) -> OptimalControl:
        """Return the best policy at a blocking cost, starting from the values of a similar one."""
        self.solutions += 1
        values = None if near is None else near.values
        found = solve(self.problem, blocking_cost, max(FINEST, FINER * self.tolerance), values)
        if math.isfinite(blocking_cost):
            self.bounds.append((blocking_cost * self.problem.mean_size, found.lower_bound))
        return found

    def fastest(self) -> OptimalControl:
        """Return the policy of the least mean time, whatever it blocks.

        The least of W / (1 - B) is the blocking cost at which it is optimal (Dinkelbach 1967).
        """
        size = self.problem.mean_size
        found = self.solve(float(self.problem.times.min()) / size)
        while self.solutions < SOLUTIONS:
            time = found.mean_execution_time
            found = self.solve(time / size, found)
            if found.mean_execution_time >= time * (1.0 - self.tolerance):
                break
        return found

    def close_in(
        self,
        safe: OptimalControl,
        fast: OptimalControl,
        is_safe: Callable[[OptimalControl], bool],
        mixed: Callable[[OptimalControl, OptimalControl], Answer],
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
            ended = _same(found, fast) or _same(found, safe)
            if is_safe(found):
                safe = found
            else:
                fast = found
            answer = mixed(safe, fast)
            if ended or answer.gap <= self.tolerance:
                break
        return answer

    def slope(self, safe: OptimalControl, fast: OptimalControl) -> float:
        """Return the blocking cost at which two policies are equally good, in mean sizes."""
        slower = safe.accepted_time - fast.accepted_time
        return max(0.0, slower / (fast.blocking - safe.blocking)) / self.problem.mean_size


def _mixed_at_blocking(
    search: LagrangianSearch, allowed: float, safe: OptimalControl, fast: OptimalControl
) -> LeastTime:
    """Block as much as is allowed, unless that saves no time.

    Every policy has W >= bound - cost B. Divided by 1 - B, that is least at an end of [0, allowed].
    """
    bounds = (
        min(least, (least - cost * allowed) / (1.0 - allowed)) for cost, least in search.bounds
    )
    parts, cost = [(fast, 1.0)], fast.blocking_cost
    if safe.mean_execution_time <= fast.mean_execution_time * (1.0 + SAME):
        parts, cost = [(safe, 1.0)], safe.blocking_cost
    elif fast.blocking > allowed:
        share = (allowed - safe.blocking) / (fast.blocking - safe.blocking)
        parts, cost = [(fast, share), (safe, 1.0 - share)], search.slope(safe, fast)
    return LeastTime(
        allowed,
        *_mixture(*parts),
        max(bounds, default=0.0),
        policies=tuple(policy for policy, share in parts if share > 0.0),
        shares=tuple(share for _, share in parts if share > 0.0),
        blocking_cost=cost,
        solutions=search.solutions,
    )


def _mixed_at_time(
    search: LagrangianSearch, max_time: float, safe: OptimalControl, fast: OptimalControl
) -> LeastBlocking:
    """Take as much time as is allowed.

    Every policy within the limit has bound - cost B <= W <= T (1 - B), which bounds B.
    """
    bounds = (
        (least - max_time) / (cost - max_time) for cost, least in search.bounds if cost > max_time
    )
    over, spare = -_spare(safe, max_time), _spare(fast, max_time)
    share = spare / (spare + over)
    blocking, time = _mixture((safe, share), (fast, 1.0 - share))
    return LeastBlocking(blocking, time, max((0.0, *bounds)), search.slope(safe, fast))


def _spare(policy: OptimalControl, max_time: float) -> float:
    """Return T (1 - B) - W, the unused time per arrival, which is linear in mixtures."""
    return max_time * (1.0 - policy.blocking) - policy.accepted_time


def _same(one: OptimalControl, two: OptimalControl) -> bool:
    """Return whether two solutions are one vertex of the edge, except for rounding."""
    pairs = (one.blocking, two.blocking), (one.accepted_time, two.accepted_time)
    return all(math.isclose(a, b, rel_tol=SAME) for a, b in pairs)


def _mixture(*parts: tuple[OptimalControl, float]) -> tuple[float, float]:
    """Return blocking and mean time of policies drawn with these shares for long epochs."""
    blocking = math.fsum(share * policy.blocking for policy, share in parts)
    accepted = math.fsum(share * policy.accepted_time for policy, share in parts)
    return blocking, accepted / (1.0 - blocking)
