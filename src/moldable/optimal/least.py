"""The least time or blocking of all policies under a limit on the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

from moldable.base_result import Result, Row
from moldable.optimal.control import OptimalControl


@final
@dataclass(frozen=True, repr=False, eq=False)
class LeastTime(Result):
    """The least mean execution time under a limit on blocking.

    Attributes:
        max_blocking: the limit.
        blocking: the blocking that is reached.
        mean_execution_time: of accepted jobs, in units of time.
        lower_bound: of the mean execution time of every policy and mixture within the limit.
        policies: the one or two policies to follow.
        shares: probability with which each is drawn, at the start of every long epoch.
        blocking_cost: in mean sizes, at which these policies are optimal.
        solutions: number of blocking costs that were tried.

    Examples:
        >>> least_time(Scenario.single([1, 1.8, 2.5], 0.8, 8), 0.2).gap < 1e-6
        True
    """

    max_blocking: float
    blocking: float
    mean_execution_time: float
    lower_bound: float
    policies: tuple[OptimalControl, ...]
    shares: tuple[float, ...]
    blocking_cost: float
    solutions: int

    @property
    def gap(self) -> float:
        """Largest possible distance from the least time, as a share of the time."""
        return max(0.0, 1.0 - self.lower_bound / self.mean_execution_time)

    def __repr__(self) -> str:
        return (
            f"LeastTime(max_blocking={self.max_blocking:g}, blocking={self.blocking:.6g}, "
            f"mean_execution_time={self.mean_execution_time:.6g}, gap={self.gap:.1e}, "
            f"shares={tuple(round(share, 4) for share in self.shares)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; an infinite blocking cost is null."""
        return {
            "max_blocking": self.max_blocking,
            "blocking": self.blocking,
            "mean_execution_time": self.mean_execution_time,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "blocking_cost": self.blocking_cost if math.isfinite(self.blocking_cost) else None,
            "shares": list(self.shares),
            "policies": [policy.to_dict() for policy in self.policies],
            "solutions": self.solutions,
            "inputs": {"scenario": self.policies[0].problem.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return a row for each policy that is followed."""
        return [
            {
                "share": share,
                "blocking_cost": policy.blocking_cost,
                "blocking": policy.blocking,
                "mean_execution_time": policy.mean_execution_time,
            }
            for policy, share in zip(self.policies, self.shares, strict=True)
        ]


@final
@dataclass(frozen=True)
class LeastBlocking:
    """The least blocking under a limit on the mean execution time.

    Attributes:
        blocking: the blocking that is reached, by one policy or a mixture of two.
        mean_execution_time: of accepted jobs.
        lower_bound: of the blocking of every policy and mixture within the limit.
        blocking_cost: in mean sizes, at which the policies are optimal.
    """

    blocking: float
    mean_execution_time: float
    lower_bound: float
    blocking_cost: float

    @property
    def gap(self) -> float:
        """Largest possible distance from the least blocking, as a share of the blocking."""
        return max(0.0, 1.0 - self.lower_bound / self.blocking) if self.blocking > 0.0 else 0.0
