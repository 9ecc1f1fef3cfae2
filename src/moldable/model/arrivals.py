"""When do jobs arrive?

The paper's arrivals are Poisson. No real trace is: the coefficient of variation of the time between
arrivals is 2 to 9 there. A process here has a shape; its rate comes from the workload, except for a
list of arrival times, which has its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import LARGEST, SMALLEST, check_type, number
from moldable.errors import WorkloadError, shortened
from moldable.model.sizes import SizeLaw

LONGEST: Final = 1e9
"""Longest time to the first arrival, in mean gaps. Equilibrium residual gaps have no mean where
gaps have no variance; on a clock that starts with such a gap, later arrivals would coincide."""


class ArrivalStream(Protocol):
    """Arrival times, handed out in blocks."""

    def take(self, count: int) -> Floats:
        """Return the next arrival times, ascending; fewer when a list has run out."""


class Arrivals(ABC):
    """A process of arrivals."""

    @abstractmethod
    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Begin a realisation with this mean rate, in equilibrium at time 0.

        Times are handed out multiplied by `scale`, that is, in units of 1/scale.
        """

    @property
    def labels(self) -> Ints | None:
        """The class of each arrival, where the process knows it."""
        return None


@final
@dataclass(frozen=True)
class Poisson(Arrivals):
    """Independent exponential times between arrivals."""

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Begin a realisation."""
        return _Gaps(rng.standard_exponential, scale / rate)

    def __str__(self) -> str:
        return "poisson"


@final
@dataclass(frozen=True)
class Renewal(Arrivals):
    """Independent times between arrivals with any law.

    Args:
        gap: the law of the time between arrivals; its unit mean is scaled to the rate.
    """

    gap: SizeLaw

    def __post_init__(self) -> None:
        check_type(self.gap, SizeLaw, "gap", WorkloadError, "a law such as Pareto(1.5)")

    def first_gap(self, rng: np.random.Generator) -> float:
        """Draw the time to the first arrival, in mean gaps, from the equilibrium residual law."""
        return min(float(self.gap.sample_residual(rng, 1)[0]), LONGEST)

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Begin a realisation in equilibrium."""
        first = self.first_gap(rng)
        return _Gaps(lambda count: self.gap.sample(rng, count), scale / rate, first)

    def __str__(self) -> str:
        return f"renewal:{self.gap}"


