"""How does the trade-off look? Blocking across, mean time up, a curve for each family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldable.reporting.figures import BLUE, GREEN, GREY, ORANGE, VERMILION, new_figure
from moldable.tuning.families import Chosen, Families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NARROWEST: Final = 0.01
"""Range of times that is drawn at least, as a share of them."""


def tradeoff_figure(answer: Families) -> Figure:
    """Draw the curves; lower and further left is better."""
    figure = new_figure((7.0, 4.6))
    axes = figure.add_subplot()
    if answer.optimum is not None:
        edge = zip(*answer.optimum.edge(), strict=True)
        axes.plot(*edge, "-", color=GREY, lw=3, label="true optimum (nothing lies below)")
    _family(axes, answer.static, "s", ORANGE, "static: greedy(p*) for other loads")
    _family(axes, answer.price_policy, "o", BLUE, "price policy")
    for name, part, mark, colour in (
        ("greedy(p*)", answer.greedy_p, "*", VERMILION),
        ("greedy", answer.greedy, "^", GREEN),
    ):
        if part is None:
            continue
        place = ([part.blocking.value], [part.mean_execution_time.value])
        axes.plot(*place, mark, color=colour, ms=11, label=name)
    axes.set_xlabel("blocking probability")
    axes.set_ylabel("mean execution time of accepted jobs (units of time)")
    axes.set_xlim(left=0.0)
    low, high = axes.get_ylim()
    if high - low < NARROWEST * high:  # all times are alike: show no rounding
        axes.set_ylim(low - NARROWEST * high, high + NARROWEST * high)
    axes.legend(frameon=False)
    return figure


def _family(axes: Axes, chosen: tuple[Chosen, ...], mark: str, colour: str, name: str) -> None:
    points = sorted(
        {(c.performance.blocking.value, c.performance.mean_execution_time.value) for c in chosen}
    )
    axes.plot(*zip(*points, strict=True), f"--{mark}", color=colour, ms=6, lw=1, label=name)
