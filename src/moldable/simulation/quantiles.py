"""Tables of quantiles, from which kernels draw sizes by inversion.

For a standard exponential number e, called the level, g(e) = F^-1(1 - exp(-e)) follows the
distribution F. Levels keep the digits of both tails: e is the probability itself where that is
small, and grows where the tail vanishes. g is tabulated as cubics with the right values and slopes
at their ends, in one of two forms:

- a grid of equal cells in every octave of e, so that the leading bits of e are the number of its
  cell; numbers below the first octave, of probability 2^-36, use the first cell;
- pieces of log g that are halved until each is accurate, for distributions with a kink, a gap or a
  steep end, where no grid is fine enough. They increase throughout, so the error of a piece is at
  most its own probability and halving ends. Cells of e tell where to search for a piece.

The distribution function of a grid is accurate to 1e-10 (1e-7 where a density has a kink), and its
tail to a relative error of 1e-5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self, final

import numpy as np

from moldable.arrays import Floats, Mask

OCTAVES: Final = (-36, 6)
"""Powers of two between which levels are tabulated; numpy draws no exponential above 45."""
LARGEST_EXPONENT: Final = 1000
"""Powers of two beyond which sizes are not searched."""
SMALLEST_EXPONENT: Final = 500
"""Minus the exponent of the size that replaces all smaller ones if these have no lower bound."""
NOISE: Final = 1e-14
"""Accumulated rounding errors of a survival function."""
CLOSE: Final = 1e-9
"""Relative error from which one more step of Newton's method reaches rounding errors."""
MOST_STEPS: Final = 60
TINY: Final = 1e-300
MANTISSA: Final = 52
SPACING: Final = 4e-16
"""Relative distance of neighbouring floating-point numbers, twice over."""
CHECKED: Final = np.array([0.25, 0.5, 0.75])
"""Where cubics are checked: with the right values and slopes at the ends, the middle errs most."""
TAIL: Final = 1e-5
"""Largest error of the tail relative to itself."""
CELL_BITS: Final = 6
"""Bits of the mantissa that distinguish the cells from which a piece is searched."""
FIRST_BITS: Final = 4
"""Bits of the mantissa that distinguish the pieces to begin with."""
SLACK: Final = 0.01
"""Error of the ends of pieces, relative to the tolerance."""
HALVINGS: Final = 60
SMOOTH: Final = 8
"""Halvings after which only kinks, gaps and steep ends are left, with a few pieces at each."""
FEW: Final = 16
MOST_PIECES: Final = 1 << 13


class Tolerance(NamedTuple):
    """Largest errors of the distribution function.

    Attributes:
        most: anywhere.
        rounding: in the far tail, however small the tail is itself.
    """

    most: float
    rounding: float = 1e-15

    def at(self, tail: Floats) -> Floats:
        """Return the largest error where the tail has this probability."""
        return np.clip(TAIL * tail, self.rounding, self.most)


GRIDS: Final = ((6, 1e-10), (7, 1e-10), (8, 1e-10), (10, 1e-7))
"""Bits of the mantissa that distinguish cells, and the tolerance; the first accurate grid is used.
The last one is for densities with a kink, which no cubic follows."""
PIECE_TOLERANCES: Final = (Tolerance(1e-10), Tolerance(1e-10, 1e-13), Tolerance(1e-7, 1e-9))
"""Tried in turn; the later ones are for distributions that are computed to fewer digits."""


class Smooth(Protocol):
    """A distribution that can be inverted numerically."""

    def survival(self, x: Floats, /) -> Floats:
        """Return the probability of a size above x, elementwise."""

    def density(self, x: Floats, /) -> Floats:
        """Return the density at x, elementwise."""


def level(law: Smooth, sizes: float | Floats) -> Floats:
    """Return -log P(X > x), elementwise."""
    return -np.log(law.survival(np.asarray(sizes)))


