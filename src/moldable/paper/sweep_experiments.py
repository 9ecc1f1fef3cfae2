"""The paper's first two figures: blocking and mean execution time against the number of servers.

Both show one sweep, whose cells are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from moldable.paper import sweep, sweep_figure, sweep_text
from moldable.paper.experiment import Drawing, Experiment, Results, Row
from moldable.paper.sweep_figure import Quantity

_BARS: Final = "Bars are 95 % intervals, mostly smaller than the markers. Dotted: the limits,"


def _experiment(
    quantity: Quantity,
    names: tuple[str, str, str],
    caption: str,
    finding: Callable[[Results], str],
) -> Experiment:
    """Show one quantity; `names` are for files, for the title and for the table's heading."""
    name, title, heading = names

    def tables(results: Results) -> dict[str, list[Row]]:
        return {name: sweep.rows(results, quantity.name)}

    def drawings(results: Results) -> list[Drawing]:
        draw = partial(sweep_figure.draw, results=results, quantity=quantity)
        return [Drawing(name, caption, draw, size=sweep_figure.SIZE)]

    def report(results: Results) -> str:
        (figure,) = drawings(results)
        table = sweep_text.table(results, quantity.name)
        parts = (sweep_text.how(results), figure.link, f"## {heading}", table)
        return "\n\n".join([*parts, sweep_text.remainder(results)])

    return Experiment(
        name=name,
        title=title,
        cells=sweep.cells,
        tables=tables,
        drawings=drawings,
        report=report,
        findings=lambda results: [finding(results)],
    )


BLOCKING: Final = _experiment(
    sweep_figure.BLOCKING,
    (
        "blocking",
        "Blocking probability against the number of servers",
        "Blocking probability",
    ),
    f"Blocking probability against the number of servers. {_BARS} 0 for greedy(p*) and "
    "1 - (s_d/d)/load for greedy on the sub-linear curve.",
    sweep_text.blocking_finding,
)
TIME: Final = _experiment(
    sweep_figure.TIME,
    (
        "time",
        "Mean execution time against the number of servers",
        "Mean execution time, in mean sizes",
    ),
    f"Mean execution time of accepted jobs against the number of servers. {_BARS} D* at the load "
    "of n for greedy(p*) and 1/s_d for greedy.",
    sweep_text.time_finding,
)
