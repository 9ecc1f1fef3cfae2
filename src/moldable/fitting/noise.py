"""The noise of measurements, and what it means for speed-ups.

Noise is taken to be relative: a run at width w takes its true time multiplied by 1 + e. The
standard deviation of e is estimated from repeats and pooled over all widths, unless Bartlett's test
rejects (p < 0.01) that it is the same everywhere; then every width that was repeated has its own.
The logarithm of a speed-up is a difference of two mean log times, so its interval is that of the
difference, with Student's t distribution (Welch's degrees of freedom if noise differs). The time at
the reference width is in all speed-ups, so their errors are correlated.

`resampled_times` draws from the same model: a variance from its scaled inverse chi-squared
distribution, then normal errors. Marginally these are the t distributions of the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import within
from moldable.errors import InputError
from moldable.fitting.measurements import Measurements

LEVEL: Final = 0.95
ASSUMED: Final = 0.03
"""Relative noise assumed if no width was measured twice; repeats usually differ by 1 to 4 %."""
ALIKE: Final = 0.01
"""Significance level of the test of equal noise."""
LARGEST_ERROR: Final = 2.0
"""Largest error of a log time that is drawn; t distributions with one degree have no variance."""
LEAST_NOISE: Final = 1e-9
"""Repeats may agree to the last digit, as on a coarse clock."""


@final
@dataclass(frozen=True, eq=False, slots=True)
class Noise:
    """The relative noise of single runs.

    Attributes:
        deviation: relative standard deviation of a run at each width.
        freedom: degrees of freedom behind it; infinite if it is assumed.
        common: whether all widths share one estimate.
        assumed: whether it was given or assumed, not estimated from repeats.

    Examples:
        >>> fit({1: [60.2, 59.8], 2: [35.0, 35.4]}).noise.common
        True
    """

    deviation: Floats
    freedom: Floats
    common: bool
    assumed: bool

    @property
    def typical(self) -> float:
        """The root mean square over the widths."""
        return float(np.sqrt(np.mean(self.deviation**2)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        freedom = None if self.assumed else float(self.freedom.max())
        return {
            "relative_standard_deviation": self.deviation.tolist(),
            "degrees_of_freedom": freedom,
            "common": self.common,
            "assumed": self.assumed,
        }


def estimated_noise(measured: Measurements, given: float | None = None) -> Noise:
    """Estimate the noise from repeats; `given` replaces it."""
    size = measured.widths.size
    if given is not None:
        known = within(given, "noise", InputError, 0.0, 1.0, "0.03 is 3 %")
        return _known(max(known, LEAST_NOISE), size)
    counts = measured.counts
    if not (counts > 1).any():
        return _known(ASSUMED, size)
    squares = np.array([np.sum((run / run.mean() - 1.0) ** 2) for run in measured.runs])
    freedom = float(np.sum(counts - 1))
    pooled = np.sqrt(np.sum(squares) / freedom)
    repeated = counts > 1
    if _alike(squares[repeated], counts[repeated]):
        deviation = np.full(size, max(pooled, LEAST_NOISE))
        return Noise(deviation, np.full(size, freedom), common=True, assumed=False)
    own = np.sqrt(squares / np.maximum(counts - 1, 1))
    deviation = np.maximum(np.where(repeated, own, pooled), LEAST_NOISE)
    return Noise(deviation, np.where(repeated, counts - 1.0, freedom), common=False, assumed=False)


def _known(deviation: float, size: int) -> Noise:
    return Noise(np.full(size, deviation), np.full(size, np.inf), common=True, assumed=True)


def _alike(squares: Floats, counts: Floats | Any) -> bool:
    """Return whether Bartlett's test accepts that all widths have the same noise."""
    from scipy.special import gammaincc

    if squares.size < 2 or (squares == 0.0).all():  # noqa: PLR2004 - nothing to compare
        return True
    freedom = counts - 1.0
    total, groups = freedom.sum(), squares.size
    variances = np.maximum(squares / freedom, LEAST_NOISE**2)
    pooled = np.sum(freedom * variances) / total
    statistic = total * np.log(pooled) - np.sum(freedom * np.log(variances))
    correction = 1.0 + (np.sum(1.0 / freedom) - 1.0 / total) / (3.0 * (groups - 1))
    p_value = gammaincc((groups - 1) / 2.0, max(statistic / correction, 0.0) / 2.0)
    return bool(p_value >= ALIKE)


def log_errors(
    measured: Measurements, noise: Noise, reference: int | None = 0
) -> tuple[Floats, Floats]:
    """Return standard error and degrees of freedom of every log speed-up over the reference.

    Without a reference these are the errors of the log times alone.
    """
    variance = noise.deviation**2 / measured.counts
    if reference is None:
        return np.sqrt(variance), noise.freedom
    both = variance + variance[reference]
    if noise.common:
        freedom = noise.freedom
    else:
        terms = variance**2 / noise.freedom
        freedom = both**2 / (terms + terms[reference])
    error = np.sqrt(both)
    error[reference] = 0.0
    return error, freedom


def speedup_intervals(measured: Measurements, noise: Noise) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % intervals of all speed-ups.

    The reference is the narrowest width, whose own speed-up is exact.
    """
    speedups = measured.speedup.speedups
    error, freedom = log_errors(measured, noise, None if measured.relative_to_one else 0)
    reach = np.exp(t_quantile(0.5 + LEVEL / 2.0, freedom) * error)
    return speedups / reach, speedups * reach


def t_quantile(level: Floats | float, freedom: Floats) -> Floats:
    """Return quantiles of Student's t distribution, of the normal one for infinite degrees."""
    from scipy.special import ndtri, stdtrit

    finite = np.where(np.isfinite(freedom), freedom, 1.0)
    found = np.where(np.isfinite(freedom), stdtrit(finite, level), ndtri(level))
    return np.asarray(found, dtype=np.float64)


def resampled_times(
    measured: Measurements, noise: Noise, count: int, rng: np.random.Generator
) -> Floats:
    """Draw mean times, one row for each resample."""
    size = measured.widths.size
    scale = np.ones((count, 1 if noise.common else size))
    if not noise.assumed:
        freedom = noise.freedom[: scale.shape[1]]
        scale = np.sqrt(freedom / rng.chisquare(freedom, scale.shape))
    errors = scale * noise.deviation / np.sqrt(measured.counts) * rng.standard_normal((count, size))
    return measured.mean_times * np.exp(np.clip(errors, -LARGEST_ERROR, LARGEST_ERROR))