@final
@dataclass(frozen=True, eq=False)
class Inverse:
    """A distribution with brackets for the sizes of all levels.

    Attributes:
        law: the distribution.
        sizes: brackets, ascending.
        levels: their levels.
        whole: whether they span all levels; if not, the size at an end stands for all beyond.
    """

    law: Smooth
    sizes: Floats
    levels: Floats
    whole: bool

    @classmethod
    @np.errstate(all="ignore")  # a size that is out of range has an infinite level
    def of(cls, law: Smooth) -> Self:
        """Find the brackets."""
        far = LARGEST_EXPONENT
        low = next((k for k in range(far) if level(law, 2.0**-k) < 2.0 ** OCTAVES[0]), far)
        high = next((k for k in range(far) if level(law, 2.0**k) > 2.0 ** OCTAVES[1]), far)
        whole = far not in (low, high)
        low = low if low < far else SMALLEST_EXPONENT
        if high == far:  # the tail does not vanish: end where it was last seen to decrease
            falls = np.diff(level(law, np.exp2(np.arange(float(far))))) > 0.0
            high = 1 + int(np.flatnonzero(falls).max(initial=0))
        sizes = 2.0 ** np.linspace(-low, high, 16 * (low + high) + 1)
        return cls(law, sizes, level(law, sizes), whole)

    def at(self, levels: Floats, tolerance: float | Floats = 0.0) -> tuple[Floats, Floats]:
        """Return the sizes that have the levels, and their derivatives.

        Args:
            levels: in any order.
            tolerance: error of a level after which one more step of Newton's method is enough.
        """
        law, enough = self.law, np.maximum(CLOSE * levels + NOISE, tolerance)
        after = np.clip(np.searchsorted(self.levels, levels), 1, self.sizes.size - 1)
        left, right = self.sizes[after - 1], self.sizes[after]
        known = np.log(np.maximum(self.levels, TINY))
        sizes = np.exp(np.interp(np.log(levels), known, np.log(self.sizes)))
        for _ in range(MOST_STEPS):
            reached = level(law, sizes)
            left = np.where(reached > levels, left, sizes)
            right = np.where(reached > levels, sizes, right)
            # Newton's method in logarithms, because sizes are nearly a power of the level at both
            # ends; a step that leaves the bracket is replaced by bisection.
            growth = sizes * law.density(sizes) / (np.exp(-reached) * reached)
            step = sizes * (levels / reached) ** (1.0 / growth)
            sizes = np.where((left <= step) & (step <= right), step, np.sqrt(left * right))
            near = np.abs(reached - levels) <= enough
            if np.all(near | (right - left <= NOISE * right)):
                break
        return sizes, np.exp(-levels) / law.density(sizes)


@np.errstate(all="ignore")  # numbers that are not finite fail the check
def grid_table(inverse: Inverse) -> Floats | None:
    """Tabulate g on a grid, as `look_up_grid` reads it, or return None if no grid is accurate."""
    for bits, most in GRIDS if inverse.whole else ():
        knots = _cells(bits)
        sizes, slopes = inverse.at(knots)
        ends = _pairs(knots)
        cubics = _cubics(ends, _pairs(sizes), _pairs(slopes))
        if _accurate(inverse.law, ends, _between(cubics), Tolerance(most)).all():
            return np.concatenate((_cell_numbers(knots, bits), cubics.ravel()))
    return None


@np.errstate(all="ignore")  # numbers that are not finite are replaced, or fail the check
def piece_table(inverse: Inverse) -> Floats | None:
    """Tabulate log g in pieces, as `look_up_pieces` reads it; return None if it takes too many."""
    found = next(filter(None, (_halve(inverse, most) for most in PIECE_TOLERANCES)), None)
    if found is None:
        return None
    ends, cubics = found
    order = np.argsort(ends[0])
    begin, length = ends[0][order], np.diff(ends, axis=0)[0][order]
    cells = _cells(CELL_BITS)
    start = np.searchsorted(begin, cells, side="right") - 1
    rows = np.column_stack((begin, 1.0 / length, cubics[order]))
    head = (_cell_numbers(cells, CELL_BITS), [cells.size - 1], start)
    return np.concatenate((*head, rows.ravel()))


def _cells(bits: int) -> Floats:
    """Return the ends of cells, 2^bits to an octave."""
    cells = 1 << bits
    octaves = 2.0 ** np.arange(*OCTAVES)
    starts = (octaves[:, None] * (1.0 + np.arange(cells) / cells)).ravel()
    return np.append(starts, 2.0 ** OCTAVES[1])


def _cell_numbers(cells: Floats, bits: int) -> Floats:
    """Return how many bits of a number stand below that of its cell, and the first cell."""
    shift = MANTISSA - bits
    return np.array([shift, cells[:1].view(np.int64)[0] >> shift], np.float64)


def _pairs(values: Floats) -> Floats:
    """Return the values at the beginnings of cells, and those at their ends."""
    return np.stack((values[:-1], values[1:]))


