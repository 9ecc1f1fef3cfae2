"""Size distributions of a user's own, of which only the quantiles or the draws are known.

Levels e = -log(1 - p) stand for probabilities p, as they keep the digits of both tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats, as_array
from moldable.errors import SizeLawError, shown

if TYPE_CHECKING:
    from moldable.model.sizes.law import SizeLaw

LAST: Final = 36.0
"""The largest level: the probability beyond is that of rounding, 2e-16."""
OCTAVES: Final = 41
CELLS: Final = 8
"""Cells in each octave of levels."""
HALVINGS: Final = 50
ACCURATE: Final = 1e-13
"""Share of an integral by which a cell may change when it is halved."""
MOST_CELLS: Final = 100_000
"""Cells that are halved; a law with that many jumps is continuous for all purposes."""
DRAWS: Final = 1 << 17
"""Draws that stand for a distribution of which nothing else is known."""
ERRORS: Final = 5.0
"""Standard errors by which the mean of the draws may differ from 1."""
ROUNDING: Final = 1e-9
SECTIONS: Final = 32
FEW_LEVELS: Final = 16
"""Parts into which intervals of quantiles are divided, and levels up to which they are."""


class QuantileTable:
    """A distribution that is known by its quantiles, in any unit.

    Attributes:
        mean: of the distribution, in the user's unit.
        variance: relative to the squared mean; may be infinite.
    """

    def __init__(self, law: SizeLaw) -> None:
        self.law = law
        edges = LAST * 2.0 ** (np.arange(-OCTAVES * CELLS, 1) / CELLS)
        grid: Floats = np.concatenate(([0.0], edges))
        masses, sizes, tail = self._nodes(grid[:-1], grid[1:])
        if np.any(np.diff(sizes.ravel()) < -ROUNDING * sizes.ravel()[1:]):
            raise SizeLawError(
                f"{law}: quantile(p) falls where p grows; return the size that a share p of the "
                f"jobs does not exceed"
            )
        rough = float((masses * sizes).sum())
        if not 0.0 < rough < math.inf or _rises(sizes * tail):
            raise SizeLawError(
                f"{law}: its mean is {rough:g} or infinite; job sizes need a finite mean above "
                f"0, or no load would be small enough"
            )
        infinite = _rises((sizes / rough) ** 2 * tail)
        self.levels, self.work, squares = self._integrated(grid, rough)
        self.mean = float(self.work.sum())
        second = float(squares.sum()) * (rough / self.mean) ** 2
        self.variance = math.inf if infinite else max(second - 1.0, 0.0)
        self.ends: Floats = self._sizes(-np.expm1(-self.levels))

    def _nodes(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the masses, the sizes and exp(-level) at the nodes of each cell of levels."""
        nodes, weights = _lobatto(8)
        half = (high - low)[:, None] / 2.0
        inside = low[:, None] + half * (nodes + 1.0)
        sizes = self._sizes(-np.expm1(-inside.ravel())).reshape(inside.shape)
        tail = np.exp(-inside)
        return weights * half * tail, sizes, tail

    def _integrals(self, low: Floats, high: Floats, unit: float) -> Floats:
        """Return the integrals of the size, and of its square in squared units, over each cell."""
        masses, sizes, _ = self._nodes(low, high)
        return np.array([(masses * sizes).sum(axis=1), (masses * (sizes / unit) ** 2).sum(axis=1)])

    def _integrated(self, grid: Floats, unit: float) -> tuple[Floats, Floats, Floats]:
        """Halve cells until their integrals no longer change, as around a jump of the quantiles.

        Returns the ends of the cells, and the two integrals over each.
        """
        low, high = grid[:-1], grid[1:]
        found = self._integrals(low, high, unit)
        least = ACCURATE * found.sum(axis=1)[:, None]
        kept = []
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            left, right = self._integrals(low, middle, unit), self._integrals(middle, high, unit)
            again = (np.abs(left + right - found) > least).any(axis=0)
            kept.append(np.array([low, high, *found])[:, ~again])
            low = np.concatenate((low[again], middle[again]))
            high = np.concatenate((middle[again], high[again]))
            found = np.hstack((left[:, again], right[:, again]))
            if not 0 < low.size < MOST_CELLS:
                break
        kept.append(np.array([low, high, *found]))
        ends = np.hstack(kept)
        ends = ends[:, np.argsort(ends[0])]
        return np.append(ends[0], ends[1, -1]), ends[2], ends[3]

    def _sizes(self, p: Floats) -> Floats:
        rule = "quantile(p) must return an array of sizes, finite and at least 0, for p in [0, 1)"
        wrong = SizeLawError(f"{self.law}: {rule}; for example scale * p ** 2")
        sizes = as_array(self.law.quantile(p), wrong)
        if sizes.shape != p.shape or not np.all((sizes >= 0.0) & np.isfinite(sizes)):
            raise wrong
        return sizes

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw sizes by inversion."""
        return self._sizes(rng.random(count)) / self.mean

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw from the size-biased distribution by rejection, then a point within each job."""
        shares = np.cumsum(self.work)
        cells = np.searchsorted(shares / shares[-1], rng.random(count), side="right")
        low, high = (-np.expm1(-self.levels[cells + k]) for k in (0, 1))
        most, sizes = self.ends[cells + 1], np.zeros(count)
        left = np.arange(count)
        while left.size:
            p = low[left] + rng.random(left.size) * (high[left] - low[left])
            found = self._sizes(p)
            sizes[left] = found
            # Quantiles grow, so that of the cell's end bounds those within.
            left = left[found < rng.random(left.size) * most[left]]
        return sizes / self.mean * (1.0 - rng.random(count))

    def cdf(self, x: Floats) -> Floats:
        """Return the probability of a size of at most x, by bisection."""
        sizes = x.ravel() * self.mean
        after = np.searchsorted(self.ends, sizes, side="right")
        low = self.levels[np.maximum(after - 1, 0)]
        high = self.levels[np.minimum(after, self.levels.size - 1)]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            above = self._sizes(-np.expm1(-middle)) > sizes
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        found = np.where(after == 0, 0.0, -np.expm1(-low))
        found[after == self.ends.size] = 1.0
        return np.asarray(found.reshape(x.shape))


