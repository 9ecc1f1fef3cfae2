"""Comparison of printed numbers with ours.

A printed number may differ by its rounding and by chance: by its own standard error, which the
paper does not state and which is estimated from our runs by the same method, and by that of our
number. Four combined standard errors are allowed, or an equally unlikely multiple if the standard
error is estimated from few runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self, final

import numpy as np
from scipy.special import ndtr, stdtrit

from moldable.results import Estimate

MANY: Final = 10**6
"""Number of runs from which a standard error counts as known."""
ALLOWED: Final = 4.0
"""Number of allowed standard errors; chance exceeds it once in sixteen thousand."""
_NORMAL_95: Final = 1.959963984540054
_NOISE: Final = 1e-9
"""Smaller standard errors are rounding errors."""


class Verdict(StrEnum):
    """The result of a comparison."""

    AGREES = "agrees"
    BY_METHOD = "agrees by the paper's method only"
    DISAGREES = "disagrees"


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """A number, its standard error (0 if exact), and the runs from which it is estimated."""

    value: float
    standard_error: float = 0.0
    runs: int = MANY

    @classmethod
    def of_runs(cls, values: Sequence[float]) -> Self:
        """Return the mean of independent runs."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.inf
        return cls(float(np.mean(values)), spread / math.sqrt(len(values)), len(values))

    @classmethod
    def of_estimate(cls, estimate: Estimate) -> Self:
        """Compute the standard error from a 95 % interval."""
        return cls(estimate.value, estimate.half_width / _NORMAL_95)

    def __str__(self) -> str:
        """Return at least four decimals, and no more digits than the standard error supports."""
        return _with_error(self.value, self.standard_error, 4, 6)

    @property
    def percent(self) -> str:
        """The number in per cent, with its sign."""
        text = _with_error(100.0 * self.value, 100.0 * self.standard_error, 2, 4)
        return f"{'' if text.startswith('-') else '+'}{text} %"

    def rescaled(self, runs: int, other_runs: int) -> float:
        """Return the standard error for another number of runs."""
        return self.standard_error * math.sqrt(runs / other_runs)


def _with_error(value: float, error: float, least: int, exact: int) -> str:
    """Format a value with two digits of its error, or `exact` decimals if it is exact."""
    if error <= _NOISE:
        return f"{value:.{exact}f}"
    if not math.isfinite(error):
        return f"{value:.{least}f}"
    digits = max(least, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def stretched(runs: int) -> float:
    """Return the factor on the allowed deviation if errors are estimated from `runs` runs."""
    if runs < 2:  # noqa: PLR2004 - one run has no spread
        return math.inf
    if runs >= MANY:
        return 1.0
    return float(stdtrit(runs - 1, ndtr(ALLOWED))) / ALLOWED


def deviation(
    printed: float, printed_error: float, ours: Measured, rounding: float, runs: int = MANY
) -> float:
    """Return the deviation of a printed number beyond rounding, in combined standard errors.

    With errors estimated from few runs, it is converted to an equally unlikely deviation.
    """
    apart = max(abs(printed - ours.value) - rounding, 0.0)
    combined = math.hypot(printed_error, ours.standard_error) * stretched(min(runs, ours.runs))
    if apart == 0.0:
        return 0.0
    return apart / combined if combined > 0.0 else math.inf


def judge(
    printed: float, printed_error: float, by_method: Measured, right: Measured, rounding: float
) -> Verdict:
    """Compare a printed number with our unbiased value, then with ours by the paper's method.

    Args:
        printed: the number in the paper.
        printed_error: the standard error of the paper's own simulation.
        by_method: ours by the paper's method.
        right: our unbiased value.
        rounding: half a unit of the last printed digit.
    """
    if deviation(printed, printed_error, right, rounding, by_method.runs) <= ALLOWED:
        return Verdict.AGREES
    if deviation(printed, printed_error, by_method, rounding) <= ALLOWED:
        return Verdict.BY_METHOD
    return Verdict.DISAGREES
