"""Why a limit cannot be kept, with the least that is possible where it is known."""

from __future__ import annotations

import math

from moldable.errors import ControlError
from moldable.model.scenario import Scenario
from moldable.tuning.reference import least_possible
from moldable.tuning.targets import Target


def refuse_less_than_fastest(scenario: Scenario, target: Target) -> None:
    """Refuse a mean time below that of the fastest jobs: no policy has it."""
    fastest = min(
        job_class.mean_size / float(job_class.speedup.up_to(scenario.servers).speedups.max())
        for job_class in scenario.workload.classes
    )
    if not target.on_time or target.value >= fastest:
        return
    least = least_possible(scenario, target)
    if least is not None:
        raise ControlError(_impossible(scenario, target, least), target.name)
    raise ControlError(
        f"{target.value:g} cannot be reached: even on the fastest width that fits jobs take "
        f"{rounded_up(fastest)} on average; allow more than that",
        target.name,
    )


def unreached(scenario: Scenario, target: Target, nearest: float, states: int) -> ControlError:
    """Say that a limit was not reached, how near it came, and what any policy could reach.

    Args:
        scenario: where.
        target: the limit.
        nearest: the least of the limited figure that was found.
        states: up to which the optimum over all policies is computed for the answer.
    """
    least = least_possible(scenario, target, states)
    if least is not None and target.value < least:
        return ControlError(_impossible(scenario, target, least), target.name)
    known = "" if least is None else f"; other policies go down to {rounded_up(least)}"
    return ControlError(
        f"{target.value:g} was not reached; allow more, or add servers; the least found is "
        f"{rounded_up(nearest)}{known}",
        target.name,
    )


def _impossible(scenario: Scenario, target: Target, least: float) -> str:
    some = "1 server" if scenario.servers == 1 else f"{scenario.servers} servers"
    what = "mean execution time" if target.on_time else "blocking"
    mend = "that much" if target.on_time else "that much, or add servers"
    return (
        f"{target.value:g} cannot be reached: the least {what} of any policy on {some} is "
        f"{rounded_up(least)}; allow {mend}"
    )


def rounded_up(figure: float) -> str:
    """Return four digits of a least value that is still reached."""
    if figure <= 0.0:
        return "0"
    digit = 10.0 ** (math.floor(math.log10(figure)) - 3)
    return f"{math.ceil(figure / digit) * digit:.4g}"
