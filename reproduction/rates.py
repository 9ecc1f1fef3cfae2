"""How fast greedy(p*) approaches the optimum, and how far the paper's bounds are.

E||x - y*||, the blocking probability and |E[D] - D*| against n, with the slope of a fitted power
law beside the exponent of Theorem 2. With one width the sizes are chosen not to be multiples of it,
or the execution time would have no gap at all. With widths 3 and 4 the distance is exact up to a
few dozen servers; beyond, it is the time average of a path followed event by event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, final

import numpy as np

from moldable import Bounds, Optimum, bounds, optimum, stationary_law
from reproduction import sweep
from reproduction.convergence import PowerLaw, mean_interval, power_law
from reproduction.experiment import (
    Cell,
    Drawing,
    Effort,
    Experiment,
    Publication,
    Result,
    Results,
    Row,
    Scale,
)
from reproduction.paths import sampled_path
from reproduction.presentation import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    legend_entries,
    markdown_table,
)
from reproduction.settings import CURVES, REGIMES, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
"""Parts into which a path is cut; they give the interval."""
STRETCH: Final = 10.0
"""Their length in mean sizes: some twenty times what a path remembers."""
SPACING: Final = 0.1
"""Mean sizes between two looks at a path."""


def cells(scale: Scale) -> list[Cell]:
    """Return the sweep's cells, and those of the odd sizes and of the paths."""
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
    workload = ONE_WIDTH.workload(servers)
    law = stationary_law(workload, servers, ONE_WIDTH.policy(servers))
    return sweep.summary(ONE_WIDTH, servers, sweep.GREEDY_P, law.performance(), law.theory.distance)


def _path(servers: int, scale: Scale, effort: Effort) -> Result:
    """Return the mean distance along a path from near y*, its first stretch left out."""
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


def _with_bounds(setting: Setting, parts: list[Result]) -> list[tuple[Result, Bounds]]:
    curve, regime = CURVES[setting.curve], REGIMES[setting.regime]
    return [
        (part, bounds(curve, setting.load(part["servers"]), part["servers"], alpha=regime.alpha))
        for part in parts
    ]


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


