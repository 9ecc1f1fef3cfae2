"""Plot of the frontier: time against server-time, with the capacity as a vertical line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.allocation.optimum import Optimum
from moldable.errors import InputError
from moldable.reporting.figures import BLUE, GREY, VERMILION, new_figure, rendered
from moldable.text_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS: Final = ("svg", "png", "pdf")
MOST_LABELS: Final = 24


def save_frontier_plot(solution: Optimum, path: Path) -> None:
    """Draw the frontier and the optimum, and write the file atomically."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in KINDS:
        raise InputError(f"--plot {path}: the name must end in .{', .'.join(KINDS)}")
    figure = new_figure((7.0, 4.4))
    draw_frontier(figure.add_subplot(), solution)
    write_whole(path, rendered(figure, kind), "--plot")


def draw_frontier(axes: Axes, solution: Optimum) -> None:
    """Draw every width, the frontier and the optimum on it."""
    frontier, speedup = solution.frontier, solution.frontier.speedup
    off = np.isin(speedup.widths, solution.dominated_widths)
    x, t = speedup.widths / speedup.speedups, 1.0 / speedup.speedups
    axes.plot(frontier.server_time, frontier.time, "-o", color=BLUE, ms=5, label="frontier")
    if off.any():
        axes.plot(x[off], t[off], "o", mfc="none", color=GREY, ms=5, label="off the frontier")
    capacity = 1.0 / solution.load
    axes.axvline(capacity, color=GREY, ls="--", lw=1, label=f"capacity at load {solution.load:g}")
    axes.plot(
        [solution.mix.server_time],
        [solution.mix.time],
        "*",
        color=VERMILION,
        ms=15,
        label=f"optimum: {_shares(solution)}",
    )
    step = max(1, frontier.widths.size // MOST_LABELS)
    for k in range(0, frontier.widths.size, step):
        place = (frontier.server_time[k], frontier.time[k])
        axes.annotate(str(frontier.widths[k]), place, (4, 5), textcoords="offset points", size=8)
    axes.set_xlabel("server-time of a job (mean sizes x servers)")
    axes.set_ylabel("execution time of a job (mean sizes)")
    axes.set_title("Time and server-time of each width (labels: widths)", size=10)
    axes.legend(frameon=False, fontsize=9)


def _shares(solution: Optimum) -> str:
    return ", ".join(
        f"width {width} for {100 * share:.4g} %"
        for width, share in zip(solution.support, solution.mix.shares, strict=True)
    )
