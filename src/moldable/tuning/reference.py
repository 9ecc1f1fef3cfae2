"""The optimum over all policies under a target, where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.errors import ChainError, InfeasibleError
from moldable.exact.states import count_states
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.optimal.constrained import (
    LagrangianSearch,
    LeastBlocking,
    LeastTime,
    least_blocking,
    least_blocking_within,
    least_time,
)
from moldable.optimal.optimal_control import OptimalControl, optimal_control
from moldable.optimal.problem import control_problem
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


def fits(scenario: Scenario, states: int) -> bool:
    """Does the dynamic programme apply, with at most so many states?"""
    classes = scenario.workload.classes
    exponential = all(isinstance(job_class.size, Exponential) for job_class in classes)
    if not (exponential and isinstance(scenario.arrivals, Poisson)):
        return False
    widths = np.concatenate([c.speedup.up_to(scenario.servers).widths for c in classes])
    return count_states(widths, scenario.servers) <= states


def best(scenario: Scenario, target: Target, states: int = AT_ONCE) -> Best | None:
    """Return the optimum under a target; None where it has more states or is not known closely."""
    if not fits(scenario, states):
        return None
    for tolerance in (CLOSE, CLOSER):
        try:
            found = _solved(scenario, target, tolerance)
        except (ChainError, InfeasibleError):
            # Loads and limits at the ends of what numbers can hold; or the limit is the least time
            # itself, to within the tolerance. The tuned policy is worth having without it.
            continue
        return found if found.gap <= KNOWN else None
    return None


def _solved(scenario: Scenario, target: Target, tolerance: float) -> Best:
    found: LeastBlocking | LeastTime | OptimalControl
    value = target.value
    if target.name == "max_time":
        found = least_blocking_within(scenario, value, tolerance=tolerance)
    elif target.name == "max_blocking":
        found = least_time(scenario, value, tolerance=tolerance)
    else:
        found = optimal_control(scenario, value, tolerance=tolerance)
    return Best(found.blocking, found.mean_execution_time, found.gap)


def least_possible(scenario: Scenario, target: Target, states: int = AT_ONCE) -> float | None:
    """Return the least of what is limited that any policy reaches; None where it is not known."""
    if not fits(scenario, states):
        return None
    try:
        if target.on_time:
            search = LagrangianSearch(control_problem(scenario), CLOSE)
            return search.fastest().mean_execution_time
        found = least_blocking(scenario, tolerance=CLOSE)
    except ChainError:
        return None  # figures at the ends of what numbers can hold
    return found.blocking if found.gap <= KNOWN else None
