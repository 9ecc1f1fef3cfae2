"""Checks of the paper's assumptions on speed-up curves.

The paper assumes that speed-ups increase strictly (P1) and are concave (P2). The inequality that it
prints for P2, a non-increasing efficiency s_i/i, is weaker than concavity and not sufficient for
its Theorem 1(iii); both are checked. Violations are reported, not refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.model.hull import concave_hull, hull_height

ROUNDING = 1e-12
"""Relative error below which two numbers are considered equal."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A width at which a curve violates an assumption.

    Attributes:
        assumption: "increasing", "efficiency_non_increasing" or "concave".
        width: the width.
        amount: the violation, relative to the value that would just comply.
        message: a description.

    Examples:
        >>> [each.assumption for each in SpeedUp([1, 1.8, 1.7]).violations()]
        ['increasing']
    """

    assumption: str
    width: int
    amount: float
    message: str

    def __str__(self) -> str:
        return self.message


def not_increasing(widths: Ints, speedups: Floats, tolerance: float) -> list[Violation]:
    """List the widths that are not faster than the allowed width before them."""
    shortfall = 1.0 - speedups[1:] / speedups[:-1]
    bad = np.flatnonzero(shortfall >= tolerance) + 1
    return [
        Violation(
            "increasing",
            int(widths[k]),
            float(shortfall[k - 1]),
            f"width {widths[k]} is not faster than width {widths[k - 1]}: "
            f"s({widths[k]})={speedups[k]:.6g}, s({widths[k - 1]})={speedups[k - 1]:.6g}",
        )
        for k in bad
    ]


def efficiency_gains(widths: Ints, speedups: Floats, tolerance: float) -> list[Violation]:
    """List the widths that are more efficient than some narrower width."""
    efficiency = speedups / widths
    # In the paper s_1 = 1; this bound also applies where width 1 is not allowed.
    least_before = np.minimum.accumulate(np.concatenate(([1.0], efficiency[:-1])))
    gain = efficiency / least_before - 1.0
    return [
        Violation(
            "efficiency_non_increasing",
            int(widths[k]),
            float(gain[k]),
            f"width {widths[k]} is more efficient than a narrower one: "
            f"s/width={efficiency[k]:.6g} after {least_before[k]:.6g}",
        )
        for k in np.flatnonzero(gain > tolerance)
    ]


def chord_dips(widths: Ints, speedups: Floats, tolerance: float) -> list[Violation]:
    """List the widths whose speed-up lies below a chord of the curve through (0, 0)."""
    x = np.concatenate(([0.0], widths.astype(np.float64)))
    y = np.concatenate(([0.0], speedups))
    vertices = concave_hull(x, y, np.zeros(x.size, dtype=np.int64))
    chord = hull_height(x, y, vertices)[1:]
    dip = 1.0 - speedups / chord
    return [
        Violation(
            "concave",
            int(widths[k]),
            float(dip[k]),
            f"width {widths[k]} lies below a chord of the curve: "
            f"s({widths[k]})={speedups[k]:.6g}, chord {chord[k]:.6g}",
        )
        for k in np.flatnonzero(dip > tolerance)
    ]
