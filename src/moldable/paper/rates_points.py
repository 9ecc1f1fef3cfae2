"""Which points, bounds and exponents belong together?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from moldable.paper.convergence import PowerLaw, power_law
from moldable.paper.experiment import Result
from moldable.theory.stein import Bounds

DISTANCE, BLOCKING, TIME_GAP = "distance", "blocking", "time_gap"
QUANTITIES: Final = {  # without bars, which would end a column in Markdown
    DISTANCE: "distance",
    BLOCKING: "blocking",
    TIME_GAP: "gap in time",
}
ONE_WIDTH_ORDERS: Final = {DISTANCE: -0.5, BLOCKING: -0.5, TIME_GAP: -1.0}
"""Theorem 2 for one width."""


@final
@dataclass(frozen=True)
class Point:
    """A value at one n, with its 95 % interval and the stated bound; None if that is vacuous."""

    servers: int
    value: float
    low: float
    high: float
    exact: bool
    bound: float | None


@final
@dataclass(frozen=True)
class Series:
    """What was found for one setting.

    Attributes:
        words: the setting.
        support: the widths of greedy(p*) at the largest n.
        points: of each quantity, by growing n.
        theorem: the exponent that Theorem 2 states for each quantity.
        proof: "complete", or "gap" where a step of the published proof fails.
        gaps: which steps.
    """

    words: str
    support: tuple[int, ...]
    points: Mapping[str, list[Point]]
    theorem: Mapping[str, float]
    proof: str
    gaps: tuple[str, ...]

    def larger_half(self, quantity: str) -> list[Point]:
        """Return the points that a power law is fitted to: it is about large n."""
        points = self.points[quantity]
        return points[len(points) // 2 :]

    def fit(self, quantity: str) -> PowerLaw:
        """Fit a power law to the larger half of the sizes."""
        points = self.larger_half(quantity)
        return power_law([p.servers for p in points], [p.value for p in points])


def gather(
    words: str,
    support: tuple[int, ...],
    found: list[tuple[Result, Bounds]],
    paths: list[tuple[Result, Bounds]],
) -> Series:
    """Sort results by quantity; distances come from exact laws, and from paths beyond those."""
    last = found[-1][1]
    distances = [_distance(*each) for each in found if each[0]["distance"] is not None]
    known = max((point.servers for point in distances), default=0)
    distances += [_distance(*each) for each in paths if each[0]["servers"] > known]
    points = {
        DISTANCE: distances,
        BLOCKING: [_blocking(*each) for each in found],
        TIME_GAP: [_time_gap(*each) for each in found],
    }
    two = len(support) > 1
    theorem = dict.fromkeys(QUANTITIES, last.order) if two else ONE_WIDTH_ORDERS
    return Series(words, support, points, theorem, last.proof, last.gaps)


def _distance(part: Result, stated: Bounds) -> Point:
    value = part["distance"]
    interval = part.get("distance_interval")
    low, high = interval or (value, value)
    return Point(part["servers"], value, low, high, interval is None, stated.distance)


def _blocking(part: Result, stated: Bounds) -> Point:
    low, high = part["blocking_interval"]
    exact = part["method"] != "simulate"
    return Point(part["servers"], part["blocking"], low, high, exact, stated.blocking)


def _time_gap(part: Result, stated: Bounds) -> Point:
    limit = part["mean_execution_time_limit"]
    low, high = part["mean_execution_time_interval"]
    gap = abs(part["mean_execution_time"] - limit)
    half = (high - low) / 2.0
    exact = part["method"] != "simulate"
    return Point(part["servers"], gap, gap - half, gap + half, exact, stated.time_gap)
