"""What is the best that the paper's scheme does under a target? greedy(p*) for another load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.control.judge import Judge, Knob
from moldable.control.trials import Trials
from moldable.hull import Floats
from moldable.performance import Performance
from moldable.policies.greedy import greedy_p
from moldable.policies.policy_table import Policy

LOADS: Final = 32
COARSE, FINE = 2, 4
"""Rounds whose number of jobs the two looks take."""
SMALL: Final = 0.02
"""Square roots of n by which a design load is shifted, in servers' worth of it, to see a slope."""


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
    least, *_, most = design_loads(trials, LOADS).tolist()

    def build(load: float) -> Policy:
        return greedy_p(workload, servers, min(max(load, least), most))

    def best(low: float, high: float, number: int) -> float | None:
        loads = np.linspace(low, high, LOADS)
        figures = np.array(trials.measure([build(load) for load in loads.tolist()], number))
        at = target.along(loads, figures[:, 0], figures[:, 1])
        return None if at is None else at[0]

    wide = best(least, most, COARSE)
    if wide is None:
        return None
    step = (most - least) / (LOADS - 1)
    load = best(max(least, wide - step), min(most, wide + step), FINE) or wide
    knob, answer, sure = judge.settle([Knob(load, build, SMALL * least / math.sqrt(servers))])
    return Static(min(max(knob.value, least), most), answer) if sure else None


def design_loads(trials: Trials, count: int) -> Floats:
    """Return loads to design for: from half the true one to the most that can be carried."""
    workload, servers = trials.workload, trials.servers
    load = sum(job_class.offered for job_class in workload.classes) / servers
    needed = sum(
        job_class.offered * float(np.min(job_class.speedup.widths / job_class.speedup.speedups))
        for job_class in workload.classes
    )
    return np.linspace(0.5 * load, load * servers / needed * (1.0 - 1e-9), count)
