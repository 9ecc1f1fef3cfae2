"""Rates of convergence of greedy(p*) to the optimum, compared with the paper's bounds."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from reproduction.experiment import Drawing, Experiment, Publication, Results, Row
from reproduction.presentation import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    legend_entries,
    markdown_table,
)
from reproduction.rates_cells import BLOCKING, DISTANCE, QUANTITIES, Point, Series, cells, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def publish(results: Results) -> Publication:
    """Make the tables of points and slopes, and the figure."""
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
        {"setting": one.words, "quantity": quantity, **asdict(point)}
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
    """Return the page."""
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
                "greedy(p*), exponential sizes. A slope is the exponent of a power law fitted to "
                "the larger half of the values of n, next to the exponent of Theorem 2. "
                "The theorem requires alpha > 0; its exponent at alpha = 0 is shown for the "
                "mean-field regime. Distance is E||x - y*|| in jobs per server, and the gap in "
                "time |E[D] - D*| in mean sizes, where D* is the optimum at the load of each n. "
                "With one width, no n is a multiple of 5: at multiples every accepted job gets "
                "width 5, and the gap in time is exactly 0."
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
                f"For {one.words} the distance is exact up to n = {max(exact):,}, where the chain "
                f"with a dimension for each width can be solved. From n = {min(others):,} on it is "
                f"the time average of a simulated path, with its confidence interval."
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
    """Return the main findings."""
    two = [one for one in every if len(one.support) > 1]
    fitted = ", ".join(f"{one.fit(DISTANCE).slope:.2f}" for one in two)
    stated = ", ".join(f"{one.theorem[DISTANCE]:.2f}" for one in two)
    blocking = ", ".join(f"{one.fit(BLOCKING).slope:.2f}" for one in two)
    bound = ", ".join(f"{one.points[BLOCKING][-1].bound:.3g}" for one in two)
    n = two[0].points[BLOCKING][-1].servers
    return [
        (
            f"With two widths the distance decreases with the exponents {fitted} of n (the theorem "
            f"states {stated}), and blocking with {blocking}: the orders of the theorem are upper "
            f"bounds, and not sharp here."
        ),
        (
            f"The bounds on blocking with two widths, whose proof has a gap, are {bound} at "
            f"n = {n:,}. They exceed 1 at every n here, so they are trivial."
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
        for axes, one in zip(row, every, strict=True):
            _panel(axes, one, quantity)
    for axes, one in zip(grid[0], every, strict=True):
        widths = " and ".join(map(str, one.support))
        axes.set_title(f"{one.words}\nwidth{'s' * (len(one.support) > 1)} {widths}")
    for axes in grid[-1]:
        axes.set_xlabel("servers n")
    figure.legend(handles=_legend(grid[0, 0]), loc="outside lower center", ncols=4)


def _panel(axes: Axes, one: Series, quantity: str) -> None:
    points = one.points[quantity]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()  # they take seconds in a dozen panels
    for exact in (True, False):
        _points(axes, [point for point in points if point.exact is exact], exact=exact)
    fit, tail = one.fit(quantity), one.larger_half(quantity)
    n = np.array([point.servers for point in tail], dtype=np.float64)
    axes.plot(n, fit.at(n), color=BLUE, lw=1.2)
    # The theorem gives only the order, so its line starts above the first fitted point.
    order = one.theorem[quantity]
    axes.plot(n, 1.6 * fit.at(n)[0] * (n / n[0]) ** order, color=GREEN, ls="--", lw=1.2)
    bounded = [(point.servers, point.bound) for point in points if point.bound is not None]
    gap = one.proof == "gap"
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
            "fitted to the larger half of the n": {"color": BLUE},
            "order stated by Theorem 2": {"color": GREEN, "ls": "--"},
            "stated bound, proof complete": {"color": BLACK, "ls": "-."},
            "stated bound, proof has a gap": {"color": VERMILION, "ls": ":"},
            "1: a bound above says nothing": {"color": GREY, "lw": 0.6},
        },
    )


EXPERIMENT: Final = Experiment("rates", "Rates of convergence", cells, publish)
