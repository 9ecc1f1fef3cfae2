"""What is the best that the paper's scheme does under a target? greedy(p*) for another load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np

from moldable.allocation.reservation import pure_loads
from moldable.arrays import Floats
from moldable.errors import ControlError, InfeasibleError
from moldable.model.scenario import Scenario
from moldable.model.workload import Workload
from moldable.policies.greedy import GreedyP, greedy_p
from moldable.system.performance import Performance
from moldable.tuning.judge import Judge
from moldable.tuning.knob import Knob
from moldable.tuning.tail import turned_down
from moldable.tuning.targets import HOPELESS, SEARCHED, Target
from moldable.tuning.trials import Pair, Trials

LOADS: Final = 32
COARSE, FINE = 2, 4
"""Rounds whose number of jobs the two looks take."""
SMALL: Final = 0.02
"""Square roots of n by which a design load is shifted, in servers' worth of it, to see a slope."""
NOISE, FINALISTS = 0.01, 3
"""Share by which trials may err, and how many loads of single widths are judged."""
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


@final
class StaticFamily:
    """greedy(p*) for all loads on one system.

    Attributes:
        trials: the system.
        least, most: the loads that can be designed for.
    """

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.least, self.most = design_loads(trials)
        self._answers: dict[tuple[float, bool], Performance] = {}

    def best(self, judge: Judge) -> Static | None:
        """Return the best design load under the judge's target; None if none is found to keep it.

        The best of a wide look is looked at more closely, then judged; so are loads at which every
        class has one width: widths that fill the cluster leave no servers over, which a load
        nearby, where a few jobs have another, already spoils.
        """
        found = self._between(judge)
        least = math.inf if found is None else judge.target.merit_of(found.performance)
        pure = [Static(load, self._judged(judge, load)) for load in self._promising(judge, least)]
        kept = [one for one in pure if judge.keeps(one.performance)]
        entries = [one for one in (found, *kept) if one is not None]
        return min(entries, key=lambda one: judge.target.merit_of(one.performance), default=None)

    def _between(self, judge: Judge) -> Static | None:
        """Return the best load of those that smooth figures lead to."""
        trials, target = self.trials, judge.target
        aim = self._aim(target)
        wide = _best_of(*self._wide, aim)
        if wide is None:
            return None
        step = (self.most - self.least) / (LOADS - 1)
        near = self._measured(max(self.least, wide - step), min(self.most, wide + step), FINE)
        knob, slope = self._knob(_best_of(*near, aim) or wide), None
        if target.rare and not trials.exact and target.max_blocking is not None:
            stride = STRIDE * knob.small
            try:
                knob, slope = turned_down(trials, knob, stride, SEARCHED, target.max_blocking)
            except ControlError:
                # The narrowest jobs may keep what cannot be followed.
                knob = self._knob(self.most)
        knob, answer, sure = judge.settle([knob], slope)
        return Static(self._held(knob.value), answer) if sure else None

    def _promising(self, judge: Judge, least: float) -> list[float]:
        """Return the loads of single widths that may be better than what was found."""
        aim = self._aim(judge.target).eased(1.0 + NOISE)
        loads, figures = self._pure
        merits = [aim.merit(*pair) for pair in figures]
        order = sorted(range(len(merits)), key=merits.__getitem__)[:FINALISTS]
        return [loads[i] for i in order if merits[i] < min(least * (1.0 + NOISE), HOPELESS)]

    def _judged(self, judge: Judge, load: float) -> Performance:
        """Evaluate a load once for all targets whose blocking is counted alike."""
        key = load, judge.target.rare
        if key not in self._answers:
            self._answers[key] = judge.evaluate(self._policy(load))
        return self._answers[key]

    def _aim(self, target: Target) -> Target:
        return target if self.trials.exact else target.countable()

    @cached_property
    def _pure(self) -> tuple[list[float], list[Pair]]:
        """The loads at which every class has one width, and their figures."""
        loads = pure_loads(Scenario(self.trials.workload, self.trials.servers))
        loads = np.unique([self._held(load) for load in loads.tolist()]).tolist()
        return loads, self.trials.measure([self._policy(load) for load in loads], FINE)

    @cached_property
    def _wide(self) -> tuple[Floats, Floats]:
        """The first look, which serves all targets."""
        return self._measured(self.least, self.most, COARSE)

    def _measured(self, low: float, high: float, number: int) -> tuple[Floats, Floats]:
        """Return loads, and the blocking and mean time of each."""
        loads = np.linspace(low, high, LOADS)
        policies = [self._policy(load) for load in loads.tolist()]
        return loads, np.array(self.trials.measure(policies, number))

    def _knob(self, load: float) -> Knob[GreedyP]:
        return Knob(load, self._policy, SMALL * self.least / math.sqrt(self.trials.servers))

    def _policy(self, load: float) -> GreedyP:
        return greedy_p(Scenario(self.trials.workload, self.trials.servers), self._held(load))

    def _held(self, load: float) -> float:
        return min(max(load, self.least), self.most)


def _best_of(loads: Floats, figures: Floats, aim: Target) -> float | None:
    """Return the load that is best by an aim; None if none keeps its limit."""
    blocking, time = figures.T
    at = aim.along(loads, blocking, time)
    if at is None or aim.max_blocking is None:
        return None if at is None else at[0]
    # On few servers a load further on may be faster still.
    kept = np.where(blocking <= aim.max_blocking, time, np.inf)
    return float(loads[kept.argmin()]) if kept.min() < at[1] else at[0]


def optimal_shares(workload: Workload, servers: int) -> GreedyP | None:
    """Return greedy(p*), or None if no policy of the paper's carries the load."""
    try:
        return greedy_p(Scenario(workload, servers))
    except InfeasibleError:
        return None


def design_loads(trials: Trials) -> tuple[float, float]:
    """Return the least load worth designing for, and the most that can be carried."""
    workload, servers = trials.workload, trials.servers
    load = sum(job_class.offered for job_class in workload.classes) / servers
    needed = sum(
        job_class.offered * float(np.min(curve.widths / curve.speedups))
        for job_class in workload.classes
        for curve in [job_class.speedup.up_to(servers)]
    )
    most = load * servers / needed * (1.0 - 1e-9)
    return 0.5 * min(load, most), most
