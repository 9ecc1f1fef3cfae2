"""How does the stationary law look in the plane of its two widths?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.paper import drawing
from moldable.paper.experiment import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

DEPTH: Final = 1e-4
"""Mass below this part of the largest is left white."""
VISIBLE: Final = 1e-3
"""A bar of less than this would not be seen."""


def draw_planes(figure: Figure, planes: list[list[Result]]) -> None:
    """Draw a row of planes for each case, a column for each n."""
    columns = max(map(len, planes))
    grid = figure.subplots(len(planes), columns, squeeze=False)
    for row, parts in zip(grid, planes, strict=True):
        for axes, part in zip(row, parts, strict=False):
            mesh = _plane(axes, part)
        for axes in row[len(parts) :]:
            axes.axis("off")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    bar = figure.colorbar(mesh, ax=grid, shrink=0.6, aspect=30)
    bar.set_label("stationary mass, relative to the largest in the panel")


def _plane(axes: Axes, part: Result) -> QuadMesh:
    n, y = part["servers"], part["optimum"]
    mass = np.array(part["plane"]["mass"])
    x_edges, y_edges = (np.array(edges) / n for edges in part["plane"]["edges"])
    mesh = axes.pcolormesh(
        x_edges,
        y_edges,
        (mass / mass.max()).T,
        norm="log",
        vmin=DEPTH,
        vmax=1.0,
        cmap="Blues",
        rasterized=True,
    )
    narrow, wide = part["support"]
    slow, fast = part["speedups"]
    limits = (*axes.get_xlim(), *axes.get_ylim())
    x = np.array(limits[:2])
    busy, rate = (1.0 - narrow * x) / wide, (part["load"] - slow * x) / fast
    axes.plot(x, busy, color=drawing.VERMILION, lw=1.3, label="all servers busy, $q_1 = 1$")
    axes.plot(
        x, rate, color=drawing.BLACK, lw=1.3, ls="--", label="departures = arrivals, $r$ = load"
    )
    axes.plot(*y, "*", color=drawing.YELLOW, mec="k", ms=12, ls="", label="fluid point $y^*$")
    axes.set_xlim(*limits[:2])
    axes.set_ylim(*limits[2:])
    axes.locator_params(nbins=5)
    axes.set_xlabel(f"width-{narrow} jobs per server, $x_{narrow}$")
    axes.set_ylabel(f"width-{wide} jobs per server, $x_{wide}$")
    axes.set_title(f"widths {narrow} and {wide}, n = {n}")
    return mesh


def draw_narrow(figure: Figure, counts: list[Result]) -> None:
    """Draw the law of the number of narrow jobs for each n."""
    axes = figure.subplots()
    width = 0.8 / len(counts)
    hatches = ("", "//", "..")
    for k, part in enumerate(counts):
        seen = [p for p in part["narrow_jobs"] if p > VISIBLE]
        axes.bar(
            np.arange(len(seen)) + (k - (len(counts) - 1) / 2) * width,
            seen,
            width,
            color=drawing.COLOURS[k],
            edgecolor="white",
            hatch=hatches[k % len(hatches)],
            label=f"n = {part['servers']}",
        )
    axes.axvline(1.5, color="k", ls="--", lw=1)
    axes.annotate(
        "the lemma: no mass from here on",
        (1.62, axes.get_ylim()[1] * 0.97),
        va="top",
    )
    axes.set_xlabel("jobs narrower than width 3 in the system")
    axes.set_ylabel("stationary probability")
    axes.legend(loc="center right")
