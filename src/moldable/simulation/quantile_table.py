"""How are sizes drawn by looking them up?

With E standard exponential, g(E) follows the law whose quantiles are g(e) = F^-1(1 - exp(-e)). Here
g is tabulated as cubic pieces with the right values and slopes at their ends. Every octave of e,
from one power of two to the next, has equally many equal cells, so that the leading bits of e are
the number of its cell; numbers below the first octave, of probability 2^-36, go into the first
cell. A table is handed out only if the distribution function of what it draws is right to 1e-10
(1e-7 where a density has a kink), and its tail to 1e-5 of itself; no simulation could tell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.simulation.inversion import OCTAVES, Inverse, Smooth

TAIL: Final = 1e-5
"""Most error of the tail relative to itself, as far as rounding lets it be seen."""


class Allowed(NamedTuple):
    """Errors of the distribution function that are put up with.

    Attributes:
        most: anywhere.
        rounding: in the far tail, however small the tail is itself.
    """

    most: float
    rounding: float = 1e-15

    def at(self, tail: Floats) -> Floats:
        """Return the error allowed where the tail is this probable."""
        return np.clip(TAIL * tail, self.rounding, self.most)


GRIDS: Final = (
    (6, Allowed(1e-10)),
    (7, Allowed(1e-10)),
    (8, Allowed(1e-10)),
    (10, Allowed(1e-7)),
)
"""Bits of the mantissa that tell cells apart, and what is allowed; the first that is right is
taken. The last is for densities with a kink, which no cubic follows."""
MANTISSA: Final = 52
GRAIN: Final = 4e-16
BETWEEN: Final = np.array([0.25, 0.5, 0.75])
"""Where pieces are checked: a cubic with the right values and slopes errs most in the middle."""


def quantile_table(inverse: Inverse) -> Floats | None:
    """Tabulate g for a kernel, or return None if no grid is fine enough.

    The first number says how many bits of e stand below the number of a cell, the second is the
    number of the first cell; then come four coefficients for each cell, constant first.
    """
    if not inverse.whole:
        return None
    with np.errstate(all="ignore"):  # what is not finite is refused
        for bits, allowed in GRIDS:
            knots = grid(bits)
            sizes, slopes = inverse.at(knots)
            ends, pieces = pairs(knots), cubics(pairs(knots), pairs(sizes), pairs(slopes))
            if right(inverse.law, ends, between(pieces), allowed).all():
                first = (knots[:1].view(np.int64) >> (MANTISSA - bits)).astype(np.float64)
                return np.concatenate(([MANTISSA - bits], first, pieces.ravel()))
    return None


def grid(bits: int) -> Floats:
    """Return the ends of cells, so many bits to an octave."""
    cells = 1 << bits
    octaves = 2.0 ** np.arange(*OCTAVES)
    starts = (octaves[:, None] * (1.0 + np.arange(cells) / cells)).ravel()
    return np.append(starts, 2.0 ** OCTAVES[1])


def pairs(values: Floats) -> Floats:
    """Return the values at the beginnings of cells in one row, those at their ends in another."""
    return np.stack((values[:-1], values[1:]))


def cubics(knots: Floats, values: Floats, slopes: Floats) -> Floats:
    """Return the cubic of each cell, in the share of the cell that has been passed."""
    width = knots[1] - knots[0]
    rise, begin, end = values[1] - values[0], slopes[0] * width, slopes[1] * width
    return np.column_stack(
        (values[0], begin, 3.0 * rise - 2.0 * begin - end, begin + end - 2.0 * rise)
    )


def between(pieces: Floats) -> Floats:
    """Return what the cubics come to at the places where they are checked, a row for each."""
    return np.asarray(pieces @ BETWEEN ** np.arange(4)[:, None])


def right(law: Smooth, knots: Floats, sizes: Floats, allowed: Allowed) -> Mask:
    """Return where the distribution function of what is drawn is right.

    Args:
        law: what is to be drawn.
        knots: the beginnings of cells, and their ends.
        sizes: what is drawn, a row for each cell and a column for each place within it.
        allowed: its errors.
    """
    wanted = np.exp(-(knots[0][:, None] + (knots[1] - knots[0])[:, None] * BETWEEN))
    error, limit = np.abs(law.survival(sizes) - wanted), allowed.at(wanted)
    # Anything that is not a number fails the comparisons.
    fine = (error <= limit) & (sizes >= 0.0)
    if not fine.all():
        # Where a law ends steeply, neighbouring doubles are this far apart: no draw is closer.
        x = sizes[~fine]
        grain = law.survival(x * (1.0 - GRAIN)) - law.survival(x * (1.0 + GRAIN))
        fine[~fine] = (error[~fine] <= limit[~fine] + grain) & (x >= 0.0)
    return np.asarray(fine.all(axis=1))
