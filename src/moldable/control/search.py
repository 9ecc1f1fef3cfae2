"""Where among two-number prices is the best one? A grid that narrows around its best point.

A higher q0 means narrower jobs, less blocking and more time. While the grid is wide, the best q0
for each ell is read off between its points; once it is narrow, from smooth surfaces fitted to all
of them, which averages much of the noise away. On few servers neighbouring prices are the same
table: it is measured once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np

from moldable.control.targets import Target
from moldable.control.trials import Pair
from moldable.hull import Floats

Measure = Callable[[list[Pair], int], list[Pair]]
"""Takes (q0, ell) pairs and the number of the round; returns their blocking and mean time."""

ACROSS, ELLS = 16, 4
"""Values of q0 for each value of ell: 64 prices, two full sets of lanes."""
ROUNDS: Final = 5
FITTED_FROM: Final = 2
NARROWER: Final = 0.5
SPAN_Q, SPAN_ELL = 3.5, math.log(5.0)
MOST_Q: Final = 14.0
FINE: Final = 81
FEWEST_POINTS: Final = 12
SEEN: Final = 1e-9
"""Blocking below which nothing was seen."""


@final
@dataclass
class Search:
    """A search under way.

    Attributes:
        measure: how prices are tried.
        target: what to reach.
        key: what tells prices with the same decisions.
        tried: blocking and mean time of every price tried, by its key, with the price.
    """

    measure: Measure
    target: Target
    key: Callable[[Pair], Hashable]
    tried: dict[Hashable, tuple[Pair, Pair]] = field(default_factory=dict)

    def run(self, q0: float, ell: float, *, rounds: int = ROUNDS, repeat: bool = False) -> Pair:
        """Narrow down from a first guess; return the best (q0, ell).

        Args:
            q0: the guess.
            ell: the guess.
            rounds: how often the grid is laid.
            repeat: whether prices are measured anew in each round, as noisy ones should be.
        """
        span = np.array([SPAN_Q, SPAN_ELL])
        centre = np.array([q0, math.log(ell)])
        for number in range(rounds):
            points = _grid(centre, span)
            figures = self._figures(points, number, repeat=repeat)
            found = self._fitted(points, figures) if number >= FITTED_FROM else None
            found = self._between(points, figures) if found is None else found
            if found is None:  # nothing in sight keeps the limit: look where prices are higher
                centre = np.array([min(centre[0] + span[0], MOST_Q), centre[1]])
                continue
            inside = np.abs(found - centre) < 0.95 * span
            centre, span = found, np.where(inside, NARROWER * span, span)
        return float(centre[0]), math.exp(float(centre[1]))

    def polish(self, q0: float, ell: float, number: int) -> Pair:
        """Measure the different tables near a price and return the best price of all tried."""
        near = [
            np.array([q0 + shift, math.log(ell) + stretch])
            for stretch in np.linspace(-0.7, 0.7, 15)
            for shift in np.linspace(-0.6, 0.6, 13)
        ]
        self._figures(np.array(near), number, repeat=False)
        return self.best_tried(1)[0]

    def best_tried(self, count: int) -> list[Pair]:
        """Return the best prices that were tried, each with decisions of its own."""
        ranked = sorted(self.tried.values(), key=lambda entry: self.target.merit(*entry[1]))
        return [pair for pair, _ in ranked[:count]]

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

    def _between(self, points: Floats, figures: Floats) -> Floats | None:
        """Read the best point off between those of the grid."""
        found = []
        for row in range(ELLS):
            part = slice(row * ACROSS, (row + 1) * ACROSS)
            at = self.target.along(points[part, 0], figures[part, 0], figures[part, 1])
            if at is not None:
                found.append((at[1], at[0], float(points[part, 1][0])))
        return np.array(min(found)[1:]) if found else None

    def _fitted(self, points: Floats, figures: Floats) -> Floats | None:
        """Find the best point of quadratic surfaces through the figures, if they can be fitted."""
        seen = figures[:, 0] > SEEN
        if np.count_nonzero(seen) < FEWEST_POINTS:
            return None
        low, high = points.min(axis=0), points.max(axis=0)
        fine = np.array(
            [
                (q, log)
                for q in np.linspace(low[0], high[0], FINE)
                for log in np.linspace(low[1], high[1], FINE)
            ]
        )
        scaled = (2.0 * points - low - high) / (high - low)
        logs = np.log(np.maximum(figures, SEEN))
        there = _quadratic((2.0 * fine - low - high) / (high - low))
        blocking, time = (
            np.exp(there @ np.linalg.lstsq(_quadratic(scaled[seen]), logs[seen, k], rcond=None)[0])
            for k in (0, 1)
        )
        merits = [self.target.merit(b, t) for b, t in zip(blocking, time, strict=True)]
        best = int(np.argmin(merits))
        return fine[best] if self.target.kept(blocking[best], time[best]) else None


def _grid(centre: Floats, span: Floats) -> Floats:
    across, ells = np.linspace(-1.0, 1.0, ACROSS), np.linspace(-1.0, 1.0, ELLS)
    return np.array(
        [
            (min(centre[0] + span[0] * x, MOST_Q), centre[1] + span[1] * y)
            for y in ells
            for x in across
        ]
    )


def _quadratic(points: Floats) -> Floats:
    x, y = points.T
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
