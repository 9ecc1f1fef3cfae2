"""The empirical distribution of measured job sizes.

Sizes come from an array, or from a CSV file: one on each line, or the column `size` of several.
"""
# ruff: noqa: D102 - documented in SizeLaw

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats, as_array
from moldable.checks import as_list, checked_path
from moldable.csv_columns import read_column
from moldable.errors import InputError, SizeLawError
from moldable.model.sizes.law import SizeLaw, real_numbers, residuals

COLUMN: Final = ("size", "service_time", "duration", "runtime", "run_time", "elapsed", "walltime")
"""Names of the column of sizes in a CSV file."""


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Empirical(SizeLaw):
    """Sizes drawn with equal probability from measured ones, rescaled to mean 1.

    Set the `mean_size` of the class to `measured_mean`; workload files and the command line do this
    automatically.

    Args:
        sizes: the measured sizes, in any order and unit.
        source: the name of their file.

    Attributes:
        sizes: the rescaled sizes, ascending and read-only.
        measured_mean: the mean before rescaling.
        source: the name of their file.

    Examples:
        >>> Empirical([30, 10, 20]).measured_mean
        20.0
    """

    name: ClassVar[str] = "empirical"

    sizes: Floats
    measured_mean: float
    source: str
    # Cumulative shares of the work, smallest sizes first: the size-biased distribution.
    _work: Floats = field(repr=False)

    def __init__(self, sizes: Iterable[float] | Floats, source: str = "") -> None:
        given = np.sort(_measured(sizes))
        # Divided by the largest first, because the sum of large sizes could overflow.
        largest = float(given[-1])
        given /= largest
        object.__setattr__(self, "measured_mean", float(given.mean()) * largest)
        given /= given.mean()
        work = np.cumsum(given)
        work /= work[-1]
        given.flags.writeable = work.flags.writeable = False
        object.__setattr__(self, "sizes", given)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "_work", work)

    @classmethod
    def read(cls, path: Path | str, source: str = "") -> Empirical:
        """Read measured sizes from a CSV file; errors name the file and the line."""
        path = checked_path(path)
        column = read_column(path, COLUMN)
        for line, size in column:
            if not 0.0 < size < math.inf:
                raise InputError(
                    f"{path}, line {line}: size {size:g} must be finite and above 0; leave out "
                    f"jobs that did nothing or never ended"
                )
        return cls([size for _, size in column], source or str(path))

    @property
    def parameters(self) -> tuple[float, ...]:
        return tuple(self.sizes.tolist())

    @property
    def variance(self) -> float:
        return float(np.mean((self.sizes - 1.0) ** 2))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self.sizes[rng.integers(0, self.sizes.size, count)]

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        chosen = np.searchsorted(self._work, rng.random(count), side="right")
        return residuals(rng, self.sizes[chosen])

    def cdf(self, x: ArrayLike) -> Floats:
        at_most = np.searchsorted(self.sizes, real_numbers(x), side="right")
        return np.asarray(at_most / self.sizes.size, dtype=np.float64)

    def __str__(self) -> str:
        return self.source or f"empirical law of {self.sizes.size} sizes"

    def __repr__(self) -> str:
        return f"Empirical({self.sizes.size} sizes{self.source and f' from {self.source!r}'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Empirical):
            return NotImplemented
        return np.array_equal(self.sizes, other.sizes)

    def __hash__(self) -> int:
        return hash(self.sizes.tobytes())


def _measured(sizes: Iterable[float] | Floats) -> Floats:
    error = SizeLawError("empirical size law: the sizes must be a list of numbers")
    if not isinstance(sizes, np.ndarray):
        sizes = as_list(sizes, "sizes", SizeLawError, "[30, 10]")
    array = as_array(sizes, error)
    if array.ndim != 1 or array.size == 0:
        raise SizeLawError(
            f"empirical size law: give at least one size, in one list; got shape {array.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0.0)))
    if bad.size:
        raise SizeLawError(
            f"empirical size law: size number {bad[0] + 1} is {array[bad[0]]:g}; sizes must be "
            f"finite and above 0: leave out jobs that did nothing or never ended"
        )
    return array
