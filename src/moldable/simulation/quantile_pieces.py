"""How are sizes looked up where no grid of equal cells is fine enough?

The same cubics, now of the logarithms of sizes and on pieces that are halved until each is right:
where a density has a kink, a gap or a steep end, pieces become as short as they must. They rise
throughout, so that none errs by more than its own probability and halving comes to an end. Cells
that the leading bits of e tell apart say where to search for a piece.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.simulation.inversion import Inverse
from moldable.simulation.quantile_table import (
    MANTISSA,
    Allowed,
    between,
    cubics,
    grid,
    pairs,
    right,
)

TRIES: Final = (Allowed(1e-10), Allowed(1e-10, 1e-13), Allowed(1e-7, 1e-9))
"""What is allowed; the later ones are for laws that are known to no more digits."""
SLACK: Final = 0.01
"""Share of what is allowed that the ends of pieces may err."""
FIRST_BITS: Final = 4
"""Bits of the mantissa that tell the first pieces apart."""
CELL_BITS: Final = 6
"""Bits of the mantissa that tell cells apart."""
HALVINGS: Final = 60
SMOOTH: Final = 8
"""Halvings after which only kinks, gaps and steep ends are left, a few pieces at each."""
FEW: Final = 16
MOST: Final = 1 << 13
"""Pieces beyond which a table is given up."""


def quantile_pieces(inverse: Inverse) -> Floats | None:
    """Tabulate g for a kernel, or return None if that took too many pieces.

    The first three numbers say how many bits of e stand below the number of a cell, which the first
    cell is and how many there are. Then come the piece in which each cell begins and the last one
    ends, and for each piece where it begins, one over its length and four coefficients, constant
    first.
    """
    with np.errstate(all="ignore"):  # what is not finite is replaced, or refused
        for allowed in TRIES:
            found = _halved(inverse, allowed)
            if found is not None:
                return _packed(*found)
    return None


def _halved(inverse: Inverse, allowed: Allowed) -> tuple[Floats, Floats] | None:
    """Return the ends and the cubics of pieces that are right, in no order."""
    knots = grid(FIRST_BITS)
    logarithms, slopes = _logarithms(inverse, knots, allowed)
    ends = np.stack((pairs(knots), pairs(np.maximum.accumulate(logarithms)), pairs(slopes)))
    done: list[tuple[Floats, Floats]] = []
    least = MOST
    for halving in range(HALVINGS):
        pieces = cubics(ends[0], ends[1], _rising(*ends))
        kept = _kept(inverse, ends[0], pieces, allowed)
        done.append((ends[0][:, kept], pieces[kept]))
        ends = ends[:, :, ~kept]
        still = ends.shape[2]
        if still == 0:
            return np.hstack([part[0] for part in done]), np.vstack([part[1] for part in done])
        least = min(least, still) if halving >= SMOOTH else least
        # If they become more again, it is the law's own rounding errors that are halved.
        if still > 2 * least + FEW or sum(len(part) for _, part in done) + 2 * still > MOST:
            return None
        middle = ends[0].mean(axis=0)
        logarithms, slopes = _logarithms(inverse, middle, allowed)
        new = np.stack((middle, np.clip(logarithms, *ends[1]), slopes))
        halves = np.stack((ends[:, 0], new), axis=1), np.stack((new, ends[:, 1]), axis=1)
        ends = np.concatenate(halves, axis=2)
    return None


def _logarithms(inverse: Inverse, levels: Floats, allowed: Allowed) -> tuple[Floats, Floats]:
    """Return the logarithms of the sizes that reach the levels, and their slopes."""
    tail = np.exp(-levels)
    sizes, slopes = inverse.at(levels, SLACK * allowed.at(tail) / tail)
    return np.log(sizes), slopes / sizes


def _rising(knots: Floats, values: Floats, slopes: Floats) -> Floats:
    """Return slopes between which a cubic rises; the mean slope where there is none."""
    # Fritsch and Carlson: at most three times the mean slope at either end.
    mean = np.diff(values, axis=0) / np.diff(knots, axis=0)
    return np.clip(np.where(np.isfinite(slopes), slopes, mean), 0.0, 3.0 * mean)


def _kept(inverse: Inverse, knots: Floats, pieces: Floats, allowed: Allowed) -> Mask:
    close = right(inverse.law, knots, np.exp(between(pieces)), allowed)
    tail = np.exp(-knots)
    short = tail[0] - tail[1] <= allowed.at(tail[1])
    beyond = (knots[1] <= inverse.reached[0]) | (knots[0] >= inverse.reached[-1])
    return np.asarray(close | short | beyond) & np.isfinite(pieces).all(axis=1)


def _packed(knots: Floats, pieces: Floats) -> Floats:
    order = np.argsort(knots[0])
    begin, length = knots[0][order], np.diff(knots, axis=0)[0][order]
    cells, shift = grid(CELL_BITS), MANTISSA - CELL_BITS
    first = float(cells[:1].view(np.int64)[0] >> shift)
    start = np.searchsorted(begin, cells, side="right") - 1
    rows = np.column_stack((begin, 1.0 / length, pieces[order]))
    return np.concatenate(([shift, first, cells.size - 1], start, rows.ravel()))
