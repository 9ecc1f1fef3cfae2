"""Does a printed number agree with ours?

A printed number may differ by its rounding and by chance: by its own, which the paper does not
state and which is estimated by ours under the paper's method, and by that of the number it is
compared to. Both chances together are allowed four standard errors, or what is as rare when the
standard error itself is known from a few runs only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self, final

import numpy as np
from scipy.special import ndtr, stdtrit

from moldable import Estimate

MANY: Final = 10**6
"""From so many runs on, a standard error counts as known."""
ALLOWED: Final = 4.0
"""How many standard errors chance is allowed: one in sixteen thousand goes further."""
_NORMAL_95: Final = 1.959963984540054
_NOISE: Final = 1e-9
"""Standard errors below this are rounding, not chance."""


class Verdict(StrEnum):
    """What a comparison comes to."""

    AGREES = "agrees"
    BY_METHOD = "agrees by the paper's method only"
    DISAGREES = "disagrees"


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """A number, its standard error (0 if it is exact), and the runs that is known from."""

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
        """Read the standard error off a 95 % interval."""
        return cls(estimate.value, estimate.half_width / _NORMAL_95)

    def __str__(self) -> str:
        """Write no more digits than the standard error supports, at least four decimals."""
        return _with_error(self.value, self.standard_error, 4, 6)

    @property
    def percent(self) -> str:
        """The same in per cent, with its sign."""
        text = _with_error(100.0 * self.value, 100.0 * self.standard_error, 2, 4)
        return f"{'' if text.startswith('-') else '+'}{text} %"

    def rescaled(self, runs: int, other_runs: int) -> float:
        """Return the standard error that so many other runs would have had."""
        return self.standard_error * math.sqrt(runs / other_runs)


def _with_error(value: float, error: float, least: int, exact: int) -> str:
    """Write a value with two digits of its error; so many decimals if it is exact."""
    if error <= _NOISE:
        return f"{value:.{exact}f}"
    if not math.isfinite(error):
        return f"{value:.{least}f}"
    digits = max(least, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def stretched(runs: int) -> float:
    """Return how many times wider the allowance is if errors are known from so many runs only."""
    if runs < 2:  # noqa: PLR2004 - one run has no spread
        return math.inf
    if runs >= MANY:
        return 1.0
    return float(stdtrit(runs - 1, ndtr(ALLOWED))) / ALLOWED


def deviation(
    printed: float, printed_error: float, ours: Measured, rounding: float, runs: int = MANY
) -> float:
    """Return by how many combined standard errors a printed number differs beyond its rounding.

    Errors that are known from a few runs count for as much as is equally rare for many.
    """
    apart = max(abs(printed - ours.value) - rounding, 0.0)
    combined = math.hypot(printed_error, ours.standard_error) * stretched(min(runs, ours.runs))
    if apart == 0.0:
        return 0.0
    return apart / combined if combined > 0.0 else math.inf


def judge(
    printed: float, printed_error: float, by_method: Measured, right: Measured, rounding: float
) -> Verdict:
    """Compare a printed number with ours done right, then with ours by the paper's method.

    Args:
        printed: what the paper says.
        printed_error: the standard error of the paper's own simulation.
        by_method: ours by the paper's method.
        right: ours without its bias.
        rounding: half a unit of the last printed digit.
    """
    if deviation(printed, printed_error, right, rounding, by_method.runs) <= ALLOWED:
        return Verdict.AGREES
    if deviation(printed, printed_error, by_method, rounding) <= ALLOWED:
        return Verdict.BY_METHOD
    return Verdict.DISAGREES
