"""How do the classes fare as the cluster grows?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.paper import drawing
from moldable.paper.experiment import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def draw(figure: Figure, found: Mapping[str, Mapping[str, list[Result]]]) -> None:
    """Draw a row for each example: blocking on the left, mean execution time on the right."""
    grid = figure.subplots(len(found), 2, sharex=True, sharey="col", squeeze=False)
    for (left, right), (example, ways) in zip(grid, found.items(), strict=True):
        for sharing, parts in ways.items():
            for k in range(len(parts[0]["classes"])):
                _series(left, parts, k, "blocking", reserved=sharing == "reserved")
                _series(right, parts, k, "mean_execution_time", reserved=sharing == "reserved")
        right.axhline(1.0, color="k", ls=":", lw=1.2)
        left.set_ylabel("blocking probability")
        right.set_ylabel("mean execution time / optimum D*")
        for axes in (left, right):
            axes.set_title(example.replace("-", " "))
    grid[0, 0].set_xscale("log")
    grid[0, 0].set_yscale("log")
    grid[0, 0].minorticks_off()
    grid[0, 0].set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    for axes in grid[-1]:
        axes.set_xlabel("servers n")
    most = max((ways["pool"][0]["classes"] for ways in found.values()), key=len)
    names = [one["name"] for one in most]
    figure.legend(handles=_legend(grid[0, 0], names), loc="outside lower center", ncols=3)


def _series(axes: Axes, parts: list[Result], k: int, name: str, *, reserved: bool) -> None:
    ones = [part["classes"][k] for part in parts]
    unit = ones[0]["limit"] if name == "mean_execution_time" else 1.0
    values = np.array([one[name] for one in ones]) / unit
    intervals = np.array([one[f"{name}_interval"] for one in ones]) / unit
    axes.errorbar(
        [part["servers"] for part in parts],
        values,
        np.abs(intervals.T - values),
        color=drawing.COLOURS[k],
        marker=drawing.MARKERS[k],
        mfc=drawing.COLOURS[k] if reserved else "white",
        ls="-" if reserved else "--",
        ms=5,
        lw=1.0,
        capsize=2.5,
    )


def _legend(axes: Axes, names: list[str]) -> list[Line2D]:
    """Return a line for each entry; without points they are not seen in the panel."""
    classes = [
        axes.plot([], [], drawing.MARKERS[k], color=drawing.COLOURS[k], label=f"class {name}")[0]
        for k, name in enumerate(names)
    ]
    ways = [
        axes.plot([], [], "ko-", label="reserved servers, greedy(p*)")[0],
        axes.plot([], [], "ko--", mfc="white", label="one pool, greedy(p*)")[0],
        axes.plot([], [], "k:", label="optimum for reserved servers")[0],
    ]
    # The legend fills column by column.
    return [line for pair in zip_longest(classes, ways) for line in pair if line is not None]
