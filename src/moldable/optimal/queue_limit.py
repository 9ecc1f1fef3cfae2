"""The least mean response time under a limit on blocking, where waiting places are limited."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from moldable.checks import fraction
from moldable.errors import ChainError, InfeasibleError
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.optimal.control import TOLERANCE
from moldable.optimal.lagrangian import LagrangianSearch, mixture, shares_at
from moldable.optimal.queueing import OptimalQueueing, optimal_queueing

SAFE: Final = 1e4
"""Blocking cost in mean sizes at which blocking is taken to be the least possible."""


@final
@dataclass(frozen=True)
class LeastResponse:
    """The least mean response time under a limit on blocking.

    It is that of one policy, or of a mixture of two that are drawn for long epochs.

    Attributes:
        blocking: the blocking that is reached.
        mean_response_time: of accepted jobs.
        mean_wait: over all accepted jobs.
        wait_probability: share of accepted jobs that wait.
        lower_bound: of the mean response time of every policy and mixture within the limit.
        blocking_cost: in mean sizes, at which these policies are optimal.

    Examples:
        >>> two_places = Scenario.single([1, 1.8, 2.5], 0.8, 8, waiting=2)
        >>> least_response(two_places, max_blocking=0.1).gap < 1e-5
        True
    """

    blocking: float
    mean_response_time: float
    mean_wait: float
    wait_probability: float
    lower_bound: float
    blocking_cost: float

    @property
    def gap(self) -> float:
        """Largest possible distance from the least response time, as a share of it."""
        return max(0.0, 1.0 - self.lower_bound / self.mean_response_time)


def least_response(
    scenario: ScenarioOrFile, max_blocking: float, *, tolerance: float = TOLERANCE
) -> LeastResponse:
    """Return the least mean response time of all policies with at most this blocking.

    Args:
        scenario: see `optimal_queueing`; waiting places must be limited.
        max_blocking: largest share of jobs that may be blocked, between 0 and 1.
        tolerance: relative distance from the least time at which to stop; see `gap`.

    Examples:
        >>> two_places = Scenario.single([1, 1.8, 2.5], 0.8, 8, waiting=2)
        >>> round(least_response(two_places, max_blocking=0.1).mean_response_time, 4)
        0.7803
    """
    allowed = fraction(max_blocking, "max_blocking", ChainError)
    scenario = checked_scenario(scenario)
    classes = scenario.workload.classes
    size = sum(c.offered for c in classes) / scenario.workload.arrival_rate
    if math.isinf(scenario.waiting):
        raise ChainError("no job is blocked with unlimited waiting places; limit them", "waiting")

    def solved(cost: float, _: OptimalQueueing | None) -> OptimalQueueing:
        return optimal_queueing(scenario, cost, tolerance=tolerance)

    def mixed(safe: OptimalQueueing, fast: OptimalQueueing) -> LeastResponse:
        parts = shares_at(allowed, safe, fast)
        blocking, response = mixture(*parts)

        def mean(figure: str) -> float:
            accepted = (share * (1.0 - one.blocking) * getattr(one, figure) for one, share in parts)
            return math.fsum(accepted) / (1.0 - blocking)

        cost = parts[0][0].blocking_cost if len(parts) == 1 else search.slope(safe, fast)
        times = response, mean("mean_wait"), mean("wait_probability")
        return LeastResponse(blocking, *times, search.least_time(allowed), cost or 0.0)

    search = LagrangianSearch(solved, size, tolerance)
    quickest = min(c.mean_size / float(c.speedup.speedups.max()) for c in classes)
    fast, safe = search.fastest(quickest), search.solve(SAFE)
    if fast.blocking <= allowed:
        return mixed(safe, fast)
    if safe.blocking > allowed:
        raise InfeasibleError(
            f"blocking at most {allowed:g} was not reached on {scenario.servers} servers: at a "
            f"blocking cost of {SAFE:g} mean sizes it is {safe.blocking:.6g}; allow that much, add "
            f"servers or waiting places, or lower the load"
        )
    return search.close_in(safe, fast, lambda found: found.blocking <= allowed, mixed)
