"""The interface of all distributions of job sizes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats, as_array
from moldable.errors import SizeLawError
from moldable.model.sizes.numerical import QuantileTable, checked_draws, invert, probabilities
from moldable.model.sizes.phases import PhaseRepresentation

if TYPE_CHECKING:
    from moldable.model.sizes.empirical import Empirical


class SizeLaw:
    """A distribution of job sizes with mean 1; a class of jobs scales it by its mean size.

    Distributions are immutable, compare equal when they have the same parameters, and can be
    pickled. `str` gives the text that `parse` reads, where there is one.

    A user's own distribution needs one method: `quantile`, in any unit, or `sample`, with mean 1.
    Everything else follows numerically; override what is known in closed form.

    Attributes:
        name: name of the distribution in text.
        mean: always 1.

    Examples:
        >>> class Triangular(SizeLaw):
        ...     def quantile(self, p):
        ...         return 60.0 * p**0.5
        >>> law = Triangular()
        >>> round(law.variance, 6), round(float(law.cdf(0.75)), 6)
        (0.125, 0.25)
    """

    __slots__ = ()

    name: ClassVar[str] = ""
    mean: ClassVar[float] = 1.0

    @staticmethod
    def parse(text: str, folder: Path = Path()) -> SizeLaw:
        """Read `name`, `name:number,number` or `sizes.csv`; file names are relative to `folder`."""
        # Imported here because the parser imports every subclass.
        from moldable.model.sizes.notation import parse_size_law  # noqa: PLC0415

        return parse_size_law(text, folder)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters of the distribution; by default the arguments of a dataclass."""
        names: tuple[str, ...] = getattr(self, "__match_args__", ())
        return tuple(getattr(self, name) for name in names)

    def quantile(self, p: ArrayLike) -> Floats:
        """Return the size that a share p of the jobs does not exceed, elementwise.

        A user's own method may use any unit: the library divides sizes by their mean.
        """
        if type(self).cdf is SizeLaw.cdf and not _overrides(self, "sample"):
            raise SizeLawError(f"size law {self} needs a method quantile(p) or sample(rng, count)")
        levels = probabilities(p)
        return invert(self.cdf, levels.ravel()).reshape(levels.shape)

    @property
    def variance(self) -> float:
        """The variance, which is the squared coefficient of variation; may be infinite."""
        return self._numerical.variance

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw independent sizes."""
        return self._numerical.sample(rng, count)

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw residual sizes: what is left of a job at a random time during its service.

        Their density is 1 - F(x), since the mean is 1. Their mean is infinite where the variance of
        the sizes is.
        """
        return self._numerical.sample_residual(rng, count)

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of a size of at most x, elementwise."""
        return self._numerical.cdf(non_negative(x))

    @property
    def _numerical(self) -> QuantileTable | Empirical:
        """What follows from the one method that a user's own distribution has."""
        found: QuantileTable | Empirical | None = getattr(self, "_numbers", None)
        if found is None:
            if _overrides(self, "quantile") or not _overrides(self, "sample"):
                found = QuantileTable(self)
            else:
                # Imported here because it is a subclass.
                from moldable.model.sizes.empirical import Empirical  # noqa: PLC0415

                found = Empirical(checked_draws(self))
            with suppress(AttributeError):  # a class with slots computes it again
                object.__setattr__(self, "_numbers", found)
        return found

    @property
    def phases(self) -> PhaseRepresentation | None:
        """The phase-type representation, or None if there is none."""
        return None

    def __repr__(self) -> str:
        """Show a user's own distribution; those of the library show their arguments."""
        return f"<size law {self}>"

    def __str__(self) -> str:
        return spell(self.name or type(self).__name__, self.parameters)


def _overrides(law: SizeLaw, method: str) -> bool:
    return getattr(type(law), method) is not getattr(SizeLaw, method)


def spell(name: str, parameters: tuple[float, ...]) -> str:
    """Write a distribution so that reading it back loses no digit."""
    written = ",".join(repr(value).removesuffix(".0") for value in parameters)
    return f"{name}:{written}" if parameters else name


def residuals(rng: np.random.Generator, sizes: Floats) -> Floats:
    """Turn draws from the size-biased distribution into residual sizes.

    A random time falls into a job with a probability proportional to its size, and is uniform
    within it.
    """
    # 1 - U is never 0, so an infinite size stays infinite.
    return sizes * (1.0 - rng.random(sizes.size))


def real_numbers(x: ArrayLike) -> Floats:
    """Return x as an array of floats."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64:
        return x.copy()
    rule = f"sizes of type {type(x).__name__} cannot be read as numbers up to 1e308"
    return as_array(x, SizeLawError(f"{rule}; pass a number or an array of them"))


def non_negative(x: ArrayLike) -> Floats:
    """Return x as an array of floats with negative values replaced by 0."""
    return np.maximum(real_numbers(x), 0.0)
