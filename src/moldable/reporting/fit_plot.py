"""Plot of a fit: speed-ups with intervals, the models and the frontier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.fitting.fit import Fit
from moldable.reporting.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    new_figure,
    rendered,
)
from moldable.text_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {
    "concave": GREEN,
    "amdahl": ORANGE,
    "usl": GREY,
    "downey": PURPLE,
    "power": SKY,
}
"""Colours of the models."""
WIDE: Final = 16.0
"""From this ratio of widths on, both axes are logarithmic."""
MOST_TICKS: Final = 12


def save_fit_plot(answer: Fit, path: Path) -> None:
    """Draw speed-up and efficiency side by side, and write the file atomically."""
    figure = new_figure((10.0, 4.4))
    left, right = figure.subplots(1, 2)
    draw_fit(left, answer)
    draw_fit(right, answer, per_server=True)
    right.get_legend().remove()
    write_whole(path, rendered(figure, path.suffix.lstrip(".").lower()), "--plot")


def draw_fit(axes: Axes, answer: Fit, *, per_server: bool = False) -> None:
    """Draw points with intervals, the models and the frontier.

    Args:
        axes: where to draw.
        answer: the fit.
        per_server: draw the efficiency, speed-up / width, which shows small differences.
    """
    widths, frontier = answer.widths, answer.frontier
    unit = widths.astype(np.float64) if per_server else np.ones(widths.size)
    measured = answer.measured.speedups / unit
    for part in answer.models:
        if part.model == "measured":
            continue
        chosen = part.model == answer.chosen
        axes.plot(
            widths,
            part.speedups / unit,
            "-" if chosen else ":",
            color=COLOURS[part.model],
            lw=2.2 if chosen else 1.2,
            label=f"{part.model}{' (chosen)' if chosen else ''}",
        )
    height = 1.0 / (frontier.server_time if per_server else frontier.time)
    axes.plot(
        frontier.widths, height, "o", mfc="none", color=VERMILION, ms=9, label="on the frontier"
    )
    errors = np.vstack((measured - answer.low / unit, answer.high / unit - measured))
    axes.errorbar(
        widths,
        measured,
        np.maximum(errors, 0.0),
        fmt="o",
        color=BLUE,
        ms=4,
        capsize=3,
        label="measured, 95 % interval",
    )
    _scale(axes, answer, logarithmic=not per_server)
    axes.set(xlabel="width", ylabel="speed-up / width" if per_server else "speed-up")
    axes.legend(frameon=False, fontsize=8)


def _scale(axes: Axes, answer: Fit, *, logarithmic: bool) -> None:
    widths = answer.widths
    if widths[-1] >= WIDE * widths[0]:
        axes.set_xscale("log", base=2)
        if logarithmic:
            axes.set_yscale("log", base=2)
    if widths.size <= MOST_TICKS:
        axes.set_xticks(widths, [str(width) for width in widths])
        axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
