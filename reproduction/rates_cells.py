"""Rates of convergence of greedy(p*): values, bounds and exponents.

E||x - y*||, the blocking probability and |E[D] - D*| against n, with the slope of a fitted power
law and the exponent of Theorem 2. With one width, n is not a multiple of it, because otherwise the
execution time has no gap. With widths 3 and 4 the distance is exact for up to a hundred servers;
above, it is the time average of a simulated path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np

from moldable import optimum
from moldable.exact import stationary_law
from moldable.results import Optimum
from moldable.theory import Bounds, bounds
from reproduction import sweep
from reproduction.convergence import PowerLaw, mean_interval, power_law
from reproduction.experiment import (
    Cell,
    Effort,
    Result,
    Results,
    Scale,
)
from reproduction.paths import sampled_path
from reproduction.settings import CURVES, REGIMES, Setting

ONE_WIDTH: Final = Setting("linear", "Halfin-Whitt")
FROM_THREE: Final = Setting("sub-linear", "mean-field")
"""Widths 3 and 4; the others use 1 and 2."""
TWO_WIDTHS: Final = (
    Setting("sub-linear", "Halfin-Whitt"),
    Setting("sub-linear", "super-Halfin-Whitt"),
    FROM_THREE,
)

_ODD_SIZES: Final = (22, 52, 102, 202, 502, 1002, 2002, 4002, 10_002, 20_002)
ODD_SIZES: Final = {Scale.TINY: (22, 102, 502), Scale.QUICK: _ODD_SIZES, Scale.FULL: _ODD_SIZES}
"""Multiples of 5 and 2 more, for the one width 5."""
PATH_SIZES: Final = {
    Scale.TINY: (100,),
    Scale.QUICK: (200, 1000, 4000),
    Scale.FULL: (200, 500, 1000, 2000, 4000, 10_000, 20_000),
}
STRETCHES: Final = {Scale.TINY: 4, Scale.QUICK: 10, Scale.FULL: 40}
"""Parts of a path, from which the interval is computed."""
STRETCH: Final = 10.0
"""Their length in mean sizes: about twenty correlation times of a path."""
SPACING: Final = 0.1
"""Mean sizes between two samples of a path."""


def cells(scale: Scale) -> list[Cell]:
    """Return the cells of the sweep, of the n with a remainder and of the paths."""
    odd = [Cell(_key("odd", n), partial(_odd, n)) for n in ODD_SIZES[scale]]
    paths = [Cell(_key("path", n), partial(_path, n, scale)) for n in PATH_SIZES[scale]]
    shared = [cell for cell in sweep.cells(scale) if cell.key in _shared(scale)]
    return [*odd, *shared, *paths]


def _key(kind: str, servers: int) -> str:
    return f"rates/{kind}-n={servers}"


def _shared(scale: Scale) -> set[str]:
    return {sweep.key(setting, n) for setting in TWO_WIDTHS for n in sweep.SIZES[scale]}


def _odd(servers: int, _: Effort) -> Result:
    """Return the exact values with one width that leaves a remainder."""
    law = stationary_law(ONE_WIDTH.scenario(servers), ONE_WIDTH.policy(servers))
    return sweep.summary(ONE_WIDTH, servers, sweep.GREEDY_P, law.performance(), law.theory.distance)


def _path(servers: int, scale: Scale, effort: Effort) -> Result:
    """Return the mean distance along a path that starts near y*, without its first part."""
    solution = _optimum(FROM_THREE, servers)
    times = np.arange(0.0, (STRETCHES[scale] + 1) * STRETCH, SPACING)
    start = {width: int(servers * solution.scaled_jobs[width - 1]) for width in solution.support}
    generator = np.random.default_rng(effort.next_seed())
    path = sampled_path(solution, start, times, generator) / servers
    apart = np.abs(path - solution.scaled_jobs).sum(axis=1)
    each = apart.reshape(STRETCHES[scale] + 1, -1).mean(axis=1)[1:]
    distance, interval = mean_interval(each)
    return {"servers": servers, "distance": distance, "distance_interval": interval}


def _optimum(setting: Setting, servers: int) -> Optimum:
    return optimum(CURVES[setting.curve], setting.load(servers), servers=servers)


DISTANCE, BLOCKING, TIME_GAP = "distance", "blocking", "time_gap"
QUANTITIES: Final = {  # without |, which would end a column in Markdown
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
    """The results for one setting.

    Attributes:
        words: the setting.
        support: the widths of greedy(p*) at the largest n.
        points: of each quantity, by growing n.
        theorem: the exponent that Theorem 2 states for each quantity.
        proof: "complete", or "gap" where a step of the published proof fails.
        gaps: these steps.
    """

    words: str
    support: tuple[int, ...]
    points: Mapping[str, list[Point]]
    theorem: Mapping[str, float]
    proof: str
    gaps: tuple[str, ...]

    def larger_half(self, quantity: str) -> list[Point]:
        """Return the points that a power law is fitted to, those with large n."""
        points = self.points[quantity]
        return points[len(points) // 2 :]

    def fit(self, quantity: str) -> PowerLaw:
        """Fit a power law to the larger half of the sizes."""
        points = self.larger_half(quantity)
        return power_law([p.servers for p in points], [p.value for p in points])


def series(results: Results) -> list[Series]:
    """Return the points, the bounds and the exponents of the theorem for every setting."""
    odd = [results[_key("odd", n)] for n in ODD_SIZES[results.scale]]
    paths = [results[_key("path", n)] for n in PATH_SIZES[results.scale]]
    return [
        _series(ONE_WIDTH, odd, []),
        *(
            _series(s, sweep.along(results, s, sweep.GREEDY_P), paths if s == FROM_THREE else [])
            for s in TWO_WIDTHS
        ),
    ]


def _series(setting: Setting, found: list[Result], paths: list[Result]) -> Series:
    """Sort results by quantity; distances are exact, or from paths if n is too large."""
    known = [part for part in found if part["distance"] is not None]
    beyond = [part for part in paths if part["servers"] > known[-1]["servers"]]
    points = {
        DISTANCE: [_point(setting, part, DISTANCE) for part in (*known, *beyond)],
        BLOCKING: [_point(setting, part, BLOCKING) for part in found],
        TIME_GAP: [_point(setting, part, TIME_GAP) for part in found],
    }
    n = found[-1]["servers"]
    support, stated = _optimum(setting, n).support, _bounds(setting, n)
    two = len(support) > 1
    theorem = dict.fromkeys(QUANTITIES, stated.order) if two else ONE_WIDTH_ORDERS
    return Series(setting.words, support, points, theorem, stated.proof, stated.gaps)


def _bounds(setting: Setting, servers: int) -> Bounds:
    alpha = REGIMES[setting.regime].alpha
    return bounds(CURVES[setting.curve], setting.load(servers), servers, alpha=alpha)


def _point(setting: Setting, part: Result, quantity: str) -> Point:
    name = "mean_execution_time" if quantity == TIME_GAP else quantity
    value, interval = part[name], part.get(f"{name}_interval")
    exact = interval is None or part.get("method", "simulate") != "simulate"
    low, high = interval or (value, value)
    if quantity == TIME_GAP:
        half = (high - low) / 2.0
        value = abs(value - part["mean_execution_time_limit"])
        low, high = value - half, value + half
    stated = getattr(_bounds(setting, part["servers"]), quantity)
    return Point(part["servers"], value, low, high, exact, stated)
