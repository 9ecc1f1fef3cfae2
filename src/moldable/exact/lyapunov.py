"""Bound the probability that a chain with two kinds of jobs is outside a window of states.

The bound is by Lyapunov functions V = exp(a excess + b wide), where the excess grows with the idle
servers beyond their usual number, first quadratically and then linearly. In equilibrium the mean
drift of V is 0. The outside consists of regions R. If V falls on R at least at rate f, then

    P(R) f <= mean growth of V inside the window, where it grows
              + sum over the other regions Q of P(Q) x the most that V grows on Q.

Each region has a function of its own, and the inequalities together bound all P(R).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Whole
from moldable.system.count_model import ChainModel

NEGLIGIBLE: Final = 1e-14
"""Probability that does not change any reported digit."""
TILTS: Final = (0.85, 0.5, 0.1)
SLOPES: Final = (0.03, 0.1, 0.3, 1.0)
RATIOS: Final = (0.01, 0.3, 1.0, 1.7, 3.0, 5.4, 9.0, 16.0, 30.0, 55.0)
TAILS: Final = (1.0, 2.0, 3.0, 4.0, 6.0, 9.0)
"""Parameters of the Lyapunov functions that are tried."""
MET: Final = 1e-40
"""Probability below which states inside do not change the bound."""
EVENTS: Final = 200
"""Events of the pilot per server: about fifty mean execution times."""

ENOUGH: Final = NEGLIGIBLE / 30.0
"""Bound on a region from which no better function is looked for."""

Within = tuple[Whole, Floats, Floats]
"""Idle servers, wide jobs and probabilities of states."""
Shape = tuple[float, float, float]
"""Factor of the excess, its steepest slope, and factor of the wide jobs."""


@final
class TwoSlots:
    """A system whose state is (narrow jobs, wide jobs).

    Args:
        model: with two slots, the narrower first.
    """

    def __init__(self, model: ChainModel) -> None:
        self.model, self.servers, self.entries = model, model.servers, model.entries
        self.narrow, self.wide = model.slot_widths.tolist()

    @cached_property
    def pilot(self) -> tuple[float, float, float, float]:
        """Means and variances of wide jobs and idle servers, from a short simulation."""
        from moldable.kernels.state_space import wander

        jobs, moments = np.zeros(2, dtype=np.int64), np.zeros(4)
        fixed = (self.servers, self.model.slot_widths, self.model.rates, self.entries)
        events = int(min(max(EVENTS * self.servers, 200_000), 5_000_000))
        wander(np.random.default_rng(0), *fixed, events, jobs, moments)
        wide, wide_variance, idle, idle_variance = moments.tolist()
        return wide, wide_variance, idle, idle_variance


@final
@dataclass(frozen=True, eq=False)
class Region:
    """States from `first` to `last` wide jobs at each number of idle servers.

    Attributes:
        sign: 1 if V is to grow with the wide jobs and idle servers, -1 if it is to fall.
        idle: consecutive numbers of idle servers.
        first: fewest wide jobs, for each of them; `last`: most of them, both linear in `idle`.
    """

    sign: float
    idle: Whole
    first: Floats
    last: Floats


@final
class LyapunovBound:
    """Bounds the probabilities of regions; the last good functions are tried first."""

    def __init__(self, system: TwoSlots) -> None:
        self.system = system
        self._good: dict[int, Shape] = {}

    def _shapes(self, place: int, sign: float) -> Iterator[Shape]:
        """Return the factors of the functions: of wide jobs alone, then of both."""
        if place in self._good:
            yield self._good[place]
        _, wide_variance, _, idle_variance = self.system.pilot
        for tail in TAILS:
            yield 0.0, SLOPES[0], sign * tail / math.sqrt(wide_variance + 1.0)
        steepest = (idle_variance + 1.0) ** -0.5
        for a, slope, ratio in itertools.product(TILTS, SLOPES, RATIOS):
            yield a, slope, sign * a * ratio * min(slope, steepest)

    def __call__(self, regions: Sequence[Region], inside: Within) -> Floats:
        """Return bounds on the probabilities of the regions outside a window.

        Args:
            regions: the outside.
            inside: the states of the window.
        """
        met = inside[2] > MET
        inside = inside[0][met], inside[1][met], inside[2][met]
        own, others = np.zeros(len(regions)), np.zeros((len(regions), len(regions)))
        for place, region in enumerate(regions):
            if region.idle.size:
                own[place], others[place] = self._best(place, regions, inside)
        if np.abs(np.linalg.eigvals(others)).max() >= 1.0:
            return np.ones(own.size)
        return np.clip(np.linalg.solve(np.eye(own.size) - others, own), 0.0, 1.0)

    def _best(self, place: int, regions: Sequence[Region], inside: Within) -> tuple[float, Floats]:
        """Return the best function's mean growth inside, and its growth on the other regions.

        Both are relative to the least rate at which it falls on the region.
        """
        region, none = regions[place], np.zeros(len(regions))
        best, found = 1.0, (1.0, none)
        for shape in self._shapes(place, region.sign):
            v = _Lyapunov(self.system, region.sign, *shape)
            least = v.least_fall(region)
            if least is None:
                continue
            growth = v.growth_inside(least, *inside)
            others = np.array(
                [
                    0.0 if r is region or not r.idle.size else v.most_growth(r, least)
                    for r in regions
                ]
            )
            total = growth + float(others.sum()) * NEGLIGIBLE / 100.0
            if total < best:
                best, found = total, (growth, others)
            if best <= ENOUGH:
                self._good[place] = shape
                break
        return found


@final
class _Lyapunov:
    """A function V of idle servers and wide jobs.

    Args:
        system: the two slots.
        sign: 1 if V grows with idle servers and wide jobs, -1 if it falls.
        a: factor of the excess.
        slope: of the excess at its steepest, per server.
        b: factor of the wide jobs.
    """

    def __init__(self, system: TwoSlots, sign: float, a: float, slope: float, b: float) -> None:
        _, _, self.usual, variance = system.pilot
        self.system, self.sign, self.a, self.b = system, sign, a, b
        self.variance, self.slope = variance + 1.0, slope

    def level(self, idle: Whole, wide: Floats) -> Floats:
        """Return log V."""
        return np.asarray(self.a * self._excess(idle) + self.b * wide)

    def _excess(self, idle: Whole) -> Floats:
        apart = np.maximum((idle - self.usual) * self.sign, 0.0)
        near = np.minimum(apart, self.slope * self.variance)
        return np.asarray(near**2 / (2.0 * self.variance) + self.slope * (apart - near))

    def growth(self, idle: Whole, wide: Floats) -> Floats:
        """Return the mean growth of V relative to V, per unit of time."""
        own, now = self.system, self._excess(idle)
        narrow = (own.servers - idle - own.wide * wide) / own.narrow
        coming = own.entries[np.minimum(idle, own.entries.shape[0] - 1)]
        found = np.zeros(idle.size)
        for slot, (jobs, width) in enumerate(((narrow, own.narrow), (wide, own.wide))):
            up = self.a * (self._excess(idle + width) - now) - self.b * slot
            down = self.a * (self._excess(idle - width) - now) + self.b * slot
            found += own.model.rates[slot] * jobs * np.expm1(up)
            found += coming[:, slot] * np.expm1(down)
        return found

    def least_fall(self, region: Region) -> float | None:
        """Return the logarithm of the least rate at which V falls; None if it grows somewhere.

        For given idle servers log V and the growth of V relative to V are linear in the wide jobs,
        so the ends of their range decide. Numbers of jobs may be fractions here.
        """
        at = self._corners(region.idle)
        idle, ends = region.idle[at], (region.first[at], region.last[at])
        growth = np.maximum(*(self.growth(idle, end) for end in ends))
        if float(growth.max()) >= 0.0:
            return None
        levels = np.minimum(*(self.level(idle, end) for end in ends))
        return float((levels + np.log(-growth)).min())

    def most_growth(self, region: Region, least: float) -> float:
        """Bound the growth of V on a region, over exp(least)."""
        if region.idle.size == 0:
            return 0.0
        at = self._corners(region.idle)
        idle, first, last = region.idle[at], region.first[at], region.last[at]
        low, high = self.growth(idle, first), self.growth(idle, last)
        if max(low.max(), high.max()) <= 0.0:
            return 0.0
        # V grows on one side of the line where its growth changes sign.
        share = np.clip(low / np.where(low == high, 1.0, low - high), 0.0, 1.0)
        change = np.where(low * high < 0.0, first + share * (last - first), first)
        ends = (np.where(low > 0.0, first, change), np.where(high > 0.0, last, change))
        levels = np.maximum(*(self.level(idle, end) for end in ends))
        with np.errstate(divide="ignore", over="ignore"):
            growth = np.log(np.maximum(np.maximum(low, high), 0.0))
            peak = max(float((growth + levels).max()), float(growth[-2:].max() + levels[-2:].max()))
            return float(np.exp(peak - least))

    def _corners(self, idle: Whole) -> Whole:
        """Return the positions that decide: all until V becomes log-linear, then the two ends.

        In between the growth is linear in the idle servers, and log V plus its logarithm concave.
        """
        own = self.system
        bend = self.usual + self.slope * self.variance if self.a > 0.0 and self.sign > 0.0 else 0.0
        begin = max(math.ceil(bend) + 2 * own.wide, own.entries.shape[0], math.ceil(self.usual))
        curved = int(np.searchsorted(idle, begin, side="right"))
        return np.unique(np.append(np.arange(min(curved + 1, idle.size)), idle.size - 1))

    def growth_inside(self, least: float, idle: Whole, wide: Floats, law: Floats) -> float:
        """Return the mean growth of V where it grows, over exp(least); at most 1."""
        grows = np.maximum(self.growth(idle, wide), 0.0)
        # Where exp overflows and nothing grows, the product is not a number, which min drops.
        with np.errstate(over="ignore", invalid="ignore"):
            return min(1.0, float(law @ (grows * np.exp(self.level(idle, wide) - least))))
