"""How do simulated paths look beside the fluid equations?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.paper import drawing
from moldable.paper.convergence import power_law
from moldable.paper.experiment import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS: Final = {"width 5": [4], "width 4": [3], "width 3": [2], "widths 1 and 2": [0, 1]}
"""Columns of a path that are drawn as one line."""
PANELS: Final = 3


def draw_paths(figure: Figure, within: Mapping[str, list[Result]]) -> None:
    """Draw a row for each start and a column for each of a few n."""
    chosen = {words: _spread(parts) for words, parts in within.items()}
    columns = max(map(len, chosen.values()))
    grid = figure.subplots(len(chosen), columns, sharex=True, sharey=True, squeeze=False)
    for row, (words, parts) in zip(grid, chosen.items(), strict=True):
        row[0].set_ylabel(f"{words}\njobs per server")
        for axes, part in zip(row, parts, strict=True):
            _paths(axes, part)
    for axes, part in zip(grid[0], next(iter(chosen.values())), strict=True):
        axes.set_title(f"n = {part['servers']:,}")
    for axes in grid[-1]:
        axes.set_xlabel("time (mean sizes)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


def _spread(parts: list[Result]) -> list[Result]:
    """Return the first, the middle and the last of many."""
    if len(parts) <= PANELS:
        return parts
    return [parts[0], parts[len(parts) // 2], parts[-1]]


def _paths(axes: Axes, part: Result) -> None:
    times, path, fluid = (np.array(part[name]) for name in ("times", "path", "fluid"))
    for k, (label, columns) in enumerate(GROUPS.items()):
        axes.step(
            times,
            path[:, columns].sum(axis=1),
            where="post",
            color=drawing.COLOURS[k],
            lw=1,
            marker=drawing.MARKERS[k],
            ms=4,
            markevery=(5 * k, len(times) // 6),
            label=label,
        )
    for columns in GROUPS.values():
        (line,) = axes.plot(times, fluid[:, columns].sum(axis=1), color="k", ls="--", lw=1)
    line.set_label("fluid equations")


def draw_distance(figure: Figure, parts: Mapping[str, list[Result]], beyond: Result) -> None:
    """Draw how far paths stray, and the busy fraction where the equations leave capacity."""
    left, right = figure.subplots(1, 2)
    for k, (words, series) in enumerate(parts.items()):
        _distance(left, k, words, series)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("servers n")
    left.set_ylabel("farthest distance\n(jobs per server, all widths)")
    left.legend(loc="lower left", fontsize=7)
    times, path, fluid = (np.array(beyond[name]) for name in ("times", "path", "fluid"))
    widths = np.arange(1, path.shape[1] + 1)
    right.step(times, path @ widths, color=drawing.BLUE, where="post", lw=1.2, label="simulated")
    right.plot(times, fluid @ widths, "k--", lw=1.2, label="fluid equations")
    right.axhline(1.0, color=drawing.VERMILION, ls=":", label="all servers")
    right.set_xlabel("time (mean sizes)")
    right.set_ylabel("busy servers / n")
    right.set_title(f"full of width-1 jobs at the start, n = {beyond['servers']:,}")
    right.legend()


def _distance(axes: Axes, place: int, words: str, series: list[Result]) -> None:
    n = [part["servers"] for part in series]
    values = np.array([part["farthest"] for part in series])
    intervals = np.array([part["farthest_interval"] for part in series])
    line = power_law(n, values.tolist())
    colour = drawing.COLOURS[place]
    axes.errorbar(
        n,
        values,
        np.abs(intervals.T - values),
        color=colour,
        marker=drawing.MARKERS[place],
        ms=5,
        ls="",
        capsize=3,
        label=f"{words}: slope {line.slope:.2f}",
    )
    axes.plot(n, line.at(n), color=colour, lw=1, ls=("-", "--", ":")[place % 3])
