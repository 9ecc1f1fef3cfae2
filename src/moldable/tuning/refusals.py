"""Why can a target not be reached, and what could be?

Where the dynamic programme fits it says what no policy at all can better; elsewhere the nearest
that the family of price policies came is all that is known.
"""

from __future__ import annotations

import math
from typing import Final

from moldable.errors import ChainError, ControlError
from moldable.exact.states import MOST_STATES
from moldable.model.workload import Workload
from moldable.system.performance import Performance
from moldable.tuning.steps import Say
from moldable.tuning.targets import Target
from moldable.tuning.trials import Trials
from moldable.tuning.yardstick import AT_ONCE, CLOSE, least_possible_blocking, least_possible_time

JOBS: Final = 1_000_000
"""Arrivals in a replication by which prices are judged."""
MOST_LEFT: Final = 1000.0
"""Mean residual size up to which simulations are tried, in lengths of a replication."""


def refuse_impossible(workload: Workload, servers: int, target: Target) -> None:
    """Refuse a limit that no policy at all keeps, if that is seen at once."""
    if target.max_time is not None:
        _refuse_less_than_fastest(workload, servers, target, target.max_time)
    if target.max_blocking is None:
        return
    least = _least(workload, servers, target, AT_ONCE)
    # The least is known to within so much; what lies that close is better tried.
    if least is not None and target.max_blocking < least * (1.0 - CLOSE):
        raise ControlError(_hopeless(servers, target, least), "max_blocking")


def refuse_endless_sizes(trials: Trials) -> None:
    """Refuse sizes that vary so much that no simulation comes near equilibrium."""
    lasts = JOBS / trials.workload.arrival_rate
    for job_class in trials.workload.classes:
        left = 0.5 * (1.0 + job_class.size.variance) * job_class.mean_size
        # Without a variance, running jobs have no mean left, but most end within a replication.
        if math.isfinite(left) and left > MOST_LEFT * lasts and not trials.exact:
            raise ControlError(
                f"class {job_class.name!r}: running jobs of size law {job_class.size} have "
                f"{left:.2g} left on average, but a simulation lasts {lasts:.2g}, so it would not "
                f"come near equilibrium; take a law with a smaller coefficient of variation"
            )


def _refuse_less_than_fastest(
    workload: Workload, servers: int, target: Target, max_time: float
) -> None:
    """No mean is below the time of the fastest jobs, whatever the policy."""
    fastest = min(
        job_class.mean_size / float(job_class.speedup.up_to(servers).speedups.max())
        for job_class in workload.classes
    )
    if max_time >= fastest:
        return
    least = _least(workload, servers, target, AT_ONCE)
    if least is not None:
        raise ControlError(_hopeless(servers, target, least), "max_time")
    raise ControlError(
        f"{max_time:g} cannot be reached: even on the fastest width that fits jobs take "
        f"{rounded_up(fastest)} on average; allow more than that",
        "max_time",
    )


def unreached(workload: Workload, servers: int, target: Target, why: str, say: Say) -> ControlError:
    """Say why a limit was not reached, and what any policy could reach, however long that takes."""
    say("computing what any policy could reach, which may take minutes")
    least = _least(workload, servers, target, MOST_STATES)
    asked = "max_blocking" if target.max_time is None else "max_time"
    if least is None or target.limit is None:
        return ControlError(why, asked)
    if target.limit < least:
        return ControlError(_hopeless(servers, target, least), asked)
    return ControlError(f"{why}; policies outside it go down to {rounded_up(least)}", asked)


def _least(workload: Workload, servers: int, target: Target, states: int) -> float | None:
    """Return the least of what is limited; None where it has more states or cannot be told."""
    possible = least_possible_blocking if target.max_time is None else least_possible_time
    try:
        return possible(workload, servers, states)
    except ChainError:
        return None  # figures at the ends of what numbers can hold


def nearest_found(target: Target, answer: Performance) -> str:
    """Say how near the family came."""
    nearest = f"blocking {answer.blocking}, mean execution time {answer.mean_execution_time}"
    return (
        f"{target.limit} was not reached in this family; allow more, or add servers; "
        f"the nearest found: {nearest}"
    )


def _hopeless(servers: int, target: Target, least: float) -> str:
    some = "1 server" if servers == 1 else f"{servers} servers"
    told = f"of any policy on {some} is {rounded_up(least)}; allow"
    if target.max_time is not None:
        return (
            f"{target.max_time:g} cannot be reached: the least mean execution time {told} that much"
        )
    return (
        f"{target.max_blocking:g} cannot be reached: the least blocking {told} that "
        f"much, or add servers"
    )


def rounded_up(figure: float) -> str:
    """Return four digits of a least value that is still reached."""
    if figure <= 0.0:
        return "0"
    digit = 10.0 ** (math.floor(math.log10(figure)) - 3)
    return f"{math.ceil(figure / digit) * digit:.4g}"
