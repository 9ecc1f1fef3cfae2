"""The optimum over all policies under a target, and why a limit cannot be reached."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, final

import numpy as np

from moldable.errors import ChainError, ControlError, InfeasibleError
from moldable.exact.states import count_states
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.model.units import duration
from moldable.optimal.constrained import (
    fastest_policy,
    least_blocking,
    least_blocking_within,
    least_time,
)
from moldable.optimal.control import OptimalControl, optimal_control
from moldable.optimal.least import LeastBlocking, LeastTime
from moldable.system.performance import Performance
from moldable.tuning.targets import Target

AT_ONCE: Final = 50_000
"""States up to which the dynamic programme takes a few seconds."""
CLOSE, CLOSER, KNOWN = 1e-4, 1e-6, 1e-2
"""The gap asked for at first, after a failure, and the largest one that is reported."""


@final
@dataclass(frozen=True)
class Best:
    """The optimum over all policies.

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
        return asdict(self)


def fits(scenario: Scenario, states: int) -> bool:
    """Return whether the dynamic programme applies, with at most this many states."""
    classes = scenario.workload.classes
    exponential = all(isinstance(job_class.size, Exponential) for job_class in classes)
    if not (exponential and isinstance(scenario.arrivals, Poisson)):
        return False
    widths = np.concatenate([c.speedup.up_to(scenario.servers).widths for c in classes])
    return count_states(widths, scenario.servers) <= states


def best(scenario: Scenario, target: Target, states: int = AT_ONCE) -> Best | None:
    """Return the optimum; None where it has more states or cannot be computed accurately."""
    if not fits(scenario, states):
        return None
    for tolerance in (CLOSE, CLOSER):
        try:
            found = _solved(scenario, target, tolerance)
        except (ChainError, InfeasibleError):
            # Loads or limits at the ends of the floating-point range, or a limit within the
            # tolerance of the least time. The tuned policy is useful without the optimum.
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


def refuse_less_than_fastest(scenario: Scenario, target: Target) -> None:
    """Refuse a limit on time below that of the fastest width: no policy reaches it."""
    fastest = min(
        job_class.mean_size / float(job_class.speedup.up_to(scenario.servers).speedups.max())
        for job_class in scenario.workload.classes
    )
    if not target.on_time or target.value >= fastest:
        return
    least = _least_possible(scenario, target, AT_ONCE)
    if least is not None:
        raise _impossible(scenario, target, least)
    shown = _shown(scenario, target)
    raise ControlError(
        f"{shown(f'{target.value:g}')} cannot be reached: even on the fastest width that fits jobs "
        f"take {shown(_rounded_up(fastest))} on average; allow more than that",
        target.name,
    )


def not_reached(
    scenario: Scenario, target: Target, closest: Performance, states: int
) -> ControlError:
    """Explain that a limit was not reached.

    Args:
        scenario: the scenario.
        target: the limit.
        closest: the performance that came closest to the limit.
        states: up to which the optimum over all policies is computed for the explanation.
    """
    least = _least_possible(scenario, target, states)
    if least is not None and target.value < least:
        return _impossible(scenario, target, least)
    shown = _shown(scenario, target)
    found = shown(_rounded_up(target.upper(closest)))
    if closest.method == "simulate":
        found += ", the upper end of a 95 % confidence interval"
    known = "" if least is None else f"; other policies go down to {shown(_rounded_up(least))}"
    return ControlError(
        f"{shown(f'{target.value:g}')} was not reached; allow more, or add servers; the least "
        f"found is {found}{known}",
        target.name,
    )


def _least_possible(scenario: Scenario, target: Target, states: int) -> float | None:
    """Return the least of the limited figure that any policy reaches; None where unknown."""
    if not fits(scenario, states):
        return None
    try:
        if target.on_time:
            return fastest_policy(scenario, CLOSE).mean_execution_time
        found = least_blocking(scenario, tolerance=CLOSE)
    except ChainError:
        return None  # figures at the ends of the floating-point range
    return found.blocking if found.gap <= KNOWN else None


def _impossible(scenario: Scenario, target: Target, least: float) -> ControlError:
    servers = "1 server" if scenario.servers == 1 else f"{scenario.servers} servers"
    what = "mean execution time" if target.on_time else "blocking"
    shown = _shown(scenario, target)
    fix = "that much" if target.on_time else "that much, or add servers"
    return ControlError(
        f"{shown(f'{target.value:g}')} cannot be reached: the least {what} of any policy on "
        f"{servers} is {shown(_rounded_up(least))}; allow {fix}",
        target.name,
    )


def _shown(scenario: Scenario, target: Target) -> Callable[[str], str]:
    """Return how the limited figure is written: times with their unit, blocking without."""
    return partial(duration, unit=scenario.time_unit if target.on_time else None)


def _rounded_up(figure: float) -> str:
    """Return four digits of a least value, rounded so that it is still reached."""
    if figure <= 0.0:
        return "0"
    digit = 10.0 ** (math.floor(math.log10(figure)) - 3)
    return f"{math.ceil(figure / digit) * digit:.4g}"
