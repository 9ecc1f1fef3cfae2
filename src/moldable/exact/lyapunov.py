"""Bound the probability that a chain with two kinds of jobs is outside a set of states.

The bound is by Lyapunov functions V = exp(a excess + b wide), where the excess grows with the idle
servers beyond their usual number, first quadratically and then linearly. In equilibrium the mean
drift of V is 0. If V falls everywhere outside, the probability outside is at most its mean growth
inside, where it grows, divided by the least rate at which it falls outside.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Whole
from moldable.system.count_model import ChainModel

NEGLIGIBLE: Final = 1e-14
"""Probability that does not change any reported digit."""
TILTS: Final = (0.85, 0.5, 0.1)
SLOPES: Final = (0.1, 0.3, 1.0)
RATIOS: Final = (0.01, 0.3, 1.0, 1.7, 3.0, 5.4, 9.0)
"""Parameters of the Lyapunov functions that are tried; see _Lyapunov."""
MET: Final = 1e-40
"""Probability below which states inside do not change the bound."""
EVENTS: Final = 200
"""Events of the pilot per server: about fifty mean execution times."""

Within = tuple[Whole, Floats, Floats]
"""Idle servers, wide jobs and probabilities of states."""


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
class LyapunovBound:
    """The best bound of all functions; the last that was good enough is tried first."""

    def __init__(self, system: TwoSlots) -> None:
        self.system = system
        self._good: dict[float, tuple[tuple[float, ...], ...]] = {-1.0: (), 1.0: ()}

    def __call__(
        self, sign: float, first: Floats, last: Floats, inside: Within
    ) -> tuple[float, int]:
        """Bound the probability of first to last wide jobs, for each number of idle servers.

        For given idle servers log V and the growth of V relative to V are linear in the wide jobs,
        so the ends of their range are enough. Numbers of jobs may be fractions here.

        Args:
            sign: 1 if V grows with the wide jobs and idle servers, -1 if it falls.
            first: fewest wide jobs outside the window, for each number of idle servers.
            last: most of them; where that is less, no state is outside.
            inside: the states inside.

        Returns:
            The bound, and the number of idle servers that determines it.
        """
        idle = np.flatnonzero(first <= last)
        if idle.size == 0:
            return 0.0, 0
        first, last = first[idle], last[idle]
        met = inside[2] > MET
        inside = inside[0][met], inside[1][met], inside[2][met]
        best = (1.0, 0)
        for shape in (*self._good[sign], *itertools.product(TILTS, SLOPES, RATIOS)):
            v = _Lyapunov(self.system, sign, *shape)
            growth = np.maximum(v.growth(idle, first), v.growth(idle, last))
            if float(growth.max()) >= 0.0:
                continue
            speed = np.minimum(v.level(idle, first), v.level(idle, last)) + np.log(-growth)
            place = int(np.argmin(speed))
            best = min(best, (v.growth_inside(float(speed[place]), *inside), int(idle[place])))
            if best[0] <= NEGLIGIBLE / 20.0:
                self._good[sign] = (shape,)
                break
        return best


@final
class _Lyapunov:
    """A function V of idle servers and wide jobs.

    Args:
        system: the two slots.
        sign: 1 if V grows with idle servers and wide jobs, -1 if it falls.
        a: factor of the excess.
        slope: of the excess at its steepest, per server.
        ratio: of the factors of wide jobs and of idle servers at a deviation from their mean.
    """

    def __init__(self, system: TwoSlots, sign: float, a: float, slope: float, ratio: float) -> None:
        _, _, self.usual, variance = system.pilot
        self.system, self.sign, self.a = system, sign, a
        self.variance, self.slope = variance + 1.0, slope
        self.b = sign * a * ratio * min(slope, self.variance**-0.5)

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

    def growth_inside(self, least: float, idle: Whole, wide: Floats, law: Floats) -> float:
        """Return the mean growth of V where it grows, over exp(least); at most 1."""
        grows = np.maximum(self.growth(idle, wide), 0.0)
        with np.errstate(over="ignore"):
            return min(1.0, float(law @ (grows * np.exp(self.level(idle, wide) - least))))
