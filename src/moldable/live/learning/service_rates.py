"""Completion rates of a class at each width, and the curve that fits them.

With exponential sizes the completion rate of a width has a gamma posterior: the prior counts as a
number of jobs that ran as long as the prior curve says, and running jobs count with their time so
far. The rates of all widths together must be increasing and concave in the width; the closest such
curve is a non-negative least-squares fit, each width weighted by its precision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import positive
from moldable.errors import InputError
from moldable.fitting.models import non_negative
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass


@final
class ServiceRates:
    """Completion rates of one class by width.

    Args:
        job_class: the class with the curve and the mean size that are assumed at first.
        strength: number of completed jobs at each width that they count as.

    Attributes:
        completed: jobs that completed, by width of the curve.

    Examples:
        >>> rates = ServiceRates(JobClass("jobs", 1.0, [1, 2.0]), strength=2)
        >>> for _ in range(999):
        ...     completed = rates.ended(2, 0.8, completed=True)
        >>> rates.mean().round(2).tolist()
        [1.0, 1.25]
    """

    def __init__(self, job_class: JobClass, strength: float) -> None:
        curve = job_class.speedup
        self.job_class = job_class
        self.strength = positive(strength, "strength", InputError)
        self.widths: Floats = curve.widths.astype(np.float64)
        self._place = {width: k for k, width in enumerate(curve.widths.tolist())}
        self._basis = np.minimum.outer(self.widths, self.widths)
        self._prior = self.strength * job_class.mean_size / curve.speedups
        self.completed: Floats = np.zeros(self.widths.size)
        self._ended: Floats = np.zeros(self.widths.size)
        self._running: Floats = np.zeros(self.widths.size)
        self._starts: Floats = np.zeros(self.widths.size)

    def started(self, width: int, time: float) -> None:
        """Add a job that runs from now on."""
        k = self._place.get(width)
        if k is not None:
            self._running[k] += 1.0
            self._starts[k] += time

    def stopped(self, width: int, began: float) -> None:
        """Remove a job that `started` added."""
        k = self._place.get(width)
        if k is not None:
            self._running[k] -= 1.0
            self._starts[k] -= began

    def ended(self, width: int, time: float, *, completed: bool) -> int:
        """Add the time of a job that ran; return how many have completed at its width."""
        k = self._place.get(width)
        if k is None:
            return 0
        self._ended[k] += time
        self.completed[k] += completed
        return int(self.completed[k])

    def posterior(self, now: float = 0.0) -> tuple[Floats, Floats]:
        """Return shapes and exposures of the gamma posteriors; their ratios are the rates."""
        exposure = self._ended + np.maximum(self._running * now - self._starts, 0.0)
        return self.completed + self.strength, exposure + self._prior

    def mean(self, now: float = 0.0) -> Floats:
        """Return the increasing concave rates closest to the posterior means."""
        shape, exposure = self.posterior(now)
        return self._concave(shape / exposure, shape)

    def sample(self, rng: np.random.Generator, now: float = 0.0) -> Floats:
        """Draw rates from the posterior and return the closest increasing concave ones."""
        shape, exposure = self.posterior(now)
        return self._concave(rng.gamma(shape) / exposure, shape)

    def _concave(self, rates: Floats, weights: Floats) -> Floats:
        return np.asarray(self._basis @ non_negative(self._basis, rates, weights))

    def as_class(self, rates: Floats, arrival_rate: float) -> JobClass:
        """Return the class with these completion rates."""
        own = self.job_class
        mean_size = 1.0 / float(rates[0]) if 1 in self._place else own.mean_size
        curve = dict(zip(self._place, (rates * mean_size).tolist(), strict=True))
        if 1 in curve:
            curve[1] = 1.0  # exact, but for rounding
        speedup = SpeedUp(curve)
        return replace(own, arrival_rate=arrival_rate, speedup=speedup, mean_size=mean_size)