def _lobatto(count: int) -> tuple[Floats, Floats]:
    """Return the Gauss-Lobatto rule; its nodes at the ends also detect jumps next to them."""
    basis = np.polynomial.Legendre.basis(count - 1)
    nodes = np.concatenate(([-1.0], basis.deriv().roots(), [1.0]))
    return nodes, 2.0 / (count * (count - 1) * basis(nodes) ** 2)


def checked_draws(law: SizeLaw) -> Floats:
    """Return draws that stand for a distribution, after checking that their mean is 1."""
    rule = "sample(rng, count) must return an array of `count` sizes, finite and above 0"
    wrong = SizeLawError(f"{law}: {rule}")
    drawn = law.sample(np.random.default_rng(0), DRAWS)
    sizes = as_array(drawn, wrong)
    if sizes.shape != (DRAWS,) or not np.all((sizes > 0.0) & np.isfinite(sizes)):
        raise SizeLawError(f"{law}: {rule}; it returned {shown(drawn)}")
    mean, error = float(sizes.mean()), float(sizes.std()) / math.sqrt(DRAWS)
    if abs(mean - 1.0) > ERRORS * error + ROUNDING:
        raise SizeLawError(
            f"{law}: the draws have mean {mean:.4g}, but sizes must have mean 1, as mean_size of "
            f"the class scales them; divide them by their mean"
        )
    return sizes


def invert(below: Callable[[Floats], Floats], levels: Floats) -> Floats:
    """Return where a distribution function reaches the levels, by sections for all at once."""
    low, high = np.zeros(levels.size), np.ones(levels.size)
    # Through rounding, a distribution function may not reach a level at all.
    while ((short := below(high) < levels) & np.isfinite(high)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    # Of few levels, a call costs more than its points.
    sections = SECTIONS if levels.size <= FEW_LEVELS else 2
    parts, rows = np.linspace(0.0, 1.0, sections + 1)[1:-1], np.arange(levels.size)
    middle = 0.5 * (low + high)
    # For denormal numbers the tolerance is 0: there, stop at neighbouring numbers.
    while ((high - low > 1e-12 * high) & (low < middle) & (middle < high)).any():
        inner = low[:, np.newaxis] + (high - low)[:, np.newaxis] * parts
        reached = below(inner.ravel()).reshape(inner.shape) >= levels[:, np.newaxis]
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), sections - 1)
        edges = np.column_stack((low, inner, high))
        low, high = edges[rows, first], edges[rows, first + 1]
        middle = 0.5 * (low + high)
    return high


def probabilities(p: ArrayLike) -> Floats:
    """Return p as an array of numbers from 0 to 1."""
    wrong = SizeLawError(f"p={shown(p)} must be numbers from 0 to 1")
    found = as_array(p, wrong)
    if not np.all((found >= 0.0) & (found <= 1.0)):
        raise wrong
    return found


def _rises(tail: Floats) -> bool:
    """Return whether an integrand grows at the largest levels, so that its integral diverges."""
    return bool(tail[-1, -1] > tail[-2, -1] > 0.0)
