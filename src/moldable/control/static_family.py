"""What is the best that the paper's scheme does under a target? greedy(p*) for another load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.control.judge import Judge
from moldable.control.knob import Knob
from moldable.control.tail import turned_down
from moldable.control.targets import SEARCHED
from moldable.control.trials import Trials
from moldable.errors import ControlError, InfeasibleError
from moldable.hull import Floats
from moldable.performance import Performance
from moldable.policies.greedy import GreedyP, greedy_p
from moldable.policies.policy_table import Policy
from moldable.workload import Workload

LOADS: Final = 32
COARSE, FINE = 2, 4
"""Rounds whose number of jobs the two looks take."""
SMALL: Final = 0.02
"""Square roots of n by which a design load is shifted, in servers' worth of it, to see a slope."""
STRIDE: Final = 5.0
"""Such shifts that show how a tail goes on."""


@final
@dataclass(frozen=True)
class Static:
    """The best design load.

    Attributes:
        design_load: for which the shares were computed.
        performance: of greedy(p) with them, at the true load.
    """

    design_load: float
    performance: Performance


def best_static(trials: Trials, judge: Judge) -> Static | None:
    """Return the best design load under the judge's target; None if none was found to keep it."""
    workload, servers, target = trials.workload, trials.servers, judge.target
    aim = target if trials.exact else target.countable()
    least, *_, most = design_loads(trials, LOADS).tolist()

    def build(load: float) -> Policy:
        return greedy_p(workload, servers, min(max(load, least), most))

    def best(low: float, high: float, number: int) -> float | None:
        loads = np.linspace(low, high, LOADS)
        figures = np.array(trials.measure([build(load) for load in loads.tolist()], number))
        blocking, time = figures.T
        at = aim.along(loads, blocking, time)
        if at is None or aim.max_blocking is None:
            return None if at is None else at[0]
        # On few servers a load further on may be faster still.
        kept = np.where(blocking <= aim.max_blocking, time, np.inf)
        return float(loads[kept.argmin()]) if kept.min() < at[1] else at[0]

    small = SMALL * least / math.sqrt(servers)
    wide = best(least, most, COARSE)
    if wide is None:
        return None
    step = (most - least) / (LOADS - 1)
    load = best(max(least, wide - step), min(most, wide + step), FINE) or wide
    knob, slope = Knob(load, build, small), None
    if target.rare and not trials.exact and target.max_blocking is not None:
        try:
            knob, slope = turned_down(trials, knob, STRIDE * small, SEARCHED, target.max_blocking)
        except ControlError:
            # The narrowest jobs may keep what cannot be followed.
            knob = Knob(most, build, small)
    knob, answer, sure = judge.settle([knob], slope)
    return Static(min(max(knob.value, least), most), answer) if sure else None


def optimal_shares(workload: Workload, servers: int) -> GreedyP | None:
    """Return greedy(p*), or None if no policy of the paper's carries the load."""
    try:
        return greedy_p(workload, servers)
    except InfeasibleError:
        return None


def design_loads(trials: Trials, count: int) -> Floats:
    """Return loads to design for, up to the most that can be carried."""
    workload, servers = trials.workload, trials.servers
    load = sum(job_class.offered for job_class in workload.classes) / servers
    needed = sum(
        job_class.offered * float(np.min(curve.widths / curve.speedups))
        for job_class in workload.classes
        for curve in [job_class.speedup.up_to(servers)]
    )
    most = load * servers / needed * (1.0 - 1e-9)
    return np.linspace(0.5 * min(load, most), most, count)
