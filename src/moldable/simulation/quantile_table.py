"""How are sizes drawn by looking them up?

With E standard exponential, g(E) follows the law whose quantiles are g(e) = F^-1(1 - exp(-e)). Here
g is tabulated as cubic pieces with the right values and slopes at their ends. Every octave of e,
from one power of two to the next, has equally many equal cells, so that the leading bits of e are
the number of its cell; numbers below the first octave, of probability 2^-36, go into the first
cell. A table is handed out only if the distribution function of what it draws is right to 1e-10
(1e-7 where a density has a kink), and its tail to 1e-5 of itself; no simulation could tell.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from moldable.hull import Floats

OCTAVES: Final = (-36, 6)
"""Powers of two where the grid begins and ends; numpy draws no exponential number beyond 45."""
GRIDS: Final = ((6, 1e-10), (7, 1e-10), (8, 1e-10), (10, 1e-7))
"""Bits of the mantissa that tell cells apart, and the most error of the distribution function; the
first that is right is taken. The last is for densities with a kink, which no cubic follows."""
MANTISSA: Final = 52
TAIL: Final = 1e-5
"""Most error of the tail relative to itself, as far as rounding lets it be seen."""
ROUNDING: Final = 1e-15
GRAIN: Final = 4e-16
NOISE: Final = 1e-14
"""Rounding errors of a survival function, some of them added up."""
CLOSE: Final = 1e-9
"""Relative error from which one more step of Newton's method ends at rounding."""
ROUNDS: Final = 60
TINY: Final = 1e-300
FAR: Final = 1000
"""Powers of two beyond which quantiles are not looked for."""
BETWEEN: Final = np.array([0.25, 0.5, 0.75])
"""Where pieces are checked: a cubic with the right values and slopes errs most in the middle."""


class Smooth(Protocol):
    """What a table is made from."""

    def survival(self, x: Floats, /) -> Floats:
        """Return the probability of a size above x, elementwise."""

    def density(self, x: Floats, /) -> Floats:
        """Return the density at x, elementwise."""


def quantile_table(law: Smooth) -> Floats | None:
    """Tabulate g for a kernel, or return None if no grid is fine enough.

    The first number says how many bits of e stand below the number of a cell, the second is the
    number of the first cell; then come four coefficients for each cell, constant first.
    """
    with np.errstate(all="ignore"):  # what is not finite is refused
        for bits, tolerance in GRIDS:
            knots = _knots(bits)
            sizes = _quantiles(law, knots)
            if sizes is None:
                return None
            pieces = _pieces(knots, sizes, np.exp(-knots) / law.density(sizes))
            if _right(law, knots, pieces, tolerance):
                first = (knots[:1].view(np.int64) >> (MANTISSA - bits)).astype(np.float64)
                return np.concatenate(([MANTISSA - bits], first, pieces.ravel()))
    return None


def _knots(bits: int) -> Floats:
    cells = 1 << bits
    octaves = 2.0 ** np.arange(*OCTAVES)
    starts = (octaves[:, None] * (1.0 + np.arange(cells) / cells)).ravel()
    return np.append(starts, 2.0 ** OCTAVES[1])


def _quantiles(law: Smooth, levels: Floats) -> Floats | None:
    """Solve -log S(x) = level for each level, or return None if the sizes are out of range."""
    low = next((k for k in range(FAR) if _reached(law, 2.0**-k) < levels[0]), FAR)
    high = next((k for k in range(FAR) if _reached(law, 2.0**k) > levels[-1]), FAR)
    if FAR in (low, high):
        return None
    grid = 2.0 ** np.linspace(-low, high, 16 * (low + high) + 1)
    reached = _reached(law, grid)
    after = np.clip(np.searchsorted(reached, levels), 1, grid.size - 1)
    left, right = grid[after - 1], grid[after]
    known = np.log(np.maximum(reached, TINY))
    sizes = np.exp(np.interp(np.log(levels), known, np.log(grid)))
    for _ in range(ROUNDS):
        reached = _reached(law, sizes)
        left = np.where(reached > levels, left, sizes)
        right = np.where(reached > levels, sizes, right)
        # Newton's method in logarithms, for g is close to a power at both ends; where it leaves
        # the interval known to hold the solution, that is halved.
        growth = sizes * law.density(sizes) / (np.exp(-reached) * reached)
        step = sizes * (levels / reached) ** (1.0 / growth)
        sizes = np.where((left <= step) & (step <= right), step, np.sqrt(left * right))
        near = np.abs(reached - levels) <= CLOSE * levels + NOISE
        if np.all(near | (right - left <= NOISE * right)):
            break
    return sizes


def _reached(law: Smooth, sizes: float | Floats) -> Floats:
    return -np.log(law.survival(np.asarray(sizes)))


def _pieces(knots: Floats, values: Floats, slopes: Floats) -> Floats:
    """Return the cubic of each cell, in the share of the cell that has been passed."""
    width = np.diff(knots)
    rise, begin, end = np.diff(values), slopes[:-1] * width, slopes[1:] * width
    return np.column_stack(
        (values[:-1], begin, 3.0 * rise - 2.0 * begin - end, begin + end - 2.0 * rise)
    )


def _right(law: Smooth, knots: Floats, pieces: Floats, tolerance: float) -> bool:
    powers = BETWEEN ** np.arange(4)[:, None]
    sizes = pieces @ powers
    wanted = np.exp(-(knots[:-1, None] + np.diff(knots)[:, None] * BETWEEN))
    error = np.abs(law.survival(sizes) - wanted)
    # Where a law ends steeply, neighbouring doubles are this far apart: no draw could be closer.
    grain = law.survival(sizes * (1.0 - GRAIN)) - law.survival(sizes * (1.0 + GRAIN))
    allowed = np.clip(TAIL * wanted, ROUNDING, tolerance) + grain
    # Anything that is not a number fails the comparison.
    return bool(np.all(error <= allowed) and sizes.min() >= 0.0)