@final
@dataclass(frozen=True)
class MarkovModulated(Arrivals):
    """Poisson arrivals whose rate jumps between levels.

    Args:
        levels: relative rates of the levels, scaled so that their long-run mean is the rate.
        switching: rate of jumps from each level (row) to each other (column), per unit of time.
    """

    levels: tuple[float, ...]
    switching: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        levels = _numbers(self.levels, "levels")
        switching = tuple(_numbers(row, "switching rates") for row in _rows(self.switching))
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
        """Refuse levels that are never entered again: long-run shares need one recurrent class."""
        reached = (self.leaving() > 0.0) | np.eye(len(self.levels), dtype=np.bool_)
        for _ in range(len(self.levels).bit_length()):
            reached = reached @ reached
        if reached.all():
            return
        silent = ~(reached @ (np.array(self.levels) > 0.0))
        origin, goal = np.argwhere(~reached & (silent[:, None] | ~silent.any()))[0].tolist()
        raise WorkloadError(
            f"level {goal} (counted from 0) cannot be reached from level {origin}, so the process "
            f"{'falls silent for ever' if silent.any() else 'never returns'}; give switching rates "
            f"above 0 that lead from every level to every other, or leave levels out"
        )

    def shares(self) -> Floats:
        """Return the long-run share of time spent in each level."""
        # Elimination after Grassmann, Taksar and Heyman: nothing is subtracted, so that even the
        # rarest level has a share above 0.
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
        """Return the expected changes of level until the next arrival, from the worst level."""
        leaving = self.leaving()
        total = leaving.sum(axis=1)
        jumps = leaving / (total + self.rates(rate))[:, None]
        return float(np.linalg.solve(np.eye(total.size) - jumps, jumps.sum(axis=1)).max())

    def rates(self, rate: float) -> Floats:
        """Return the rate of arrivals in each level that makes their long-run mean `rate`."""
        levels = np.array(self.levels)
        return np.asarray(levels * rate / float(self.shares() @ levels))

    def leaving(self) -> Floats:
        """Return the rates of jumps, with zeros on the diagonal."""
        off = np.array(self.switching, dtype=np.float64)
        np.fill_diagonal(off, 0.0)
        return off

    def first_level(self, rng: np.random.Generator) -> int:
        """Draw the level at time 0 from the long-run shares."""
        shares = self.shares()
        return int(rng.choice(shares.size, p=shares / shares.sum()))

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Begin a realisation with the level drawn from its long-run shares."""
        levels, leaving = self.rates(rate) / scale, self.leaving() / scale
        return _Modulated(levels, leaving, rng, self.first_level(rng))

    def __str__(self) -> str:
        jumps = [rate for i, row in enumerate(self.switching) for rate in row[:i] + row[i + 1 :]]
        parts = (",".join(f"{value!r}" for value in values) for values in (self.levels, jumps))
        return f"mmpp:{':'.join(parts)}"


@final
@dataclass(frozen=True, eq=False)
class ArrivalTimes(Arrivals):
    """A given list of arrival times, the same in every replication.

    Args:
        times: ascending; the first arrival begins the run, whatever its time.
        classes: the class of each arrival as its position in the workload; by default drawn from
            the classes' rates.
        source: the file they came from.
    """

    times: Sequence[float] | Floats
    classes: Sequence[int] | Ints | None = None
    source: str = ""

    def __post_init__(self) -> None:
        try:
            times = np.array(self.times, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise WorkloadError("arrival times must be a list of numbers") from None
        if times.ndim != 1 or times.size == 0 or not np.isfinite(times).all():
            raise WorkloadError("arrival times must be a list of at least one finite number")
        if np.any(np.diff(times) < 0.0):
            raise WorkloadError("arrival times must be ascending; sort them")
        object.__setattr__(self, "times", times)
        if self.classes is not None:
            try:
                classes = np.array(self.classes, dtype=np.int64)
            except (TypeError, ValueError, OverflowError):
                raise WorkloadError("classes must be a list of whole numbers from 0") from None
            if classes.shape != times.shape or classes.min() < 0:
                raise WorkloadError("give one class, from 0 on, for each arrival time")
            object.__setattr__(self, "classes", classes)

    def stream(
        self,
        rate: float,  # noqa: ARG002 - a list has its own
        rng: np.random.Generator,  # noqa: ARG002 - and nothing random
        scale: float = 1.0,
    ) -> ArrivalStream:
        """Begin at the first time."""
        times = np.asarray(self.times)
        return _Listed((times - times[0]) * scale)

    @property
    def labels(self) -> Ints | None:
        """The given classes."""
        return None if self.classes is None else np.asarray(self.classes)

    def __str__(self) -> str:
        return self.source or f"{len(self.times)} arrival times"


def _rows(matrix: object) -> list[object]:
    if isinstance(matrix, str) or not isinstance(matrix, Iterable):
        raise WorkloadError(f"switching must be a list of rows of numbers, got {matrix!r:.80}")
    return list(matrix)


def _numbers(values: object, what: str) -> tuple[float, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise WorkloadError(f"{what} must be a list of numbers, got {values!r:.80}")
    found = tuple(number(value, what, WorkloadError) for value in values)
    for value in found:
        if value != 0.0 and not SMALLEST <= abs(value) <= LARGEST:
            raise WorkloadError(
                f"{what}: {value:g} must be finite, and 0 or between {SMALLEST:g} and {LARGEST:g}"
            )
    return found


@dataclass
class _Gaps:
    """Independent times between arrivals of unit mean, stretched to `mean`."""

    draw: Callable[[int], Floats]
    mean: float
    first: float | None = None
    now: float = 0.0

    def take(self, count: int) -> Floats:
        times = self.draw(count)
        if self.first is not None:
            times[0], self.first = self.first, None
        if self.mean != 1.0:
            times *= self.mean
        np.cumsum(times, out=times)
        times += self.now
        self.now = float(times[-1])
        return times


@dataclass
class _Listed:
    times: Floats
    given: int = 0

    def take(self, count: int) -> Floats:
        block = self.times[self.given : self.given + count]
        self.given += block.size
        return block


@dataclass
class _Modulated:
    """Unit-rate arrivals in operational time, mapped back through the integral of the rate."""

    levels: Floats
    switching: Floats
    rng: np.random.Generator
    level: int
    clock: list[float] = field(default_factory=lambda: [0.0])
    work: list[float] = field(default_factory=lambda: [0.0])
    operational: float = 0.0

    def take(self, count: int) -> Floats:
        arrivals = np.cumsum(self.rng.standard_exponential(count)) + self.operational
        self.operational = float(arrivals[-1])
        while self.work[-1] < self.operational:
            self._stay()
        times = np.interp(arrivals, self.work, self.clock)
        self.clock, self.work = self.clock[-2:], self.work[-2:]
        return np.asarray(times)

    def _stay(self) -> None:
        leaving = self.switching[self.level]
        stay = self.rng.standard_exponential() / leaving.sum()
        self.clock.append(self.clock[-1] + stay)
        self.work.append(self.work[-1] + stay * float(self.levels[self.level]))
        self.level = int(self.rng.choice(leaving.size, p=leaving / leaving.sum()))
