"""Sums over batches of time, in bounded memory, and intervals from them.

Waits, blocked jobs and counts of arrivals are autocorrelated. Sums over long batches of time are
nearly independent, so their spread gives valid intervals. The batches start short; when there are
too many, neighbours are merged. Intervals come from the spread of 8 to 15 and of 16 to 31 batches,
whichever is wider: few batches are long enough to be independent, more of them tell their spread
better. Waits are correlated over longer times, so for them the spread of shorter batches is used as
well, corrected for the correlation of neighbours.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.simulation.estimates import errors_of, share_interval, student
from moldable.system.estimate import Estimate, Interval

MOST: Final = 128
"""Batches kept; beyond them, neighbours are merged."""
FEWEST: Final = 8
"""Least number of batches that give an interval."""
MOST_CORRELATION: Final = 0.9
"""Correlation of neighbouring batches that is believed at most."""


class Measured(NamedTuple):
    """An observed figure.

    Attributes:
        value: NaN if there is nothing to observe.
        interval: its 95 % confidence interval; None if it is not known.
        freedom: degrees of freedom of the interval.
        logarithmic: whether the interval is symmetric in the logarithm.
    """

    value: float
    interval: Interval | None
    freedom: float
    logarithmic: bool = False

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        return Estimate(self.value, self.interval)


UNKNOWN: Final = Measured(math.nan, None, 1.0)


@final
class Batches:
    """Sums of several series of numbers over batches of time of equal length.

    Args:
        series: number of series.
    """

    def __init__(self, series: int) -> None:
        self.sums: Floats = np.zeros((series, MOST))
        self.origin = self.last = math.nan
        self.length = 0.0

    def add(self, series: Ints, times: Floats, values: Floats) -> None:
        """Add values to series, each at its time; they need not be in order."""
        if not times.size:
            return
        low, high = float(times.min()), float(times.max())
        if math.isnan(self.origin):
            self.origin = self.last = low
        if self.length == 0.0:
            self.length = (high - self.origin) / (MOST - 1)
        self.last = max(self.last, high)
        while self.length > 0.0 and (self.last - self.origin) / self.length >= MOST:
            self.sums[:, : MOST // 2] = _merged(self.sums)
            self.sums[:, MOST // 2 :] = 0.0
            self.length *= 2.0
        place = np.zeros(times.size, dtype=np.int64)
        if self.length > 0.0:
            # Times before the first one are rare: jobs whose records are out of order.
            place = ((times - self.origin) / self.length).astype(np.int64).clip(0, MOST - 1)
        flat = np.bincount(series * MOST + place, values, self.sums.size)
        self.sums += flat.reshape(self.sums.shape)

    @property
    def span(self) -> float:
        """Time from the first record to the last."""
        return 0.0 if math.isnan(self.origin) else self.last - self.origin

    @property
    def _used(self) -> int:
        return math.floor(self.span / self.length) + 1 if self.length > 0.0 else 1

    def sums_of(self, *series: int) -> Floats:
        """Return the sums of the batches of some series together."""
        return np.asarray(self.sums[list(series), : self._used].sum(axis=0))

    def times(self) -> Floats:
        """Return the time in each batch; the last one may be shorter."""
        used = self._used
        times = np.full(used, self.length)
        times[-1] = self.span - (used - 1) * self.length
        return times


def ratio(above: Floats, below: Floats, *, correlated: bool = False) -> Measured:
    """Return a positive ratio of means, such as jobs per time or waiting time per job.

    Args:
        above: numerators.
        below: denominators.
        correlated: whether neighbouring batches may be correlated.
    """
    total, trials = float(above.sum()), float(below.sum())
    if total <= 0.0:
        return Measured(0.0 if trials else math.nan, None, 1.0)
    value = total / trials
    *fine, coarse = levels(above, below)
    used = fine if correlated else fine[-1:]
    found = [_relative_error(*sums, correlated=correlated) for sums in used]
    found.append(_relative_error(*coarse))
    error, freedom = max(found, key=lambda pair: pair[0] * student(pair[1]))
    # The error of a long-tailed mean grows with it: intervals are symmetric in the logarithm.
    reach = math.exp(student(freedom) * error)
    return Measured(value, (value / reach, value * reach), freedom, logarithmic=True)


def _relative_error(
    above: Floats, below: Floats, *, correlated: bool = False
) -> tuple[float, float]:
    """Return the relative standard error of a ratio, and its degrees of freedom.

    The correlation of batches, if asked for, is that of a first-order autoregression.
    """
    errors, freedom = errors_of(above, below), max(np.count_nonzero(below) - 1.0, 1.0)
    value, squares = float(above.sum() / below.sum()), float(errors @ errors)
    error = math.sqrt(squares / (errors.size * freedom)) / value
    if correlated and squares:
        # The estimate is too low by about one over the number of batches.
        found = float(errors[1:] @ errors[:-1]) / squares + 1.0 / errors.size
        correlation = min(max(found, 0.0), MOST_CORRELATION)
        error *= math.sqrt((1.0 + correlation) / (1.0 - correlation))
    return error, freedom


def share(events: Floats, trials: Floats, cluster: float) -> Measured:
    """Return a share of jobs; `cluster` of them may have a common cause."""
    total = float(trials.sum())
    if not total:
        return UNKNOWN
    coarsest = levels(events, trials)[-2:]
    found = [share_interval(*sums, cluster) for sums in coarsest]
    ends = [each for each in found if each is not None]
    interval = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
    freedom = max(float(np.count_nonzero(coarsest[0][1])) - 1.0, 1.0)
    return Measured(float(events.sum()) / total, interval, freedom)


def levels(above: Floats, below: Floats) -> list[tuple[Floats, Floats]]:
    """Return the batches, and merged neighbours again and again while they are enough."""
    found = [(above, below)]
    while found[-1][0].size >= 2 * FEWEST:
        found.append((_merged(found[-1][0]), _merged(found[-1][1])))
    return found


def _merged(sums: Floats) -> Floats:
    """Return sums over pairs of neighbours; a last one without a neighbour stays alone."""
    even = sums.shape[-1] + sums.shape[-1] % 2
    padded = np.zeros((*sums.shape[:-1], even))
    padded[..., : sums.shape[-1]] = sums
    return np.asarray(padded[..., ::2] + padded[..., 1::2])
