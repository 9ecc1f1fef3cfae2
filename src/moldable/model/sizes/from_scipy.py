"""Job sizes with any continuous distribution of scipy.stats.

scipy is not imported here: a caller that passes one of its distributions has imported it.
"""
# ruff: noqa: D102 - documented in SizeLaw

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats
from moldable.errors import SizeLawError
from moldable.model.sizes.law import SizeLaw, non_negative

# Attributes of scipy's frozen continuous distributions; discrete ones have no pdf.
NEEDED: Final = ("dist", "args", "kwds", "pdf")
ACCURACY: Final = 1e-6
"""Largest error of the integral of the survival function, which must be the mean."""
# Quantiles on the first grid, by which distributions are also compared.
LEVELS: Final = np.concatenate((10.0 ** np.arange(-12.0, -1.0), np.linspace(0.05, 0.5, 10)))
TOLERANCE: Final = 1e-9
"""Largest error of the trapezoidal rule on one interval of the table, relative to the mean."""
MOST_ROUNDS: Final = 60
"""Largest number of times an interval is halved; it then encloses a jump of the survival function.
"""


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class FromScipy(SizeLaw):
    """Sizes with a continuous distribution of scipy.stats, rescaled to mean 1.

    Residual sizes are drawn by inverting the tabulated integral of the survival function. Their
    distribution function is accurate to 1e-9 if `sf` is. The tail is truncated where it holds about
    1e-12, or at the end of the floating-point range; a distribution that would lose more than
    `ACCURACY` is refused. Making the table takes some hundredths of a second, once.

    Args:
        frozen: a distribution with its parameters, such as `scipy.stats.gamma(2.5)`, on positive
            numbers.

    Attributes:
        frozen: the distribution.
        own_mean: its mean, by which sizes are divided.
        quantiles: by which distributions are compared.

    Examples:
        >>> from scipy import stats
        >>> round(FromScipy(stats.gamma(2.5)).variance, 4)
        0.4
    """

    name: ClassVar[str] = "scipy"

    frozen: Any
    own_mean: float
    quantiles: tuple[float, ...] = field(repr=False)

    def __init__(self, frozen: Any) -> None:
        if not all(hasattr(frozen, attribute) for attribute in NEEDED):
            raise SizeLawError(
                f"{frozen!r} is not a continuous distribution of scipy.stats with its parameters; "
                f"give one such as scipy.stats.gamma(2.5), or Empirical(sizes) for a list of sizes"
            )
        mean = _mean(frozen)
        quantiles = np.concatenate((frozen.ppf(LEVELS), frozen.isf(LEVELS[::-1])))
        object.__setattr__(self, "frozen", frozen)
        object.__setattr__(self, "own_mean", mean)
        object.__setattr__(self, "quantiles", tuple((quantiles / mean).tolist()))

    @property
    def parameters(self) -> tuple[float, ...]:
        return tuple(float(value) for value in (*self.frozen.args, *self.frozen.kwds.values()))

    @property
    def variance(self) -> float:
        variance = float(self.frozen.var()) / self.own_mean**2
        # scipy returns NaN for some infinite variances.
        return variance if math.isfinite(variance) else math.inf

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        sizes = np.asarray(self.frozen.rvs(size=count, random_state=rng), dtype=np.float64)
        return sizes / self.own_mean

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        return self._residual.invert(rng.random(count))

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.cdf(non_negative(x) * self.own_mean), dtype=np.float64)

    def survival(self, x: Floats) -> Floats:
        """Return the probability of a size above x, elementwise."""
        return np.asarray(self.frozen.sf(x * self.own_mean), dtype=np.float64)

    def density(self, x: Floats) -> Floats:
        """Return the density at x, elementwise."""
        return np.asarray(self.frozen.pdf(x * self.own_mean), dtype=np.float64) * self.own_mean

    @cached_property
    def _residual(self) -> ResidualTable:
        table = ResidualTable.build(self.survival, self._first_grid())
        if abs(table.total - 1.0) > ACCURACY:
            raise SizeLawError(
                f"{self}: its survival function integrates to {table.total:.9g} of its mean, so "
                f"residual sizes cannot be drawn from it; the tail is too heavy or `sf` inexact. "
                f"Take one of moldable's own distributions, such as pareto, or Empirical(sizes)"
            )
        return table

    def _first_grid(self) -> Floats:
        """Return 0, the quantiles, and doublings until the tail is negligible."""
        end = float(self.frozen.support()[1]) / self.own_mean
        inner = [q for q in self.quantiles if 0.0 < q < end]
        points = np.unique([0.0, *inner, *([end] if math.isfinite(end) else [])])
        while not math.isfinite(end) and points[-1] < 1e300:  # noqa: PLR2004
            # For power tails x S(x) has the order of the integral beyond x; lighter ones have less.
            if points[-1] * self.survival(points[-1:])[0] <= 1e-12:  # noqa: PLR2004
                break
            points = np.append(points, 2.0 * points[-1])
        return points

    def __str__(self) -> str:
        written = ", ".join(f"{value:g}" for value in self.parameters)
        return f"scipy.stats.{self.frozen.dist.name}({written})"

    def __repr__(self) -> str:
        return f"FromScipy({self})"

    def __eq__(self, other: object) -> bool:
        # Frozen distributions of scipy do not compare equal to their copies in other processes.
        if not isinstance(other, FromScipy):
            return NotImplemented
        same_family = type(self.frozen.dist) is type(other.frozen.dist)
        return same_family and self.quantiles == other.quantiles

    def __hash__(self) -> int:
        return hash(self.quantiles)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResidualTable:
    """The integral of a survival function S, from which residual sizes are drawn by inversion.

    The grid is refined until S is nearly linear between neighbouring points.

    Attributes:
        points: the grid, ascending from 0.
        survival: S at the points.
        integral: the integral of S from 0 to the points.
    """

    points: Floats
    survival: Floats
    integral: Floats

    @classmethod
    def build(cls, survival: Callable[[Floats], Floats], points: Floats) -> ResidualTable:
        """Refine a grid that reaches from 0 to where S is negligible."""
        tolerance = TOLERANCE * float(_areas(survival, points).sum())
        for _ in range(MOST_ROUNDS):
            heights = survival(points)
            sums, widths = heights[1:] + heights[:-1], np.diff(points)
            middles = (points[1:] + points[:-1]) / 2.0
            coarse = np.abs(widths * sums / 2.0 - _areas(survival, points)) > tolerance
            # The areas agree by chance where S falls steeply in the middle of the interval.
            coarse |= np.abs(survival(middles) - sums / 2.0) * widths > tolerance
            # There may be no floating-point number between neighbours.
            coarse &= (points[:-1] < middles) & (middles < points[1:])
            if not coarse.any():
                break
            points = np.sort(np.concatenate((points, middles[coarse])))
        integral = np.concatenate(([0.0], np.cumsum(_areas(survival, points))))
        return cls(points, survival(points), integral)

    @property
    def total(self) -> float:
        """The whole integral: the mean, without the truncated tail."""
        return float(self.integral[-1])

    def invert(self, share: Floats) -> Floats:
        """Return where the integral reaches the given shares of its total."""
        target = share * self.total
        left = np.searchsorted(self.integral, target, side="right") - 1
        left = np.clip(left, 0, self.points.size - 2)
        width, area = np.diff(self.points)[left], np.diff(self.integral)[left]
        begin, end = self.survival[left], self.survival[left + 1]
        # With S linear from `begin` to `end`, the area up to a fraction y of the interval solves
        # begin y + (end - begin) y^2 / 2 = wanted; this form of the root does not cancel.
        within = np.divide(
            target - self.integral[left], area, out=np.zeros_like(area), where=area > 0
        )
        wanted = np.clip(within, 0.0, 1.0) * (begin + end) / 2.0
        root = begin + np.sqrt(np.maximum(begin**2 + 2.0 * (end - begin) * wanted, 0.0))
        y = np.divide(2.0 * wanted, root, out=np.zeros_like(root), where=root > 0)
        return np.asarray(self.points[left] + width * np.minimum(y, 1.0), dtype=np.float64)


def _areas(survival: Callable[[Floats], Floats], points: Floats) -> Floats:
    """Return the integral over each interval, by Gauss quadrature with eight points."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(points)[:, None] / 2.0
    inside = points[:-1, None] + half * (nodes + 1.0)
    heights = survival(inside.ravel()).reshape(inside.shape)
    return np.asarray((heights * weights * half).sum(axis=1), dtype=np.float64)


def _mean(frozen: Any) -> float:
    least, mean = np.asarray(frozen.support()[0]), np.asarray(frozen.mean(), dtype=np.float64)
    if least.ndim or mean.ndim:
        raise SizeLawError(
            "a size distribution needs single numbers as parameters, not arrays; make one "
            "distribution for each"
        )
    if not least >= 0.0:
        raise SizeLawError(
            f"scipy.stats.{frozen.dist.name} can fall to {float(least):g}, but sizes are above 0; "
            f"shift it with loc=, or take a distribution on positive numbers"
        )
    if not 0.0 < mean < math.inf:
        raise SizeLawError(
            f"scipy.stats.{frozen.dist.name} has the mean {float(mean):g}; job sizes need a finite "
            f"one, or no load would be small enough: take parameters with a lighter tail"
        )
    return float(mean)
