"""What would the true optimum reach under a target, where it can be had at once?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.errors import ChainError, InfeasibleError
from moldable.exact.states import count_states
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.model.workload import Workload
from moldable.optimal.constrained import LeastTime, least_blocking, least_time
from moldable.optimal.optimal_control import OptimalControl, optimal_control
from moldable.optimal.pricing import Pricing
from moldable.optimal.problem import control_problem
from moldable.optimal.time_limit import LeastBlocking, least_blocking_within
from moldable.tuning.targets import Target

AT_ONCE: Final = 50_000
"""States up to which the dynamic programme takes a few seconds."""
CLOSE, CLOSER, KNOWN = 1e-4, 1e-6, 1e-2
"""Gap that is asked for at first, and if that is missed by a little; the largest that is told."""


@final
@dataclass(frozen=True)
class Best:
    """What no policy can better.

    Attributes:
        blocking: of the optimum.
        mean_execution_time: of its accepted jobs.
        gap: how far above the true optimum it may be, as a share.
    """

    blocking: float
    mean_execution_time: float
    gap: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "blocking": self.blocking,
            "mean_execution_time": self.mean_execution_time,
            "gap": self.gap,
        }


def fits(workload: Workload, servers: int, states: int) -> bool:
    """Does the dynamic programme apply, with at most so many states?"""
    if not all(isinstance(job_class.size, Exponential) for job_class in workload.classes):
        return False
    widths = np.concatenate([c.speedup.up_to(servers).widths for c in workload.classes])
    return count_states(widths, servers) <= states


def best(workload: Workload, servers: int, target: Target, states: int = AT_ONCE) -> Best | None:
    """Return the optimum under a target; None where it has more states or is not known closely."""
    if not fits(workload, servers, states):
        return None
    for tolerance in (CLOSE, CLOSER):
        try:
            found = _solved(workload, servers, target, tolerance)
        except (ChainError, InfeasibleError):
            # Loads and limits at the ends of what numbers can hold; or the limit is the least time
            # itself, to within the tolerance. A yardstick that fails must not lose what was tuned.
            continue
        return found if found.gap <= KNOWN else None
    return None


def _solved(workload: Workload, servers: int, target: Target, tolerance: float) -> Best:
    found: LeastBlocking | LeastTime | OptimalControl
    if target.max_time is not None:
        found = least_blocking_within(
            Scenario(workload, servers), target.max_time, tolerance=tolerance
        )
    elif target.max_blocking is not None:
        found = least_time(Scenario(workload, servers), target.max_blocking, tolerance=tolerance)
    else:
        assert target.blocked_job_price is not None  # noqa: S101 - one of the three is given
        found = optimal_control(
            Scenario(workload, servers), target.blocked_job_price, tolerance=tolerance
        )
    return Best(found.blocking, found.mean_execution_time, found.gap)


def least_possible_blocking(
    workload: Workload, servers: int, states: int = AT_ONCE
) -> float | None:
    """Return the least blocking that any policy reaches.

    None where there are more states, or where it is too rare to be known closely.
    """
    if not fits(workload, servers, states):
        return None
    found = least_blocking(Scenario(workload, servers), tolerance=CLOSE)
    return found.blocking if found.gap <= KNOWN else None


def least_possible_time(workload: Workload, servers: int, states: int) -> float | None:
    """Return the least mean time that any policy reaches; None where there are more states."""
    if not fits(workload, servers, states):
        return None
    return (
        Pricing(control_problem(Scenario(workload, servers)), CLOSE).fastest().mean_execution_time
    )
