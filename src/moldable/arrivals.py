"""When do jobs arrive?

The paper's arrivals are Poisson. No real trace is: the coefficient of variation of the time between
arrivals is 2 to 9 there. A process here has a shape; its rate comes from the workload, except for a
list of arrival times, which has its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np

from moldable.errors import WorkloadError
from moldable.hull import Floats, Ints
from moldable.sizes import SizeLaw


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


@final
@dataclass(frozen=True)
class Renewal(Arrivals):
    """Independent times between arrivals with any law.

    Args:
        gap: the law of the time between arrivals; its unit mean is scaled to the rate.
    """

    gap: SizeLaw

    def stream(self, rate: float, rng: np.random.Generator, scale: float = 1.0) -> ArrivalStream:
        """Begin a realisation: the time to the first arrival has the equilibrium residual law."""
        first = float(self.gap.sample_residual(rng, 1)[0])
        return _Gaps(lambda count: self.gap.sample(rng, count), scale / rate, first)


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
        rates = np.array(self.switching, dtype=np.float64)
        count = len(self.levels)
        if count < 2 or rates.shape != (count, count):  # noqa: PLR2004 - one level is Poisson
            raise WorkloadError(
                f"{count} levels with a switching matrix of shape {rates.shape}; give at least two "
                f"levels and a square matrix of jump rates"
            )
        off = rates - np.diag(np.diag(rates))
        if np.any(off < 0.0) or np.any(off.sum(axis=1) <= 0.0) or not np.isfinite(off).all():
            raise WorkloadError("switching rates must be at least 0, and every level must be left")
        if min(self.levels) < 0.0 or not 0.0 < sum(self.levels) < math.inf:
            raise WorkloadError("levels must be at least 0, and one of them above 0")

    def shares(self) -> Floats:
        """Return the long-run share of time spent in each level."""
        off = self.leaving()
        generator = off - np.diag(off.sum(axis=1))
        system = np.vstack((generator.T, np.ones(len(self.levels))))
        right = np.append(np.zeros(len(self.levels)), 1.0)
        return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])

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


@final
@dataclass(frozen=True, eq=False)
class ArrivalTimes(Arrivals):
    """A given list of arrival times, the same in every replication.

    Args:
        times: ascending; the first arrival begins the run, whatever its time.
        classes: the class of each arrival as its position in the workload; by default drawn from
            the classes' rates.
    """

    times: Sequence[float] | Floats
    classes: Sequence[int] | Ints | None = None

    def __post_init__(self) -> None:
        times = np.array(self.times, dtype=np.float64)
        if times.ndim != 1 or times.size == 0 or not np.isfinite(times).all():
            raise WorkloadError("arrival times must be a list of at least one finite number")
        if np.any(np.diff(times) < 0.0):
            raise WorkloadError("arrival times must be ascending; sort them")
        object.__setattr__(self, "times", times)
        if self.classes is not None:
            classes = np.array(self.classes, dtype=np.int64)
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
