"""How are residual sizes drawn from nothing but a survival function?

The residual law's distribution function is the integral of the survival function S, divided by the
mean. The integral is tabulated on a grid that is refined until S is all but straight between
neighbours, and inverted in closed form there. The integral up to each grid point is a Gauss sum
and in between is off by at most `TOLERANCE`, so that is the error of the residual law's
distribution function too; simulations would need 1e18 draws to notice it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats

TOLERANCE: Final = 1e-9
"""How far trapezoids may be from the integral of one interval, as a share of the mean."""
MOST_ROUNDS: Final = 60
"""Halvings after which an interval is left as it is: it then surrounds a jump of S."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResidualTable:
    """The integral of a survival function, ready to be inverted.

    Attributes:
        points: the grid, ascending from 0.
        survival: the survival function there.
        integral: its integral from 0 to there.
    """

    points: Floats
    survival: Floats
    integral: Floats

    @classmethod
    def build(cls, survival: Callable[[Floats], Floats], points: Floats) -> ResidualTable:
        """Refine a first grid, from 0 to where S has all but vanished, until it is fine enough."""
        tolerance = TOLERANCE * float(_areas(survival, points).sum())
        for _ in range(MOST_ROUNDS):
            heights = survival(points)
            trapezoids = np.diff(points) * (heights[1:] + heights[:-1]) / 2.0
            middles = (points[1:] + points[:-1]) / 2.0
            coarse = np.abs(trapezoids - _areas(survival, points)) > tolerance
            # The sums agree by chance where S falls steeply in the middle, but it bends there.
            bend = np.abs(survival(middles) - (heights[1:] + heights[:-1]) / 2.0)
            coarse |= bend * np.diff(points) > tolerance
            # Floating point may have no number left between neighbours.
            coarse &= (points[:-1] < middles) & (middles < points[1:])
            if not coarse.any():
                break
            points = np.sort(np.concatenate((points, middles[coarse])))
        integral = np.concatenate(([0.0], np.cumsum(_areas(survival, points))))
        return cls(points, survival(points), integral)

    @property
    def total(self) -> float:
        """The whole integral: the mean, but for the tail beyond the grid."""
        return float(self.integral[-1])

    def invert(self, share: Floats) -> Floats:
        """Return where the integral reaches the given shares of its total."""
        target = share * self.total
        left = np.searchsorted(self.integral, target, side="right") - 1
        left = np.clip(left, 0, self.points.size - 2)
        width, area = np.diff(self.points)[left], np.diff(self.integral)[left]
        begin, end = self.survival[left], self.survival[left + 1]
        # With S straight from `begin` to `end`, the area up to a fraction y of the interval solves
        # begin y + (end - begin) y^2 / 2 = wanted; this form of the root cancels nothing.
        within = np.divide(
            target - self.integral[left], area, out=np.zeros_like(area), where=area > 0
        )
        wanted = np.clip(within, 0.0, 1.0) * (begin + end) / 2.0
        root = begin + np.sqrt(np.maximum(begin**2 + 2.0 * (end - begin) * wanted, 0.0))
        y = np.divide(2.0 * wanted, root, out=np.zeros_like(root), where=root > 0)
        return np.asarray(self.points[left] + width * np.minimum(y, 1.0), dtype=np.float64)


def _areas(survival: Callable[[Floats], Floats], points: Floats) -> Floats:
    """Return the integral over each interval, by eight Gauss points."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(points)[:, None] / 2.0
    inside = points[:-1, None] + half * (nodes + 1.0)
    heights = survival(inside.ravel()).reshape(inside.shape)
    return np.asarray((heights * weights * half).sum(axis=1), dtype=np.float64)
