"""What can be asked of every law of job sizes?

Samples of sizes, samples of what is left of a size at a random moment of its service, the
distribution function, the variance, and the phases the law is made of, if it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats
from moldable.errors import SizeLawError
from moldable.model.sizes.phases import PhaseRepresentation


class SizeLaw(ABC):
    """A law of job sizes with mean 1; a class of jobs scales it by its mean size.

    Laws are values: they cannot be changed, compare equal when they are the same law with the same
    parameters, and can be sent to other processes. `str` gives the text that `parse` reads back,
    where there is one. To add a law, subclass and answer the abstract questions; no other part of
    the library needs to know.

    Attributes:
        name: what the law is called in text.
        mean: of every law here.
    """

    __slots__ = ()

    name: ClassVar[str]
    mean: ClassVar[float] = 1.0

    @staticmethod
    def parse(text: str, folder: Path = Path()) -> SizeLaw:
        """Read `name`, `name:number,number` or `sizes.csv`; file names are relative to `folder`."""
        # Only here, for the spelling must know every law and every law is a SizeLaw.
        from moldable.model.sizes.spelling import parse_size_law  # noqa: PLC0415

        return parse_size_law(text, folder)

    @property
    @abstractmethod
    def parameters(self) -> tuple[float, ...]:
        """The numbers that tell this law from others of its name."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance, which is the squared coefficient of variation; may be infinite."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw independent sizes."""

    @abstractmethod
    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw what is left of sizes met at a random moment of their service.

        That is the equilibrium law, of density 1 - F(x) (the mean is 1); its own mean is infinite
        where the variance of the sizes is.
        """

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of a size of at most x, elementwise."""

    @property
    def phases(self) -> PhaseRepresentation | None:
        """The law as exponential phases, or None if it is not made of any."""
        return None

    def __str__(self) -> str:
        return spell(self.name, self.parameters)


def spell(name: str, parameters: tuple[float, ...]) -> str:
    """Write a law so that reading it back loses no digit."""
    written = ",".join(repr(value).removesuffix(".0") for value in parameters)
    return f"{name}:{written}" if parameters else name


def size_biased(rng: np.random.Generator, sizes: Floats) -> Floats:
    """Turn draws from the size-biased law into draws of residual sizes, in place.

    A random moment falls into a long job with a probability proportional to its size, and is
    uniform within it.
    """
    # 1 - U is never 0, so that an infinite size times it stays infinite rather than undefined.
    sizes *= 1.0 - rng.random(sizes.size)
    return sizes


def real_numbers(x: ArrayLike) -> Floats:
    """Return an array of numbers, or refuse what is none."""
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise SizeLawError(
            f"sizes of type {type(x).__name__} cannot be read as numbers up to 1e308; pass a "
            f"number or an array of them"
        ) from None


def non_negative(x: ArrayLike) -> Floats:
    """Return an array in which everything below 0, where no size is, has become 0."""
    return np.maximum(real_numbers(x), 0.0)
