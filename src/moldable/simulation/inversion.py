"""Which size does a law reach with a given probability?

Sizes are looked for by the level e = -log P(X > x) that they reach, for both tails then keep their
digits: e is the probability itself where it is small, and goes on where the tail vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, Self, final

import numpy as np

from moldable.arrays import Floats

OCTAVES: Final = (-36, 6)
"""Powers of two between which levels are looked for; numpy draws no exponential beyond 45."""
FAR: Final = 1000
"""Powers of two beyond which sizes are not looked for."""
SMALL: Final = 500
"""Minus the power of two that stands for all sizes below it where they go on beyond all bounds."""
NOISE: Final = 1e-14
"""Rounding errors of a survival function, some of them added up."""
CLOSE: Final = 1e-9
"""Relative error from which one more step of Newton's method ends at rounding."""
ROUNDS: Final = 60
TINY: Final = 1e-300


class Smooth(Protocol):
    """What can be inverted."""

    def survival(self, x: Floats, /) -> Floats:
        """Return the probability of a size above x, elementwise."""

    def density(self, x: Floats, /) -> Floats:
        """Return the density at x, elementwise."""


@final
@dataclass(frozen=True, eq=False)
class Inverse:
    """A law, and sizes between which all levels are found.

    Attributes:
        law: the law.
        grid: sizes, ascending.
        reached: their levels.
        whole: whether the grid reaches from the first level to the last; where it does not, a
            size at its end stands for all beyond.
    """

    law: Smooth
    grid: Floats
    reached: Floats
    whole: bool

    @classmethod
    def of(cls, law: Smooth) -> Self:
        """Look for sizes that reach less than the first level and more than the last."""
        with np.errstate(all="ignore"):  # what is out of range has an infinite level
            return cls._of(law)

    @classmethod
    def _of(cls, law: Smooth) -> Self:
        low = next((k for k in range(FAR) if level(law, 2.0**-k) < 2.0 ** OCTAVES[0]), FAR)
        high = next((k for k in range(FAR) if level(law, 2.0**k) > 2.0 ** OCTAVES[1]), FAR)
        whole = FAR not in (low, high)
        low = low if low < FAR else SMALL
        if high == FAR:  # the tail is not to be seen: end where it was last seen to fall
            falls = np.diff(level(law, np.exp2(np.arange(float(FAR))))) > 0.0
            high = 1 + int(np.flatnonzero(falls).max(initial=0))
        grid = 2.0 ** np.linspace(-low, high, 16 * (low + high) + 1)
        return cls(law, grid, level(law, grid), whole)

    def at(self, levels: Floats, enough: float | Floats = 0.0) -> tuple[Floats, Floats]:
        """Return the sizes that reach the levels, and how fast they grow with them.

        Args:
            levels: the levels, ascending or not.
            enough: error of a level from which one more step of Newton's method will do.
        """
        sizes = self._solve(levels, np.maximum(CLOSE * levels + NOISE, enough))
        return sizes, np.exp(-levels) / self.law.density(sizes)

    def _solve(self, levels: Floats, enough: Floats) -> Floats:
        """Solve -log P(X > x) = level for each level."""
        law, grid = self.law, self.grid
        after = np.clip(np.searchsorted(self.reached, levels), 1, grid.size - 1)
        left, right = grid[after - 1], grid[after]
        known = np.log(np.maximum(self.reached, TINY))
        sizes = np.exp(np.interp(np.log(levels), known, np.log(grid)))
        for _ in range(ROUNDS):
            reached = level(law, sizes)
            left = np.where(reached > levels, left, sizes)
            right = np.where(reached > levels, sizes, right)
            # Newton's method in logarithms, for sizes are close to a power at both ends; where it
            # leaves the interval known to hold the solution, that is halved.
            growth = sizes * law.density(sizes) / (np.exp(-reached) * reached)
            step = sizes * (levels / reached) ** (1.0 / growth)
            sizes = np.where((left <= step) & (step <= right), step, np.sqrt(left * right))
            near = np.abs(reached - levels) <= enough
            if np.all(near | (right - left <= NOISE * right)):
                break
        return sizes


def level(law: Smooth, sizes: float | Floats) -> Floats:
    """Return -log P(X > x), elementwise."""
    return -np.log(law.survival(np.asarray(sizes)))
