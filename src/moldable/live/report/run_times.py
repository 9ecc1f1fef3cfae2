"""Mean execution times from completions over exposure: running jobs count with their time so far.

Time from start to completion divided by completions is the maximum likelihood estimate of an
exponential mean when some jobs have not ended. With other sizes it is biased by at most half the
share of running jobs among all.
"""

from __future__ import annotations

import math
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.live.report.batches import Measured
from moldable.simulation.estimates import student

FEWEST: Final = 5
"""Completions from which an interval is given."""


@final
class RunTimes:
    """Sums of execution times by kind of job.

    Args:
        kinds: number of kinds.
    """

    def __init__(self, kinds: int) -> None:
        self.completed: Floats = np.zeros(kinds)
        self.exposure: Floats = np.zeros(kinds)
        self._times: Floats = np.zeros(kinds)
        self._squares: Floats = np.zeros(kinds)

    def add(self, kinds: Ints, times: Floats, completed: Floats) -> None:
        """Add jobs that have ended; those that did not complete count by their time only."""
        size = self.completed.size
        self.completed += np.bincount(kinds, completed, size)
        self.exposure += np.bincount(kinds, times, size)
        self._times += np.bincount(kinds, times * completed, size)
        self._squares += np.bincount(kinds, times * times * completed, size)

    def run_on(self, kind: int, time: float) -> None:
        """Add the time so far of a job that runs."""
        self.exposure[kind] += time

    def mean(self, kind: int) -> Measured:
        """Return the mean execution time of a kind."""
        jobs = float(self.completed[kind])
        if not jobs:
            return Measured(math.nan, None, 1.0)
        value = float(self.exposure[kind]) / jobs
        if jobs < FEWEST or not value:
            return Measured(value, None, 1.0)
        mean = float(self._times[kind]) / jobs
        variance = max(float(self._squares[kind]) / jobs - mean * mean, 0.0) * jobs / (jobs - 1.0)
        reach = math.exp(student(jobs - 1.0) * math.sqrt(variance / jobs) / mean)
        return Measured(value, (value / reach, value * reach), jobs - 1.0, logarithmic=True)
