"""Arrival processes.

The paper assumes Poisson arrivals; in real traces the coefficient of variation of the time between
arrivals is 2 to 9. The rate of a process comes from the workload, except for a list of arrival
times, which has its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from moldable.arrays import Floats, Ints, as_array
from moldable.checks import LARGEST, SMALLEST, as_list, check_type, number
from moldable.errors import WorkloadError, shortened
from moldable.model.arrival_streams import ArrivalStream, Gaps, Listed, Modulated
from moldable.model.sizes import SizeLaw

LONGEST: Final = 1e9
"""Longest time to the first arrival, in mean gaps. Residual gaps have an infinite mean where gaps
have an infinite variance; after a longer first gap, rounding would make later arrivals coincide."""


class Arrivals(ABC):
    """An arrival process.

    Examples:
        >>> isinstance(Poisson(), Arrivals)
        True
    """

    @abstractmethod
    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Start a stationary realisation with this mean rate; times are multiplied by `scale`."""

    @property
    def labels(self) -> Ints | None:
        """The class of each arrival, if the process determines it."""
        return None


@final
@dataclass(frozen=True)
class Poisson(Arrivals):
    """Poisson arrivals.

    Examples:
        >>> str(Poisson())
        'poisson'
    """

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Start a realisation."""
        return Gaps(rng.standard_exponential, scale / rate)

    def __str__(self) -> str:
        return "poisson"


@final
@dataclass(frozen=True)
class Renewal(Arrivals):
    """Independent times between arrivals with any distribution.

    Args:
        gap: distribution of the time between arrivals, or text such as "lognormal:2"; its mean 1
            is scaled to the rate.

    Examples:
        >>> str(Renewal(Lognormal(2)))
        'renewal:lognormal:2'
    """

    gap: SizeLaw

    if TYPE_CHECKING:

        def __init__(self, gap: SizeLaw | str) -> None: ...

    def __post_init__(self) -> None:
        if isinstance(self.gap, str):
            object.__setattr__(self, "gap", SizeLaw.parse(self.gap))
        check_type(self.gap, SizeLaw, "gap", WorkloadError, "a law such as Lognormal(2)")

    def first_gap(self, rng: np.random.Generator) -> float:
        """Draw the time to the first arrival in equilibrium, in mean gaps."""
        return min(float(self.gap.sample_residual(rng, 1)[0]), LONGEST)

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Start a stationary realisation."""
        first = self.first_gap(rng)
        return Gaps(lambda count: self.gap.sample(rng, count), scale / rate, first)

    def __str__(self) -> str:
        return f"renewal:{self.gap}"


