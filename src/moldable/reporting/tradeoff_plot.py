"""Plot of the trade-off: mean time against blocking; lower left is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldable.optimal.curve import TradeoffCurve
from moldable.reporting.figures import BLUE, GREEN, GREY, VERMILION, new_figure
from moldable.system.performance import Performance
from moldable.tuning.tradeoff import ValueTradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKING: Final = "blocking probability"
TIME: Final = "mean execution time of accepted jobs"
NARROWEST: Final = 0.01
"""Least range of the time axis, relative to the times."""


def tradeoff_figure(answer: ValueTradeoff) -> Figure:
    """Draw the curves; lower left is better."""
    figure = new_figure((7.0, 4.6))
    draw_tradeoff(figure.add_subplot(), answer)
    return figure


def draw_optimum(axes: Axes, curve: TradeoffCurve) -> None:
    """Draw the line that no policy lies below."""
    edge = zip(*curve.edge(), strict=True)
    axes.plot(*edge, "-", color=GREY, lw=3, label="true optimum (lower bound)")


def draw_tradeoff(axes: Axes, answer: ValueTradeoff) -> None:
    """Draw the curves on the given axes."""
    if answer.optimum is not None:
        draw_optimum(axes, answer.optimum)
    points = sorted({_place(part.performance) for part in answer.value_policy})
    axes.plot(*zip(*points, strict=True), "--o", color=BLUE, ms=6, lw=1, label="value policy")
    for name, part, mark, colour in (
        ("greedy(p*)", answer.greedy_p, "*", VERMILION),
        ("greedy", answer.greedy, "^", GREEN),
    ):
        if part is None:
            continue
        axes.plot(*_place(part), mark, color=colour, ms=11, label=name)
    axes.set_xlabel(BLOCKING)
    axes.set_ylabel(f"{TIME} ({answer.time_unit or 'units of time'})")
    axes.set_xlim(left=0.0)
    low, high = axes.get_ylim()
    if high - low < NARROWEST * high:  # equal times: do not magnify rounding errors
        axes.set_ylim(low - NARROWEST * high, high + NARROWEST * high)
    axes.legend(frameon=False)


def _place(answer: Performance) -> tuple[float, float]:
    return answer.blocking.value, answer.mean_execution_time.value
