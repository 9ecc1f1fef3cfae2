"""Constant, Pareto, lognormal and Weibull job sizes.

The size-biased distribution of each has a closed form, so residual sizes are drawn exactly.
"""
# ruff: noqa: D102 - documented in SizeLaw

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats
from moldable.checks import LARGEST, positive, within
from moldable.errors import SizeLawError
from moldable.model.sizes.law import SizeLaw, non_negative, residuals, spell

LEAST_WEIBULL: Final = 0.01
"""Below this shape nearly all Weibull sizes of mean 1 are below 1e-150."""

# numpy has no error function, and importing scipy for one would be slow.
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@final
@dataclass(frozen=True, slots=True)
class Deterministic(SizeLaw):
    """Constant sizes.

    Examples:
        >>> Deterministic().variance
        0.0
    """

    name: ClassVar[str] = "deterministic"

    @property
    def variance(self) -> float:
        return 0.0

    def sample(self, rng: np.random.Generator, count: int) -> Floats:  # noqa: ARG002
        return np.ones(count)

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        return residuals(rng, np.ones(count))

    def cdf(self, x: ArrayLike) -> Floats:
        return np.where(non_negative(x) >= 1.0, 1.0, 0.0)


@final
@dataclass(frozen=True, slots=True)
class Pareto(SizeLaw):
    """Pareto-distributed sizes: P(X > x) = (least / x)^shape for x above the smallest size.

    Residual sizes have an infinite mean up to shape 2; with a shape just above 1 some overflow to
    infinity.

    Args:
        shape: above 1, so that the mean is finite; the paper uses 1.5.

    Examples:
        >>> Pareto(1.5).variance
        inf
    """

    name: ClassVar[str] = "pareto"

    shape: float = 1.5

    def __post_init__(self) -> None:
        shape = positive(self.shape, "size law pareto: shape", SizeLawError)
        if shape <= 1.0:
            raise SizeLawError(
                f"size law {spell(self.name, (shape,))} has an infinite mean; take a shape above 1"
            )
        object.__setattr__(self, "shape", shape)

    @property
    def least(self) -> float:
        """The smallest size."""
        return (self.shape - 1.0) / self.shape

    @property
    def variance(self) -> float:
        infinite = self.shape <= 2.0  # noqa: PLR2004
        return math.inf if infinite else 1.0 / (self.shape * (self.shape - 2.0))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self._power(rng, count, self.shape)

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        # The size-biased distribution is Pareto with shape - 1.
        return residuals(rng, self._power(rng, count, self.shape - 1.0))

    def _power(self, rng: np.random.Generator, count: int, shape: float) -> Floats:
        with np.errstate(over="ignore"):
            return self.least * np.exp(rng.standard_exponential(count) / shape)

    def cdf(self, x: ArrayLike) -> Floats:
        ratio = self.least / np.maximum(non_negative(x), self.least)
        return 1.0 - np.power(ratio, self.shape)


@final
@dataclass(frozen=True, slots=True)
class Lognormal(SizeLaw):
    """Lognormal sizes.

    Args:
        cv: the coefficient of variation, above 0.

    Examples:
        >>> Lognormal(2).variance
        4.0
    """

    name: ClassVar[str] = "lognormal"

    cv: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "cv", positive(self.cv, "size law lognormal: cv", SizeLawError))

    @property
    def variance(self) -> float:
        return self.cv * self.cv

    @property
    def sigma(self) -> float:
        """The standard deviation of the logarithm, whose mean is -sigma^2 / 2."""
        return math.sqrt(math.log1p(self.cv * self.cv))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self._exp_normal(rng, count, -0.5 * self.sigma**2)

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        # Size-biasing shifts the normal logarithm by sigma^2.
        return residuals(rng, self._exp_normal(rng, count, 0.5 * self.sigma**2))

    def _exp_normal(self, rng: np.random.Generator, count: int, mu: float) -> Floats:
        return np.exp(rng.standard_normal(count) * self.sigma + mu)

    def cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            logarithm = np.log(non_negative(x))
        z = (logarithm + 0.5 * self.sigma**2) / self.sigma
        return np.asarray(0.5 * _erfc(-z / math.sqrt(2.0)), dtype=np.float64)


@final
@dataclass(frozen=True, slots=True)
class Weibull(SizeLaw):
    """Weibull-distributed sizes: P(X > x) = exp(-(x / scale)^shape).

    Args:
        shape: below 1 the tail is heavier than exponential, above 1 lighter.

    Examples:
        >>> round(Weibull(0.7).variance, 4)
        2.1387
    """

    name: ClassVar[str] = "weibull"

    shape: float

    def __post_init__(self) -> None:
        hint = "smaller shapes are beyond floating point"
        name = "size law weibull: shape"
        shape = within(self.shape, name, SizeLawError, LEAST_WEIBULL, LARGEST, hint)
        object.__setattr__(self, "shape", shape)

    @property
    def scale(self) -> float:
        """The scale that makes the mean 1."""
        return math.exp(-math.lgamma(1.0 + 1.0 / self.shape))

    @property
    def variance(self) -> float:
        power = 1.0 / self.shape
        return math.expm1(math.lgamma(1.0 + 2.0 * power) - 2.0 * math.lgamma(1.0 + power))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self._root(rng.standard_exponential(count))

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        # With y = (x / scale)^shape, x f(x) dx is proportional to y^(1/shape) exp(-y) dy.
        return residuals(rng, self._root(rng.standard_gamma(1.0 + 1.0 / self.shape, count)))

    def _root(self, y: Floats) -> Floats:
        return self.scale * np.power(y, 1.0 / self.shape)

    def cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(over="ignore"):
            return -np.expm1(-np.power(non_negative(x) / self.scale, self.shape))
