"""How does any law that scipy knows become a law of job sizes?

scipy is never imported here: whoever brings one of its laws has imported it already.
"""
# ruff: noqa: D102 - SizeLaw says what the methods do

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats
from moldable.errors import SizeLawError
from moldable.model.sizes.law import SizeLaw, non_negative
from moldable.model.sizes.residual_table import ResidualTable

# What scipy calls a frozen continuous law has all of these; discrete ones have no pdf.
NEEDED: Final = ("dist", "args", "kwds", "pdf")
ACCURACY: Final = 1e-6
"""The residual law is refused if its total, which must be the mean, is further off than this."""
# The first grid, and what laws are compared by: quantiles from one end to the other.
LEVELS: Final = np.concatenate((10.0 ** np.arange(-12.0, -1.0), np.linspace(0.05, 0.5, 10)))


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class FromScipy(SizeLaw):
    """Sizes that follow a continuous law of scipy.stats, rescaled to mean 1.

    Residual sizes are drawn by inverting the tabulated integral of the survival function: their
    distribution function is right to 1e-9 if the law's own `sf` is. The far tail is cut where it
    holds about 1e-12, or where floating point ends; a law that would lose more than `ACCURACY` in
    this way is refused. The table takes some hundredths of a second, once.

    Args:
        frozen: a law with its parameters, such as `scipy.stats.gamma(2.5)`, on positive numbers.

    Attributes:
        frozen: as given.
        own_mean: its mean, by which sizes are divided.
        quantiles: by which laws are compared.
    """

    name: ClassVar[str] = "scipy"

    frozen: Any
    own_mean: float
    quantiles: tuple[float, ...] = field(repr=False)

    def __init__(self, frozen: Any) -> None:
        if not all(hasattr(frozen, attribute) for attribute in NEEDED):
            raise SizeLawError(
                f"{frozen!r} is not a continuous law of scipy.stats with its parameters; give one "
                f"such as scipy.stats.gamma(2.5), or Empirical(sizes) for a list of sizes"
            )
        mean = _mean(frozen)
        object.__setattr__(self, "frozen", frozen)
        object.__setattr__(self, "own_mean", mean)
        quantiles = np.concatenate((frozen.ppf(LEVELS), frozen.isf(LEVELS[::-1])))
        object.__setattr__(self, "quantiles", tuple((quantiles / mean).tolist()))

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers after scipy's name, in scipy's order, as far as they are numbers."""
        given = (*self.frozen.args, *self.frozen.kwds.values())
        return tuple(float(value) for value in given)

    @property
    def variance(self) -> float:
        variance = float(self.frozen.var()) / self.own_mean**2
        # A positive law with a mean has a variance, if only an infinite one.
        return variance if math.isfinite(variance) else math.inf

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        sizes = np.asarray(self.frozen.rvs(size=count, random_state=rng), dtype=np.float64)
        return sizes / self.own_mean

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        return self._residual.invert(rng.random(count))

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.cdf(non_negative(x) * self.own_mean), dtype=np.float64)

    @cached_property
    def _residual(self) -> ResidualTable:
        table = ResidualTable.build(self.survival, self._first_grid())
        if abs(table.total - 1.0) > ACCURACY:
            raise SizeLawError(
                f"{self}: its survival function integrates to {table.total:.9g} of its mean, so "
                f"residual sizes cannot be drawn from it; the tail is too heavy or `sf` inexact. "
                f"Take one of moldable's own laws, such as pareto, or Empirical(sizes)"
            )
        return table

    def survival(self, x: Floats) -> Floats:
        """Return the probability of a size above x, elementwise."""
        return np.asarray(self.frozen.sf(x * self.own_mean), dtype=np.float64)

    def density(self, x: Floats) -> Floats:
        """Return the density at x, elementwise."""
        return np.asarray(self.frozen.pdf(x * self.own_mean), dtype=np.float64) * self.own_mean

    def _first_grid(self) -> Floats:
        """Return 0, the quantiles, and doublings until the tail is negligible."""
        end = float(self.frozen.support()[1]) / self.own_mean
        inner = [q for q in self.quantiles if 0.0 < q < end]
        points = np.unique([0.0, *inner, *([end] if math.isfinite(end) else [])])
        while not math.isfinite(end) and points[-1] < 1e300:  # noqa: PLR2004
            # x S(x) has the order of the integral beyond x, for power tails; lighter ones have less
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
        # scipy's laws only equal themselves, not their copies in other processes.
        if not isinstance(other, FromScipy):
            return NotImplemented
        return type(self.frozen.dist) is type(other.frozen.dist) and (
            self.quantiles == other.quantiles
        )

    def __hash__(self) -> int:
        return hash(self.quantiles)


def _mean(frozen: Any) -> float:
    least, mean = np.asarray(frozen.support()[0]), np.asarray(frozen.mean(), dtype=np.float64)
    if least.ndim or mean.ndim:
        raise SizeLawError(
            "a law of sizes needs single numbers as parameters, not arrays; make one law for each"
        )
    if not least >= 0.0:
        raise SizeLawError(
            f"scipy.stats.{frozen.dist.name} can fall to {float(least):g}, but sizes are above 0; "
            f"shift it with loc=, or take a law on positive numbers"
        )
    if not 0.0 < mean < math.inf:
        raise SizeLawError(
            f"scipy.stats.{frozen.dist.name} has the mean {float(mean):g}; job sizes need a finite "
            f"one, or no load would be small enough: take parameters with a lighter tail"
        )
    return float(mean)