def _cubics(knots: Floats, values: Floats, slopes: Floats) -> Floats:
    """Return the cubic of each cell in the relative position within the cell, constant first."""
    width = knots[1] - knots[0]
    rise, begin, end = values[1] - values[0], slopes[0] * width, slopes[1] * width
    return np.column_stack(
        (values[0], begin, 3.0 * rise - 2.0 * begin - end, begin + end - 2.0 * rise)
    )


def _between(cubics: Floats) -> Floats:
    """Return the values of the cubics at the positions where they are checked."""
    return np.asarray(cubics @ CHECKED ** np.arange(4)[:, None])


def _accurate(law: Smooth, knots: Floats, sizes: Floats, tolerance: Tolerance) -> Mask:
    """Return in which cells the distribution function of the drawn sizes is accurate.

    Args:
        law: the distribution to draw from.
        knots: the beginnings and the ends of cells.
        sizes: drawn at the checked positions (columns) of each cell (row).
        tolerance: largest errors.
    """
    wanted = np.exp(-(knots[0][:, None] + (knots[1] - knots[0])[:, None] * CHECKED))
    error, limit = np.abs(law.survival(sizes) - wanted), tolerance.at(wanted)
    # NaN fails the comparisons.
    fine = (error <= limit) & (sizes >= 0.0)
    if not fine.all():
        # At a steep end, neighbouring floating-point numbers differ by this: no draw is closer.
        x = sizes[~fine]
        grain = law.survival(x * (1.0 - SPACING)) - law.survival(x * (1.0 + SPACING))
        fine[~fine] = (error[~fine] <= limit[~fine] + grain) & (x >= 0.0)
    return np.asarray(fine.all(axis=1))


def _halve(inverse: Inverse, tolerance: Tolerance) -> tuple[Floats, Floats] | None:
    """Return the ends and the cubics of accurate pieces, unsorted."""
    knots = _cells(FIRST_BITS)
    logarithms, slopes = _logarithms(inverse, knots, tolerance)
    ends = np.stack((_pairs(knots), _pairs(np.maximum.accumulate(logarithms)), _pairs(slopes)))
    done: list[tuple[Floats, Floats]] = []
    least = MOST_PIECES
    for halving in range(HALVINGS):
        cubics = _cubics(ends[0], ends[1], _increasing(*ends))
        kept = _good_pieces(inverse, ends[0], cubics, tolerance)
        done.append((ends[0][:, kept], cubics[kept]))
        ends = ends[:, :, ~kept]
        still = ends.shape[2]
        if still == 0:
            return np.hstack([part[0] for part in done]), np.vstack([part[1] for part in done])
        least = min(least, still) if halving >= SMOOTH else least
        # If their number grows again, rounding errors of the distribution are being halved.
        if still > 2 * least + FEW or sum(len(part) for _, part in done) + 2 * still > MOST_PIECES:
            return None
        middle = ends[0].mean(axis=0)
        logarithms, slopes = _logarithms(inverse, middle, tolerance)
        new = np.stack((middle, np.clip(logarithms, *ends[1]), slopes))
        halves = np.stack((ends[:, 0], new), axis=1), np.stack((new, ends[:, 1]), axis=1)
        ends = np.concatenate(halves, axis=2)
    return None


def _logarithms(inverse: Inverse, levels: Floats, tolerance: Tolerance) -> tuple[Floats, Floats]:
    """Return log g at the levels, and its derivatives."""
    tail = np.exp(-levels)
    sizes, slopes = inverse.at(levels, SLACK * tolerance.at(tail) / tail)
    return np.log(sizes), slopes / sizes


def _increasing(knots: Floats, values: Floats, slopes: Floats) -> Floats:
    """Limit slopes so that cubics increase (Fritsch and Carlson); the mean slope replaces NaN."""
    mean = np.diff(values, axis=0) / np.diff(knots, axis=0)
    return np.clip(np.where(np.isfinite(slopes), slopes, mean), 0.0, 3.0 * mean)


def _good_pieces(inverse: Inverse, knots: Floats, cubics: Floats, tolerance: Tolerance) -> Mask:
    close = _accurate(inverse.law, knots, np.exp(_between(cubics)), tolerance)
    tail = np.exp(-knots)
    short = tail[0] - tail[1] <= tolerance.at(tail[1])
    beyond = (knots[1] <= inverse.levels[0]) | (knots[0] >= inverse.levels[-1])
    return np.asarray(close | short | beyond) & np.isfinite(cubics).all(axis=1)
