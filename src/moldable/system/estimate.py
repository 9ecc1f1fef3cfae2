"""A number with its confidence interval."""

from __future__ import annotations

import math
from typing import Self, final

Interval = tuple[float, float]
NOISE = 1e-12
"""Relative half-width below which a value is shown as exact."""
SYMMETRIC = 1.02
"""Ratio of the longer side of an interval to half its width up to which it counts as symmetric."""
RARE = 1e-5
"""Values below are shown with an exponent."""


@final
class Estimate(float):
    """A number with its 95 % confidence interval.

    It is a float: compare it, calculate with it, format it. The interval is not carried through
    calculations.

    Examples:
        >>> blocking = Estimate(0.0312, (0.0302, 0.0322))
        >>> blocking < 0.05, f"{blocking:.3f}", str(blocking)
        (True, '0.031', '0.03120 ± 0.00100')
    """

    __slots__ = ("_interval",)
    _interval: Interval | None

    def __new__(cls, value: float, interval: Interval | None) -> Self:
        """Make an immutable number.

        Args:
            value: the estimate.
            interval: its interval; None if there is no valid one.
        """
        self = super().__new__(cls, value)
        self._interval = interval
        return self

    @classmethod
    def exact(cls, value: float) -> Self:
        """Return an exact value, whose interval has width 0."""
        return cls(value, (value, value))

    @property
    def value(self) -> float:
        """The estimate as a plain float."""
        return float(self)

    @property
    def interval(self) -> Interval | None:
        """The 95 % confidence interval; None if there is no valid one."""
        return self._interval

    @property
    def half_width(self) -> float:
        """Half the interval's width; infinite without an interval."""
        if self.interval is None:
            return math.inf
        return (self.interval[1] - self.interval[0]) / 2.0

    @property
    def _longer_side(self) -> float:
        """Distance to the farther end of the interval; half its width if it is symmetric."""
        half = self.half_width
        if self.interval is None or not math.isfinite(half):
            return half
        longer = max(self.interval[1] - self.value, self.value - self.interval[0])
        return longer if longer > SYMMETRIC * half else half

    def __str__(self) -> str:
        """Show only the digits that the interval supports; the error covers all of it."""
        half = self._longer_side
        if math.isnan(self.value):
            return "unknown"
        if not math.isfinite(half):
            return f"{self.value:.4g}"
        if half <= NOISE * abs(self.value):
            return f"{self.value:.6g}"
        if 0.0 < self.value < RARE and half < RARE:
            power = math.floor(math.log10(max(self.value, half)))
            return f"({_rounded(self.value / 10.0**power, half / 10.0**power)})e{power:03d}"
        return _rounded(self.value, half)

    def __repr__(self) -> str:
        return f"Estimate({self})"

    def __format__(self, spec: str) -> str:
        """Format the value; without a specification, show the digits that are known."""
        return format(self.value, spec) if spec else str(self)

    def __eq__(self, other: object) -> bool:
        """Compare with a number, or with an estimate and its interval."""
        if isinstance(other, Estimate):
            return (self.value, self.interval) == (other.value, other.interval)
        return self.value == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__

    def __reduce__(self) -> tuple[type[Estimate], tuple[float, Interval | None]]:
        return Estimate, (self.value, self.interval)


def _rounded(value: float, half: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{value:.{digits}f} ± {half:.{digits}f}"
