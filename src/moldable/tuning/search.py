"""Where among two-number prices is the best one?

A higher q0 means narrower jobs, less blocking and more time. How much, depends on ell: the price of
a large one is nearly constant, so that a small step of q0 moves everything. So every ell keeps a
bracket of its own in q0, laid around its best point ever closer; the ells close in once each has
settled. At last, smooth surfaces are fitted to all points near the best, which averages much of the
noise away. On few servers neighbouring prices are the same table: it is measured once. Below some
q0 all are the same, greedy's: where blocking is cheap that plateau is good too, and a bracket that
strayed onto it would find no way back, so none reaches below its edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.tuning.steps import Say, silent
from moldable.tuning.targets import Target
from moldable.tuning.trials import Pair

Measure = Callable[[list[Pair], int], list[Pair]]
"""Takes (q0, ell) pairs and the number of the round; returns their blocking and mean time."""

ACROSS, ELLS = 8, 8
"""Values of q0 for each value of ell: 64 prices, two full sets of lanes."""
STRETCHES: Final = math.log(8.0)
"""How far the first ells reach, either way."""
SETTLING: Final = 4
"""Rounds in which each ell finds its q0; two more look closely around the best ell."""
LOWEST_Q: Final = -4.0
HIGHEST_Q: Final = 8.0
DEEP: Final = 12.0
"""Square roots of n that may have to stay idle: the price there is still that of q0 = 0."""
COVERED_ELLS, COVERED_STEP = 41, 0.06
"""Values of ell, and the step in q0, that leave out hardly a table of few servers."""
EDGE: Final = 0.01
"""How closely in q0 the edge of the plateau is found."""
NEAR_LIMIT: Final = 0.02, 0.005
"""Shares of a limit by which noise may hide that it is kept or broken: at first, and later on."""
STEPS_AROUND: Final = 0.0, 0.5, -0.5, 1.0, -1.0, 0.25, -0.25
"""By how many of these shares the limits differ for which prices are then ranked."""
FINE: Final = 41
SEEN: Final = 1e-9
"""Blocking below which nothing was seen."""


@final
@dataclass(frozen=True)
class Row:
    """What is known of one ell: where its best q0 lies, and how good that is."""

    log_ell: float
    low: float
    high: float
    merit: float = math.inf

    @property
    def middle(self) -> float:
        """The best q0 so far."""
        return 0.5 * (self.low + self.high)

    def raised(self, edge: float) -> Row:
        """Return the row with its bracket moved up until it begins at this q0 or above."""
        shift = max(edge - self.low, 0.0)
        return Row(self.log_ell, self.low + shift, self.high + shift, self.merit)

    def wider(self, factor: float) -> Row:
        """Return the row with a bracket that many times as wide."""
        half = 0.5 * factor * (self.high - self.low)
        return Row(self.log_ell, self.middle - half, self.middle + half, self.merit)


@final
@dataclass
class Search:
    """A search under way.

    Attributes:
        measure: how prices are tried.
        target: what to reach.
        key: what tells prices with the same decisions.
        say: hears which round begins.
        tried: blocking and mean time of every price tried, by its key, with the price.
        edges: the largest q0 that changes nothing yet, by the logarithm of ell.
    """

    measure: Measure
    target: Target
    key: Callable[[Pair], Hashable]
    say: Say = silent
    tried: dict[Hashable, tuple[Pair, Pair]] = field(default_factory=dict)
    edges: dict[float, float] = field(default_factory=dict)

    def run(self, ell: float, *, repeat: bool = False) -> Pair:
        """Narrow down from a first guess of ell; return the best (q0, ell).

        Args:
            ell: the guess; the square root of the servers is a good one.
            repeat: whether prices are measured anew in each round, as noisy ones should be.
        """
        rows = self._rows(ell, ELLS)
        for number in range(SETTLING):
            rows = self._laid(rows, number, repeat=repeat)[0]
        rows = self._laid(_closer(rows), SETTLING, repeat=repeat)[0]
        # The last brackets keep their width: in narrower ones noise would hide the slopes.
        rows = [row.wider(0.5 * (ACROSS - 1)) for row in rows]
        found, rows, figures = self._laid(rows, SETTLING + 1, repeat=repeat)
        q0, log_ell = self._fitted(rows, figures) or _best(found)
        return q0, math.exp(log_ell)

    def cover(self, ell: float) -> None:
        """Measure all different tables of the family, nearly, around a first guess of ell."""
        points = [
            (q0, row.log_ell)
            for row in self._rows(ell, COVERED_ELLS)
            for q0 in np.arange(row.low, self._end(row.log_ell, row.high), COVERED_STEP).tolist()
        ]
        self._figures(np.array(points), 0, repeat=False)

    def polish(self, q0: float, ell: float, number: int) -> None:
        """Measure the different tables near a price."""
        near = [
            (q0 + shift, math.log(ell) + stretch)
            for stretch in np.linspace(-0.7, 0.7, 29)
            for shift in np.linspace(-0.6, 0.6, 25)
        ]
        self._figures(np.array(near), number, repeat=False)

    def look_again(self, looks: Sequence[tuple[int, int]]) -> None:
        """Measure the best of all prices tried twice again, fewer the second time, more closely.

        Prices that were measured in a hurry crowd the top by luck, so that the first look must take
        in many.

        Args:
            looks: how many prices are measured again, in a round of which number.
        """
        for (most, number), near in zip(looks, NEAR_LIMIT, strict=True):
            short = self.around_limit(near)[:most]
            figures = zip(short, self.measure(short, number), strict=True)
            self.tried = {self.key(pair): (pair, found) for pair, found in figures}

    def around_limit(self, near: float = NEAR_LIMIT[-1]) -> list[Pair]:
        """Return all prices tried, in turn the best for the limit and for some close to it.

        Common random numbers move all figures together: what seems to keep the limit may all break
        it, or the other way round, and would crowd out the rest.
        """
        ranked = [self.ranked(self.target.eased(1.0 + near * step)) for step in STEPS_AROUND]
        return list(dict.fromkeys(chain.from_iterable(zip(*ranked, strict=True))))

    def ranked(self, target: Target | None = None) -> list[Pair]:
        """Return all prices tried, the best for a target first; by default the search's own."""
        aim = target or self.target
        entries = sorted(self.tried.values(), key=lambda entry: aim.merit(*entry[1]))
        return [pair for pair, _ in entries]

    def _rows(self, ell: float, count: int) -> list[Row]:
        """Return so many values of ell around a guess, with all q0 that make a difference."""
        logs = math.log(ell) + np.linspace(-STRETCHES, STRETCHES, count)
        return [
            Row(log, self._edge(log), max(HIGHEST_Q, DEEP * ell / math.exp(log)))
            for log in logs.tolist()
        ]

    def _laid(
        self, rows: list[Row], number: int, *, repeat: bool
    ) -> tuple[list[Row], list[Row], Floats]:
        """Lay points across every bracket and draw the brackets closer around the best.

        Returns these, the brackets as they were laid, and the points' figures.
        """
        self.say(f"trying prices, round {number + 1} of {SETTLING + 2}")
        rows = [row.raised(self._edge(row.log_ell)) for row in rows]
        points = np.array(
            [(q, row.log_ell) for row in rows for q in np.linspace(row.low, row.high, ACROSS)]
        )
        figures = self._figures(points, number, repeat=repeat)
        parts = (slice(i * ACROSS, (i + 1) * ACROSS) for i in range(len(rows)))
        found = [
            self._bracketed(row, points[part, 0], figures[part])
            for row, part in zip(rows, parts, strict=True)
        ]
        return found, rows, figures

    def _edge(self, log_ell: float) -> float:
        """Return the largest q0 with the decisions of the lowest, nearly."""
        if log_ell not in self.edges:
            self.edges[log_ell] = self._last_alike(log_ell, LOWEST_Q, HIGHEST_Q)
        return self.edges[log_ell]

    def _end(self, log_ell: float, high: float) -> float:
        """Return a q0 from which on nothing changes up to this one."""
        return self._last_alike(log_ell, high, LOWEST_Q) + COVERED_STEP

    def _last_alike(self, log_ell: float, begin: float, end: float) -> float:
        """Return the q0 farthest from the beginning that still decides as there, nearly."""
        ell = math.exp(log_ell)
        plateau = self.key((begin, ell))
        while abs(end - begin) > EDGE:
            middle = 0.5 * (begin + end)
            same = self.key((middle, ell)) == plateau
            begin, end = (middle, end) if same else (begin, middle)
        return begin

    def _bracketed(self, row: Row, q0s: Floats, figures: Floats) -> Row:
        """Return the row with a bracket of one step either way around its best point."""
        step = float(q0s[1] - q0s[0])
        at = self.target.along(q0s, figures[:, 0], figures[:, 1])
        if at is None:  # the limit is kept nowhere here: look where it is broken least
            merits = [self.target.merit(*pair) for pair in figures]
            nearest = float(q0s[int(np.argmin(merits))])
            return Row(row.log_ell, nearest - step, nearest + step, min(merits))
        return Row(row.log_ell, at[0] - step, at[0] + step, at[1])

    def _figures(self, points: Floats, number: int, *, repeat: bool) -> Floats:
        """Return blocking and mean time of each point, measuring no table twice in a round."""
        pairs = [(float(q), math.exp(float(log))) for q, log in points]
        keys = [self.key(pair) for pair in pairs]
        fresh = {
            key: pair
            for key, pair in zip(keys, pairs, strict=True)
            if repeat or key not in self.tried
        }
        if fresh:
            measured = self.measure(list(fresh.values()), number)
            for (key, pair), figures in zip(fresh.items(), measured, strict=True):
                self.tried[key] = (pair, figures)
        return np.array([self.tried[key][1] for key in keys])

    def _fitted(self, rows: list[Row], figures: Floats) -> Pair | None:
        """Find the best point of quadratic surfaces through the figures, if they can be fitted.

        Both figures are smooth in the place within a row's bracket and the row's place among all.
        """
        seen = figures[:, 0] > SEEN
        across, along = np.linspace(-1.0, 1.0, ACROSS), np.linspace(-1.0, 1.0, ELLS)
        places = _quadratic(np.tile(across, ELLS), np.repeat(along, ACROSS))
        if np.linalg.matrix_rank(places[seen]) < places.shape[1]:
            return None
        logs = np.log(figures[seen])
        fits = np.linalg.lstsq(places[seen], logs, rcond=None)[0]
        fine = np.linspace(-1.0, 1.0, FINE)
        best: tuple[float, float, float] | None = None
        for v in fine.tolist():
            blocking, time = np.exp(_quadratic(fine, np.full(FINE, v)) @ fits).T
            at = self.target.along(fine, blocking, time)
            if at is not None and (best is None or at[1] < best[0]):
                best = at[1], at[0], v
        return None if best is None else _point(rows, best[1], best[2])


