"""The chain of idle servers less waiting jobs, with the mix of running jobs at each level.

The level y is the number of idle servers, or minus the number of waiting jobs. Jobs of kind k end
at the rate m_k(y)/t_k, where m_k(y) is the mean number running at level y. A running job of kind k
sees the levels change until it ends; where it is at level y, other jobs of kind j number

    m_j(y) (1 - w_j w_k / sum_i m_i(y) w_i^2)                                                (3)

on average, as independent Poisson numbers that add up to the busy servers would. That gives
equations for the m_k, banded like those of the levels, and consistent with the busy servers. They
are iterated.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.policies.kinds import Kinds, extended
from moldable.policies.queue_nodes import KindTable, Nodes

NEGLIGIBLE: Final = 1e-13
"""Probability of a level below which its mix is that of the nearest likely level."""
TINIEST: Final = float(np.finfo(np.float64).tiny)
STRAY: Final = 1e-6
"""Share of jobs that get any width that fits, so that every level is reached."""
TINY: Final = 1e-12
"""Least mean number of running jobs of a kind that fits, so that none is ever impossible."""


@final
class Levels:
    """The levels under one table; `iterate` improves `law` and `mix`.

    Args:
        kinds: the kinds.
        table: the table.
        most_waiting: waiting places; jobs that find none are lost.
        end: idle counts from this one on are left out.
        mix: initial guess of the mix, of which only the proportions count.

    Attributes:
        level: idle servers less waiting jobs, ascending.
        waiting: jobs that wait, by level.
        busy: servers that are busy, by level.
        zero: index of level 0.
        law: stationary distribution of the levels.
        mix: mean number of running jobs by kind (row) and level.
        moved: largest change of the expected busy servers of a kind in the last iteration.
    """

    def __init__(
        self, kinds: Kinds, table: KindTable, most_waiting: int, end: int, mix: Floats
    ) -> None:
        self.kinds, self.table = kinds, table
        self.level: Ints = np.arange(-most_waiting, end)
        self.zero, self.size = most_waiting, self.level.size
        self.waiting = np.maximum(-self.level, 0).astype(np.float64)
        self.busy = (kinds.servers - np.maximum(self.level, 0)).astype(np.float64)
        self.nodes = Nodes(kinds, table, most_waiting)
        self.granted, self.squeezed, self.falls = self._arrivals()
        self.mix = self._scaled(mix)
        self.moved = np.inf
        self._solve()

    def _arrivals(self) -> tuple[Floats, Floats, Floats]:
        """Return rates by level: starts of each kind, starts where nothing fits, and falls."""
        kinds, zero = self.kinds, self.zero
        granted, squeezed = np.zeros((2, kinds.widths.size, self.size))
        falls = np.zeros((self.nodes.widest + 1, self.size))
        # A job that arrives at the lowest level is lost.
        falls[1, 1 : zero + 1] = kinds.rates.sum()
        first = extended(self.table.first, self.size - zero)[:, 1:]
        for j, rate in enumerate(kinds.rates.tolist()):
            members = kinds.members(j)
            fits = np.arange(1, self.size - zero) >= kinds.widths[members, None]
            stray = STRAY / np.maximum(fits.sum(axis=0), 1)
            for kind, fitting in zip(members.tolist(), fits, strict=True):
                chosen = rate * ((1.0 - STRAY) * (first[j] == kind) + stray * fitting)
                granted[kind, zero + 1 :] = chosen
                falls[kinds.widths[kind], zero + 1 :] += chosen
            for z in (1 + np.flatnonzero(first[j] < 0)).tolist():
                starts = rate * z / float(kinds.widths[members[0]])
                squeezed[members[0], zero + z] = starts
                falls[z, zero + z] += starts
                falls[z + 1, zero + z] += rate - starts if zero else 0.0
        return granted, squeezed, falls

    def rises(self, weights: Floats) -> Floats:
        """Return rates of rises by distance and level, where kind k ends at rates weights[k]."""
        found = np.zeros((self.nodes.widest + 1, self.size))
        above = self.zero + 1
        for width, rates in zip(self.kinds.widths.tolist(), weights, strict=True):
            found[:, :above] += rates[:above] * self.nodes.rises[width, ::-1].T
            # The levels are cut off at the top.
            found[width, above : self.size - width] += rates[above : self.size - width]
        return found

    @property
    def ends(self) -> Floats:
        """Rates at which jobs end, by kind (row) and level."""
        return np.asarray(self.mix / self.kinds.times[:, None])

    @property
    def spread(self) -> Floats:
        """Sum of w^2 over the running jobs, by level; see (3)."""
        return np.maximum(self.kinds.widths.astype(np.float64) ** 2 @ self.mix, TINY)

    def _solve(self) -> None:
        """Compute the law for the present mix."""
        rises, far = self.rises(self.ends), np.arange(self.falls.shape[0])
        # The mode by a diffusion approximation: elsewhere the equations might overflow.
        noise = np.maximum(far**2 @ (rises + self.falls), TINIEST)
        mode = int(np.argmax(np.cumsum(2.0 * (far @ (rises - self.falls)) / noise)))
        self.chain = Banded(self.falls, rises, 0.0, mode)
        self.law = self.chain.law

    def iterate(self) -> None:
        """Improve the mix for the present law, then the law."""
        widths, times = self.kinds.widths, self.kinds.times
        rises = self.rises(self.ends)
        crowding = self.rises(self.ends * widths[:, None]) / self.spread
        starts, expected = self._starts(), np.empty_like(self.mix)
        for k, (width, time) in enumerate(zip(widths.tolist(), times.tolist(), strict=True)):
            others = np.maximum(rises - width * crowding, 0.0)
            own = Banded(self.falls, others, 1.0 / time)
            expected[k] = np.maximum(own.solve(starts[k], transposed=True), 0.0)
        likely = np.flatnonzero(self.law > NEGLIGIBLE)
        nearest = np.clip(np.arange(self.size), likely[0], likely[-1])
        mix = self._scaled((expected / np.maximum(self.law, TINIEST))[:, nearest])
        self.moved = float(np.abs((mix - self.mix) * widths[:, None] * self.law).max())
        self.mix = mix
        self._solve()

    def _starts(self) -> Floats:
        """Return rates at which jobs of each kind (row) start, by the level after all starts."""
        kinds, zero, nodes = self.kinds, self.zero, self.nodes
        found = np.zeros((kinds.widths.size, self.size))
        free = np.zeros((nodes.widest + 1, zero + 1))  # by servers offered and waiting jobs
        for kind, width in enumerate(kinds.widths.tolist()):
            found[kind, : self.size - width] = (self.granted[kind] * self.law)[width:]
            found[kind, zero] += self.squeezed[kind] @ self.law
            free[width] += (self.ends[kind] * self.law)[zero::-1]
        started = np.zeros((kinds.widths.size, *free.shape))
        for w in range(nodes.widest, 0, -1):
            for kind, left, chance in nodes.branches[w]:
                mass = chance * free[w, 1:]
                free[left, :-1] += mass
                started[kind, left, :-1] += mass
        found[:, : zero + nodes.widest + 1] += nodes.landing(started)
        return found

    def _scaled(self, mix: Floats) -> Floats:
        """Return a mix scaled to the busy servers; kinds that do not fit are left out."""
        widths = self.kinds.widths
        fits = self.busy >= widths[:, None]
        found = np.where(fits, np.maximum(mix, TINY), 0.0)
        total = widths @ found
        return np.asarray(found * (self.busy / np.where(total > 0.0, total, 1.0)))


@final
class Banded:
    """Rates between levels, factored in LAPACK's band format.

    The matrix is killing - generator. Without killing, the row of the level `mode` is replaced by
    that of the identity, which makes it regular.

    Attributes:
        law: the stationary distribution, without killing.
    """

    def __init__(self, falls: Floats, rises: Floats, killing: float, mode: int = -1) -> None:
        from scipy.linalg.lapack import dgbtrf

        size, self.mode = falls.shape[1], mode
        self.band = band = min(falls.shape[0] - 1, size - 1)
        banded = np.zeros((3 * band + 1, size))
        middle = 2 * band
        banded[middle] = killing
        for distance in range(1, band + 1):
            down, up = falls[distance, distance:], rises[distance, : size - distance]
            # Entry (i, j) is at [middle + i - j, j].
            banded[middle + distance, : size - distance] -= down
            banded[middle - distance, distance:] -= up
            banded[middle, distance:] += down
            banded[middle, : size - distance] += up
        right = np.zeros(size)
        if mode >= 0:
            columns = np.arange(max(mode - band, 0), min(mode + band + 1, size))
            right[columns] = -banded[middle + mode - columns, columns]
            banded[middle + mode - columns, columns] = 0.0
            banded[middle, mode] = 1.0
            right[mode] += 1.0
        self.factors, self.pivots, _ = dgbtrf(banded, band, band, overwrite_ab=True)
        law = np.maximum(self.solve(right, transposed=True), 0.0) if mode >= 0 else right
        self.law: Floats = law / max(float(law.sum()), np.finfo(float).tiny)

    def values(self, costs: Floats) -> Floats:
        """Return a column f for each row of costs: -A f = cost - mean cost, f = 0 at the mode."""
        right = costs - (costs @ self.law)[:, None]
        right[:, self.mode] = 0.0
        return self.solve(right.T, transposed=False)

    def solve(self, right: Floats, *, transposed: bool) -> Floats:
        """Solve for one or more right-hand sides, which are columns."""
        from scipy.linalg.lapack import dgbtrs

        found, _ = dgbtrs(
            self.factors, self.band, self.band, right, self.pivots, trans=int(transposed)
        )
        return np.asarray(found)
