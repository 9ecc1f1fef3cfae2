"""The best policies under a limit on blocking, or on the mean execution time; see `lagrangian`."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from moldable.checks import fraction
from moldable.errors import ChainError, InfeasibleError
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.optimal.control import FINEST, TOLERANCE, OptimalControl, solve
from moldable.optimal.lagrangian import LagrangianSearch, mixture, shares_at
from moldable.optimal.least import LeastBlocking, LeastTime
from moldable.optimal.problem import ControlProblem, control_problem

FINER: Final = 0.1
"""Tolerance of each solution, relative to that of the answer."""


def least_blocking(scenario: ScenarioOrFile, *, tolerance: float = TOLERANCE) -> OptimalControl:
    """Return the policy that blocks the fewest jobs; its `lower_bound` is of blocking.

    Bounds have absolute errors of about 1e-14. For blocking below about 1e-11 they therefore
    certify less than `tolerance` asks for; see `gap`.

    Examples:
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

    Examples:
        >>> round(least_time(Scenario.single([1, 1.8, 2.5], 0.8, 8), 0.2).mean_execution_time, 4)
        0.7062
    """
    allowed = fraction(max_blocking, "max_blocking", ChainError)
    scenario = checked_scenario(scenario)
    problem = control_problem(scenario)
    search = _search(problem, tolerance)
    mixed = partial(_mixed_at_blocking, search, allowed)
    fast, safe = search.fastest(float(problem.times.min())), search.solve(math.inf)
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
    problem = control_problem(scenario)
    search = _search(problem, tolerance)
    fast = search.fastest(float(problem.times.min()))
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


def _search(problem: ControlProblem, tolerance: float) -> LagrangianSearch[OptimalControl]:
    """Return a search over the policies of a cluster without a queue."""
    finer = max(FINEST, FINER * tolerance)

    def solved(cost: float, near: OptimalControl | None) -> OptimalControl:
        return solve(problem, cost, finer, None if near is None else near.values)

    return LagrangianSearch(solved, problem.mean_size, tolerance)


def fastest_policy(scenario: Scenario, tolerance: float) -> OptimalControl:
    """Return the policy of the least mean execution time, whatever it blocks."""
    problem = control_problem(scenario)
    return _search(problem, tolerance).fastest(float(problem.times.min()))


def _mixed_at_blocking(
    search: LagrangianSearch[OptimalControl],
    allowed: float,
    safe: OptimalControl,
    fast: OptimalControl,
) -> LeastTime:
    parts = shares_at(allowed, safe, fast)
    alone = len(parts) == 1
    return LeastTime(
        allowed,
        *mixture(*parts),
        search.least_time(allowed),
        policies=tuple(policy for policy, share in parts if share > 0.0),
        shares=tuple(share for _, share in parts if share > 0.0),
        blocking_cost=parts[0][0].blocking_cost if alone else search.slope(safe, fast),
        solutions=search.solutions,
    )


def _mixed_at_time(
    search: LagrangianSearch[OptimalControl],
    max_time: float,
    safe: OptimalControl,
    fast: OptimalControl,
) -> LeastBlocking:
    """Take as much time as is allowed.

    Every policy within the limit has bound - cost B <= W <= T (1 - B), which bounds B.
    """
    bounds = (
        (least - max_time) / (cost - max_time) for cost, least in search.bounds if cost > max_time
    )
    over, spare = -_spare(safe, max_time), _spare(fast, max_time)
    share = spare / (spare + over)
    blocking, time = mixture((safe, share), (fast, 1.0 - share))
    return LeastBlocking(blocking, time, max((0.0, *bounds)), search.slope(safe, fast))


def _spare(policy: OptimalControl, max_time: float) -> float:
    """Return T (1 - B) - W, the unused time per arrival, which is linear in mixtures."""
    return max_time * (1.0 - policy.blocking) - policy.accepted_time
