"""Realisations of arrival processes, read in blocks of arrival times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from moldable.arrays import Floats


class ArrivalStream(Protocol):
    """A realisation of an arrival process, read in blocks."""

    def take(self, count: int) -> Floats:
        """Return the next arrival times, ascending; fewer at the end of a list."""


@dataclass
class Gaps:
    """Independent times between arrivals, scaled from mean 1 to `mean`."""

    draw: Callable[[int], Floats]
    mean: float
    first: float | None = None
    now: float = 0.0

    def take(self, count: int) -> Floats:
        """Return the next arrival times."""
        times = self.draw(count)
        if self.first is not None:
            times[0], self.first = self.first, None
        times = np.cumsum(times * self.mean) + self.now
        self.now = float(times[-1])
        return times


@dataclass
class Listed:
    """A given list of times."""

    times: Floats
    given: int = 0

    def take(self, count: int) -> Floats:
        """Return the next arrival times."""
        block = self.times[self.given : self.given + count]
        self.given += block.size
        return block


@dataclass
class Modulated:
    """Unit-rate Poisson arrivals, mapped to real time by the inverse of the integrated rate."""

    levels: Floats
    switching: Floats
    rng: np.random.Generator
    level: int
    clock: list[float] = field(default_factory=lambda: [0.0])
    work: list[float] = field(default_factory=lambda: [0.0])
    operational: float = 0.0

    def take(self, count: int) -> Floats:
        """Return the next arrival times."""
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