def _gather(
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


def series(results: Results) -> list[Series]:
    """Return the points, the bounds and the theorem's exponents of every setting."""
    odd = [results[_key("odd", n)] for n in ODD_SIZES[results.scale]]
    paths = [results[_key("path", n)] for n in PATH_SIZES[results.scale]]
    found: Mapping[Setting, list[Result]] = {
        ONE_WIDTH: odd,
        **{s: sweep.along(results, s, sweep.GREEDY_P) for s in TWO_WIDTHS},
    }
    return [
        _gather(
            setting.words,
            _optimum(setting, parts[-1]["servers"]).support,
            _with_bounds(setting, parts),
            _with_bounds(setting, paths if setting == FROM_THREE else []),
        )
        for setting, parts in found.items()
    ]


def publish(results: Results) -> Publication:
    """Make the points, the slopes and the figure."""
    every = series(results)
    figure = Drawing(
        "rates",
        "Distance from the optimum, blocking and the gap in mean execution time against n, "
        "with fitted slopes, the slopes of Theorem 2 and the stated bounds; bounds whose proof "
        "has a gap are marked. Filled: exact; open: simulated, with 95 % intervals.",
        partial(_draw, every=every),
        size=(11.0, 8.0),
    )
    return Publication(
        tables={"rates": _points_table(every), "rates-slopes": _slopes_table(every)},
        page=_page(every, figure),
        findings=_sentences(every),
        drawings=[figure],
    )


def _points_table(every: list[Series]) -> list[Row]:
    return [
        {
            "setting": one.words,
            "quantity": quantity,
            "servers": point.servers,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "exact": point.exact,
            "bound": point.bound,
        }
        for one in every
        for quantity in QUANTITIES
        for point in one.points[quantity]
    ]


def _slopes_table(every: list[Series]) -> list[Row]:
    return [
        {
            "setting": one.words,
            "widths": "-".join(map(str, one.support)),
            "quantity": quantity,
            "slope": one.fit(quantity).slope,
            "theorem": one.theorem[quantity],
            "proof": one.proof,
            "gaps": " ".join(one.gaps),
        }
        for one in every
        for quantity in QUANTITIES
    ]


def _page(every: list[Series], figure: Drawing) -> str:
    """Write the page."""
    header = ["setting", "widths", *(f"{words}: fitted / stated" for words in QUANTITIES.values())]
    body = [
        [
            one.words,
            " and ".join(map(str, one.support)),
            *(f"{one.fit(q).slope:.2f} / {one.theorem[q]:.2f}" for q in QUANTITIES),
        ]
        for one in every
    ]
    return "\n\n".join(
        [
            (
                "greedy(p*), exponential sizes. A slope is the exponent of n of the power law "
                "fitted to the larger half of the sizes; beside it is the exponent of Theorem 2. "
                "The theorem asks for alpha > 0; its exponent at alpha = 0 is put beside the "
                "mean-field regime. Distance is E||x - y*|| in jobs per server, and the gap in "
                "time |E[D] - D*| in mean sizes, where D* belongs to the load of each n. The sizes "
                "with one width are no multiples of 5: at multiples every job that is admitted "
                "gets width 5, and the gap in time is exactly 0."
            ),
            figure.link,
            "## Slopes",
            markdown_table(header, body),
            _how_exact(every),
            "## Bounds",
            markdown_table(
                ["setting", "n", "distance", "its bound", "blocking", "its bound", "proof"],
                [_bound_row(one) for one in every],
            ),
            "\n".join(f"- {sentence}" for sentence in _sentences(every)),
        ]
    )


def _how_exact(every: list[Series]) -> str:
    notes = []
    for one in every:
        exact = [p.servers for p in one.points[DISTANCE] if p.exact]
        others = [p.servers for p in one.points[DISTANCE] if not p.exact]
        if others:
            notes.append(
                f"For {one.words} the distance is exact only up to n = {max(exact):,}, where the "
                f"chain in as many dimensions as widths can be solved; from n = {min(others):,} on "
                f"it is the time average of a path followed event by event, with its interval."
            )
    return " ".join([*notes, "All other distances are exact at every n."])


def _bound_row(one: Series) -> list[str]:
    distance = max(one.points[DISTANCE], key=lambda point: point.servers)
    blocking = next(p for p in one.points[BLOCKING] if p.servers >= distance.servers)
    proof = "complete" if one.proof == "complete" else f"gap: {', '.join(one.gaps)}"
    return [
        one.words,
        f"{distance.servers:,}",
        f"{distance.value:.4f}",
        f"{distance.bound:.3g}",
        f"{blocking.value:.4f}",
        f"{blocking.bound:.3g}",
        proof,
    ]


def _sentences(every: list[Series]) -> list[str]:
    """Return what stands out."""
    two = [one for one in every if len(one.support) > 1]
    fitted = ", ".join(f"{one.fit(DISTANCE).slope:.2f}" for one in two)
    stated = ", ".join(f"{one.theorem[DISTANCE]:.2f}" for one in two)
    blocking = ", ".join(f"{one.fit(BLOCKING).slope:.2f}" for one in two)
    bound = ", ".join(f"{one.points[BLOCKING][-1].bound:.3g}" for one in two)
    n = two[0].points[BLOCKING][-1].servers
    return [
        (
            f"With two widths the distance falls like n to the {fitted}, faster than the stated "
            f"{stated}, and blocking like n to the {blocking}: the theorem's orders are upper "
            f"bounds, far from sharp here."
        ),
        (
            f"The stated bounds on blocking with two widths, whose proof has a gap, are {bound} at "
            f"n = {n:,}: a probability is never above 1, so they say nothing at any size here."
        ),
    ]


LABELS: Final = {
    "distance": "mean distance E$||x - y^*||$\n(jobs per server)",
    "blocking": "blocking probability",
    "time_gap": "gap in mean execution time\n$|E[D] - D^*|$ (mean sizes)",
}


def _draw(figure: Figure, every: list[Series]) -> None:
    """Draw a row for each quantity and a column for each setting."""
    grid = figure.subplots(len(QUANTITIES), len(every), sharex=True, sharey="row", squeeze=False)
    for row, quantity in zip(grid, QUANTITIES, strict=True):
        row[0].set_ylabel(LABELS[quantity])
        for axes, series in zip(row, every, strict=True):
            _panel(axes, series, quantity)
    for axes, series in zip(grid[0], every, strict=True):
        widths = " and ".join(map(str, series.support))
        axes.set_title(f"{series.words}\nwidth{'s' * (len(series.support) > 1)} {widths}")
    for axes in grid[-1]:
        axes.set_xlabel("servers n")
    figure.legend(handles=_legend(grid[0, 0]), loc="outside lower center", ncols=4)


def _panel(axes: Axes, series: Series, quantity: str) -> None:
    points = series.points[quantity]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()  # a dozen panels of them take seconds
    for exact in (True, False):
        _points(axes, [point for point in points if point.exact is exact], exact=exact)
    fit, tail = series.fit(quantity), series.larger_half(quantity)
    n = np.array([point.servers for point in tail], dtype=np.float64)
    axes.plot(n, fit.at(n), color=BLUE, lw=1.2)
    # The theorem gives an order, not a height: its line starts above the first fitted point.
    order = series.theorem[quantity]
    axes.plot(n, 1.6 * fit.at(n)[0] * (n / n[0]) ** order, color=GREEN, ls="--", lw=1.2)
    bounded = [(point.servers, point.bound) for point in points if point.bound is not None]
    gap = series.proof == "gap"
    axes.plot(
        [servers for servers, _ in bounded],
        [bound for _, bound in bounded],
        color=VERMILION if gap else BLACK,
        ls=":" if gap else "-.",
        lw=1.4,
    )
    if quantity == BLOCKING:
        axes.axhline(1.0, color=GREY, lw=0.6)
    note = f"slope {fit.slope:.2f}\ntheorem {order:.2f}"
    if not bounded:
        note += "\nbound vacuous"
    axes.text(0.03, 0.04, note, transform=axes.transAxes, fontsize=8)


def _points(axes: Axes, points: list[Point], *, exact: bool) -> None:
    if not points:
        return
    values = np.array([point.value for point in points])
    below = values - np.array([point.low for point in points])
    above = np.array([point.high for point in points]) - values
    axes.errorbar(
        [point.servers for point in points],
        values,
        (below, above),
        color=BLUE,
        mfc=BLUE if exact else "white",
        marker="o",
        ms=4,
        ls="",
        capsize=2,
    )


def _legend(axes: Axes) -> list[Line2D]:
    return legend_entries(
        axes,
        {
            "exact": {"color": BLUE, "marker": "o", "ms": 4, "ls": ""},
            "simulated": {"color": BLUE, "marker": "o", "mfc": "white", "ms": 4, "ls": ""},
            "fitted to the larger half of the sizes": {"color": BLUE},
            "order stated by Theorem 2": {"color": GREEN, "ls": "--"},
            "stated bound, proof complete": {"color": BLACK, "ls": "-."},
            "stated bound, proof has a gap": {"color": VERMILION, "ls": ":"},
            "1: a bound above says nothing": {"color": GREY, "lw": 0.6},
        },
    )


EXPERIMENT: Final = Experiment("rates", "Rates of convergence", cells, publish)
