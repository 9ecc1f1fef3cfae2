"""Plot of a report on a live cluster: observed figures relative to the plan's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from moldable.live.report.comparison import Figure
from moldable.live.report.live_report import LiveReport
from moldable.reporting.figures import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_live_report(axes: Axes, answer: LiveReport) -> None:
    """Draw a point with its interval for each figure that was observed and is not expected 0."""
    shown = [
        part for part in answer.figures if part.expected > 0.0 and math.isfinite(part.observed)
    ]
    for place, part in enumerate(reversed(shown)):
        colour = VERMILION if part.differs else BLUE
        axes.plot(part.ratio, place, "o", color=colour)
        if part.observed.interval is not None:
            low, high = part.observed.interval
            axes.plot([low / part.expected, high / part.expected], [place, place], color=colour)
    axes.set_yticks(range(len(shown)), [_name(part) for part in reversed(shown)])
    axes.axvline(1.0, color=GREY, ls="--")
    axes.set(
        xlabel="observed / planned", ylabel="figure", title="Differences beyond chance are red"
    )


def _name(part: Figure) -> str:
    width = "" if part.width is None else f", width {part.width}"
    return f"{part.job_class}: {part.figure}{width}"