@final
@dataclass(frozen=True)
class MarkovModulated(Arrivals):
    """Markov-modulated Poisson arrivals: the rate jumps between levels.

    Args:
        levels: relative rates of the levels, scaled so that their long-run mean is the rate.
        switching: rate of jumps from each level (row) to each other level (column).

    Examples:
        >>> str(MarkovModulated((0.5, 2), ((0, 0.1), (0.2, 0))))
        'mmpp:0.5,2.0:0.1,0.2'
    """

    levels: tuple[float, ...]
    switching: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        levels = _numbers(self.levels, "levels", "a list of numbers")
        example = "a row of rates for each level, [[0, 0.1], [0.2, 0]]"
        rows = as_list(self.switching, "switching", WorkloadError, example)
        switching = tuple(_numbers(row, "switching", example) for row in rows)
        shape = {len(row) for row in switching} | {len(switching)}
        if len(levels) < 2 or shape != {len(levels)}:  # noqa: PLR2004 - one level is Poisson
            raise WorkloadError(
                f"{len(levels)} levels with switching rows of lengths "
                f"{shortened(map(len, switching))}; give at least two levels and a square matrix "
                f"of jump rates"
            )
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "switching", switching)
        if min(self.leaving().min(), *levels) < 0.0:
            raise WorkloadError("levels and switching rates must be at least 0")
        if max(levels) == 0.0:
            raise WorkloadError("at least one level must be above 0, or no job ever arrives")
        self._refuse_reducible()

    def _refuse_reducible(self) -> None:
        """Raise unless every level can be reached from every other."""
        reached = (self.leaving() > 0.0) | np.eye(len(self.levels), dtype=np.bool_)
        for _ in range(len(self.levels).bit_length()):
            reached = reached @ reached
        for origin, goal in np.argwhere(~reached):
            raise WorkloadError(
                f"level {goal} (counted from 0) cannot be reached from level {origin}; give "
                f"switching rates above 0 that lead from every level to every other, or leave "
                f"levels out"
            )

    def shares(self) -> Floats:
        """Return the long-run share of time spent in each level."""
        # Algorithm of Grassmann, Taksar and Heyman: without subtractions, so that even the rarest
        # level has an accurate share.
        rates = self.leaving()
        for last in range(len(rates) - 1, 0, -1):
            rates[:last, last] /= rates[last, :last].sum()
            rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
            np.fill_diagonal(rates, 0.0)
        shares = np.ones(1)
        for level in range(1, len(rates)):
            shares = np.append(shares, shares @ rates[:level, level])
        return np.asarray(shares / shares.sum())

    def changes(self, rate: float) -> float:
        """Return the expected number of jumps before the next arrival, from the worst level."""
        leaving = self.leaving()
        total = leaving.sum(axis=1)
        jumps = leaving / (total + self.rates(rate))[:, None]
        return float(np.linalg.solve(np.eye(total.size) - jumps, jumps.sum(axis=1)).max())

    def rates(self, rate: float) -> Floats:
        """Return the arrival rate in each level, for the long-run mean `rate`."""
        levels = np.array(self.levels)
        return np.asarray(levels * rate / float(self.shares() @ levels))

    def leaving(self) -> Floats:
        """Return the rates of jumps, with zeros on the diagonal."""
        off = np.array(self.switching, dtype=np.float64)
        np.fill_diagonal(off, 0.0)
        return off

    def first_level(self, rng: np.random.Generator) -> int:
        """Draw the level at time 0 from the stationary distribution."""
        shares = self.shares()
        return int(rng.choice(shares.size, p=shares / shares.sum()))

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Start a stationary realisation."""
        levels, leaving = self.rates(rate) / scale, self.leaving() / scale
        return Modulated(levels, leaving, rng, self.first_level(rng))

    def __str__(self) -> str:
        jumps = [rate for i, row in enumerate(self.switching) for rate in row[:i] + row[i + 1 :]]
        parts = (",".join(f"{value!r}" for value in values) for values in (self.levels, jumps))
        return f"mmpp:{':'.join(parts)}"


@final
@dataclass(frozen=True, eq=False, repr=False)
class ArrivalTimes(Arrivals):
    """A given list of arrival times, the same in every replication.

    Args:
        times: ascending arrival times; the run starts at the first one.
        classes: position of the class of each arrival in the workload; by default classes are drawn
            in proportion to their rates.
        source: the name of their file.

    Examples:
        >>> ArrivalTimes([0.0, 0.5, 2.0])
        ArrivalTimes(3 arrival times)
    """

    times: Sequence[float] | Floats
    classes: Sequence[int] | Ints | None = None
    source: str = ""

    def __post_init__(self) -> None:
        times = as_array(self.times, WorkloadError("arrival times must be a list of numbers"))
        if times.ndim != 1 or times.size == 0 or not np.isfinite(times).all():
            raise WorkloadError("arrival times must be a list of at least one finite number")
        if np.any(np.diff(times) < 0.0):
            raise WorkloadError("arrival times must be ascending; sort them")
        object.__setattr__(self, "times", times)
        if self.classes is not None:
            error = WorkloadError("classes must be a list of whole numbers from 0")
            classes = as_array(self.classes, error, np.int64)
            if classes.shape != times.shape or classes.min() < 0:
                raise WorkloadError("give one class, from 0 on, for each arrival time")
            object.__setattr__(self, "classes", classes)

    def stream(
        self,
        rate: float,  # noqa: ARG002 - a list has its own rate
        rng: np.random.Generator,  # noqa: ARG002 - and is not random
        scale: float = 1.0,
    ) -> ArrivalStream:
        """Start at the first arrival."""
        times = np.asarray(self.times)
        return Listed((times - times[0]) * scale)

    @property
    def labels(self) -> Ints | None:
        """The given classes, if any."""
        return None if self.classes is None else np.asarray(self.classes)

    def __str__(self) -> str:
        return self.source or f"{len(self.times)} arrival times"

    def __repr__(self) -> str:
        return f"ArrivalTimes({self})"


def _numbers(values: Iterable[float], what: str, example: str) -> tuple[float, ...]:
    given = as_list(values, what, WorkloadError, example)
    found = tuple(number(value, what, WorkloadError) for value in given)
    for value in found:
        if value != 0.0 and not SMALLEST <= abs(value) <= LARGEST:
            raise WorkloadError(
                f"{what}: {value:g} must be finite, and 0 or between {SMALLEST:g} and {LARGEST:g}"
            )
    return found
