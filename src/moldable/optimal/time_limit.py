"""How few jobs can be blocked if the accepted ones may take only so long?

With B for blocking and W for the accepted time per arrival, the mean time is at most T where
W <= T (1 - B): a line, so that the least B of all policies and mixtures lies where it crosses the
edge of what policies reach (see `constrained`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from moldable.errors import InfeasibleError
from moldable.model.scenario import Scenario
from moldable.optimal.optimal_control import TOLERANCE, OptimalControl
from moldable.optimal.pricing import SOLUTIONS, Pricing, mixture, same
from moldable.optimal.problem import control_problem


@final
@dataclass(frozen=True)
class LeastBlocking:
    """The least blocking with at most so much time.

    Attributes:
        blocking: what is reached, by one policy or a mixture of two.
        mean_execution_time: of accepted jobs.
        lower_bound: below which the blocking of no policy can be, nor that of a mixture.
    """

    blocking: float
    mean_execution_time: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """How far above the least the blocking may be, as a share of it."""
        return max(0.0, 1.0 - self.lower_bound / self.blocking) if self.blocking > 0.0 else 0.0


def least_blocking_within(
    scenario: Scenario, max_time: float, *, tolerance: float = TOLERANCE
) -> LeastBlocking:
    """Return the least blocking of all policies whose mean execution time is at most `max_time`.

    Args:
        scenario: the classes and the cluster.
        max_time: of accepted jobs, in units of time.
        tolerance: relative distance from the least blocking at which to stop. Of blocking below
            about 1e-11 bounds certify less; `gap` says how much.
    """
    pricing = Pricing(control_problem(scenario), tolerance)
    fast = pricing.fastest()
    if _spare(fast, max_time) < 0.0:
        raise InfeasibleError(
            f"a mean execution time of {max_time:g} cannot be reached on {scenario.servers} "
            f"servers: the least of any policy is {fast.mean_execution_time:.6g}; allow that much"
        )
    safe = pricing.solved(math.inf)
    if _spare(safe, max_time) >= 0.0:
        return LeastBlocking(safe.blocking, safe.mean_execution_time, safe.lower_bound)
    answer = _mixed(pricing, safe, fast, max_time)
    while pricing.solutions < SOLUTIONS:
        found = pricing.solved(pricing.slope(safe, fast), fast)
        ended = same(found, fast) or same(found, safe)
        if _spare(found, max_time) >= 0.0:
            fast = found
        else:
            safe = found
        answer = _mixed(pricing, safe, fast, max_time)
        if ended or answer.gap <= tolerance:
            break
    return answer


def _spare(policy: OptimalControl, max_time: float) -> float:
    """Return T (1 - B) - W, which is linear in mixtures: the time per arrival that is left."""
    return max_time * (1.0 - policy.blocking) - policy.accepted_time


def _mixed(
    pricing: Pricing, safe: OptimalControl, fast: OptimalControl, max_time: float
) -> LeastBlocking:
    """Use the time up, and bound the blocking of all policies that keep the limit.

    Each has bound - charge B <= W <= T (1 - B).
    """
    over, spare = -_spare(safe, max_time), _spare(fast, max_time)
    share = spare / (spare + over)
    blocking, time = mixture((safe, share), (fast, 1.0 - share))
    bounds = (
        (least - max_time) / (charge - max_time)
        for charge, least in pricing.bounds
        if charge > max_time
    )
    return LeastBlocking(blocking, time, max((0.0, *bounds)))