def _point(rows: list[Row], u: float, v: float) -> Pair:
    """Return q0 and log ell at a place in the brackets, each from -1 to 1."""
    along = np.linspace(-1.0, 1.0, len(rows))
    table = np.array([(row.middle, 0.5 * (row.high - row.low), row.log_ell) for row in rows])
    middle, half, log_ell = (float(np.interp(v, along, column)) for column in table.T)
    return middle + u * half, log_ell


def _best(rows: list[Row]) -> Pair:
    row = min(rows, key=lambda row: row.merit)
    return row.middle, row.log_ell


def _closer(rows: list[Row]) -> list[Row]:
    """Return as many rows between the neighbours of the best one, brackets read between them."""
    logs, merits = (np.array([getattr(row, name) for row in rows]) for name in ("log_ell", "merit"))
    best = int(np.argmin(merits))
    low, high = logs[max(best - 1, 0)], logs[min(best + 1, logs.size - 1)]
    width = max(row.high - row.low for row in rows[max(best - 1, 0) : best + 2])
    middles = np.array([row.middle for row in rows])
    return [
        Row(log, middle - 0.5 * width, middle + 0.5 * width)
        for log in np.linspace(low, high, ELLS)
        for middle in [float(np.interp(log, logs, middles))]
    ]


def _quadratic(x: Floats, y: Floats) -> Floats:
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
