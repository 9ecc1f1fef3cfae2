"""How do the rates of convergence look?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from moldable.paper import drawing
from moldable.paper.rates_points import BLOCKING, QUANTITIES, Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

LABELS: Final = {
    "distance": "mean distance E$||x - y^*||$\n(jobs per server)",
    "blocking": "blocking probability",
    "time_gap": "gap in mean execution time\n$|E[D] - D^*|$ (mean sizes)",
}


def draw(figure: Figure, every: list[Series]) -> None:
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
    axes.plot(n, fit.at(n), color=drawing.BLUE, lw=1.2)
    # The theorem gives an order, not a height: its line starts above the first fitted point.
    order = series.theorem[quantity]
    axes.plot(n, 1.6 * fit.at(n)[0] * (n / n[0]) ** order, color=drawing.GREEN, ls="--", lw=1.2)
    bounded = [(point.servers, point.bound) for point in points if point.bound is not None]
    gap = series.proof == "gap"
    axes.plot(
        [servers for servers, _ in bounded],
        [bound for _, bound in bounded],
        color=drawing.VERMILION if gap else drawing.BLACK,
        ls=":" if gap else "-.",
        lw=1.4,
    )
    if quantity == BLOCKING:
        axes.axhline(1.0, color=drawing.GREY, lw=0.6)
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
        color=drawing.BLUE,
        mfc=drawing.BLUE if exact else "white",
        marker="o",
        ms=4,
        ls="",
        capsize=2,
    )


def _legend(axes: Axes) -> list[Line2D]:
    """Return a line for each entry; without points they are not seen in the panel."""
    blue = drawing.BLUE
    entries: dict[str, dict[str, Any]] = {
        "exact": {"color": blue, "marker": "o", "ms": 4, "ls": ""},
        "simulated": {"color": blue, "marker": "o", "mfc": "white", "ms": 4, "ls": ""},
        "fitted to the larger half of the sizes": {"color": blue},
        "order stated by Theorem 2": {"color": drawing.GREEN, "ls": "--"},
        "stated bound, proof complete": {"color": drawing.BLACK, "ls": "-."},
        "stated bound, proof has a gap": {"color": drawing.VERMILION, "ls": ":"},
        "1: a bound above says nothing": {"color": drawing.GREY, "lw": 0.6},
    }
    return [axes.plot([], [], label=label, **style)[0] for label, style in entries.items()]
