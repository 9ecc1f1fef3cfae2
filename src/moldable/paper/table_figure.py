"""How far are the paper's table and its method from the true values, and from the prediction?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.paper.drawing import BLACK, BLUE, GREY, VERMILION
from moldable.paper.settings import HALF_A_DIGIT, METRICS
from moldable.paper.table_compared import Compared

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE: Final = (7.2, 6.6)
_TITLES: Final = {
    "mean_execution_time": "mean execution time (mean sizes)",
    "blocking": "blocking probability",
}
_TICKS: Final = (-1e-2, -1e-3, 0.0, 1e-3)
_LINEAR: Final = 4e-4
"""Differences up to this are drawn to scale, larger ones by their logarithm."""


def draw(figure: Figure, compared: list[Compared]) -> None:
    """Draw every number as its difference from ours done right."""
    axes = figure.subplots(1, len(METRICS), sharey=True)
    for ax, metric in zip(axes, METRICS, strict=True):
        rows = [each for each in compared if each.metric == metric]
        _draw_metric(ax, rows)
        ax.set_title(_TITLES[metric], size=9)
    rows = [each for each in compared if each.metric == next(iter(METRICS))]
    axes[0].set_yticks(range(len(rows)), [f"{e.setting.words}: {e.law}" for e in rows], size=7.5)
    axes[0].invert_yaxis()
    figure.supxlabel("difference from the value done right (logarithmic beyond 0.0004)", size=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)


def _draw_metric(axes: Axes, rows: list[Compared]) -> None:
    places = np.arange(len(rows), dtype=float)
    axes.axvspan(-HALF_A_DIGIT, HALF_A_DIGIT, color="0.88", label="rounding of the printed digits")
    ours = np.array([each.by_method.value - each.right.value for each in rows])
    errors = [2.0 * np.hypot(e.by_method.standard_error, e.right.standard_error) for e in rows]
    axes.plot(
        [float(each.printed) - each.right.value for each in rows],
        places - 0.2,
        "s",
        mfc="none",
        color=VERMILION,
        ms=5,
        label="printed in the paper",
    )
    axes.errorbar(
        ours,
        places + 0.15,
        xerr=errors,
        fmt="o",
        color=BLUE,
        ms=3.5,
        lw=1,
        label="ours by the paper's method, with two standard errors",
    )
    axes.plot(
        [each.bias for each in rows],
        places + 0.15,
        "|",
        color=BLACK,
        ms=11,
        mew=1.4,
        label="the method's bias as predicted",
    )
    axes.set_xscale("symlog", linthresh=_LINEAR)
    axes.set_xlim(-0.06, 0.004)
    axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS], size=7.5)
    axes.minorticks_off()
    for k in range(0, len(rows) + 1, 4):
        axes.axhline(k - 0.5, color=GREY, lw=0.5)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.grid(axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
