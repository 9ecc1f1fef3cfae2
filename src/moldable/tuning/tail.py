"""Where does a policy block so rarely that trials do not see it?

Its knob is turned in strides, and each time the blocking is found by following descents to a full
cluster, which tells any probability. Sizes without phases leave no counts to follow: there a
parabola through the logarithm of what can be counted is carried on. Either is a place to look; the
policy found there is judged as all others are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np

from moldable.errors import ControlError
from moldable.model.scenario import Scenario
from moldable.policies.policy_table import Policy
from moldable.simulation.descents import rare_blocking
from moldable.simulation.plan import DESCENT, child_seed
from moldable.tuning.knob import Knob
from moldable.tuning.trials import Trials

P = TypeVar("P", bound=Policy)

STRIDES: Final = 40
FALL: Final = 1.0
"""Fall of blocking's logarithm below which strides are too short."""
RISEN: Final = 0.7
"""By how much blocking's logarithm may lie above the least seen before it has turned."""
FULL_TURN: Final = 500
"""Strides within which some decision changes, or none will."""
POINTS, ROUND, FEWEST = 16, 6, 6
"""Settings of the knob that are counted, their round, and how many must show some blocking."""
FROM: Final = 1e-2
NOTHING: Final = 1e-300


def turned_down(
    trials: Trials, knob: Knob[P], stride: float, counted: float, limit: float
) -> tuple[Knob[P], float]:
    """Turn a knob until blocking falls to a limit too rare to count.

    Args:
        trials: the system.
        knob: turned so far that blocking is ``counted`` or less.
        stride: by which it is turned, in the direction in which blocking falls.
        counted: the least blocking that was counted.
        limit: the blocking to reach.

    Returns:
        the knob, and the slope of blocking's logarithm there.
    """

    def log_blocking(value: float) -> float | None:
        found = rare_blocking(
            Scenario(trials.workload, trials.servers),
            knob.build(value),
            seed=child_seed(trials.seed, DESCENT),
            threads=trials.threads,
        )
        return None if found is None else math.log(max(found, NOTHING))

    here = log_blocking(knob.value)
    if here is None:
        return _carried_on(trials, knob, stride, counted, limit)

    def change(value: float, strides: float) -> float | None:
        return _next_change(trials, knob, value, strides * stride)

    return strode(log_blocking, change, knob, here, limit)


def strode(
    log_blocking: Callable[[float], float | None],
    change: Callable[[float, float], float | None],
    knob: Knob[P],
    here: float,
    limit: float,
) -> tuple[Knob[P], float]:
    """Stride on until the limit is passed, and read between the last two strides.

    Args:
        log_blocking: what a value of the knob gives.
        change: the next value that changes a decision, so many strides on; None if none does.
        knob: where to begin.
        here: what it gives there.
        limit: the blocking to reach.
    """
    goal, least, value, slope, strides = math.log(limit), here, knob.value, 0.0, 1.0
    for _ in range(STRIDES):
        if here <= goal:
            back = (goal - here) / slope if slope else 0.0
            return knob.turned(value - knob.value + back), slope
        after = change(value, strides)
        there = None if after is None else log_blocking(after)
        if after is None or there is None or there > least + RISEN:
            break
        slope = (there - here) / (after - value)
        strides *= 2.0 if here - there < FALL else 1.0
        value, here, least = after, there, min(least, there)
    raise ControlError(_turned(limit, math.exp(least)), "max_blocking")


def _next_change(trials: Trials, knob: Knob[P], value: float, stride: float) -> float | None:
    table = trials.table(knob.build(value))
    for k in range(1, FULL_TURN):
        if trials.table(knob.build(value + k * stride)) != table:
            return value + k * stride
    return None


def _carried_on(
    trials: Trials, knob: Knob[P], stride: float, counted: float, limit: float
) -> tuple[Knob[P], float]:
    """Fit a parabola to what can be counted, and carry it on."""
    pair = [knob.turned(-stride).policy, knob.policy]
    (before, _), (here, _) = trials.measure(pair, ROUND - 1)
    if not before > here > 0.0:
        raise ControlError(_turned(limit, min(before, here)), "max_blocking")
    reach = stride / math.log(before / here)
    low = -reach * max(math.log(FROM / counted), 1.0)
    turns = np.linspace(low, reach * math.log(10.0), POINTS)
    policies = [knob.turned(turn).policy for turn in turns.tolist()]
    blocking = np.array([b for b, _ in trials.measure(policies, ROUND)])
    seen = (blocking > 0.0) & (blocking < 2.0 * FROM)
    if np.count_nonzero(seen) < FEWEST:
        raise ControlError(_turned(limit, float(blocking.min())), "max_blocking")
    # Counts vary by their square roots, so logarithms by one over these.
    weights = np.sqrt(blocking[seen])
    bend, lean, level = np.polyfit(turns[seen], np.log(blocking[seen]), 2, w=weights).tolist()
    root = lean * lean - 4.0 * bend * (level - math.log(limit))
    if root <= 0.0 or lean * stride >= 0.0:
        raise ControlError(_turned(limit, float(blocking.min())), "max_blocking")
    slope = math.copysign(math.sqrt(root), lean)
    return knob.turned(2.0 * (math.log(limit) - level) / (lean + slope)), slope


def _turned(limit: float, least: float) -> str:
    return (
        f"{limit:g} is not reached in this family as far as its tail can be followed: "
        f"narrower jobs stop helping before; the least blocking found is {least:.2g}: allow that "
        f"much, or add servers"
    )
