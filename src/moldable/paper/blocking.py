"""The paper's first figure: blocking probability against the number of servers."""

from __future__ import annotations

from functools import partial
from typing import Final

from moldable.paper import sweep, sweep_figure, sweep_text
from moldable.paper.experiment import Drawing, Experiment, Results, Row


def tables(results: Results) -> dict[str, list[Row]]:
    """Return the whole sweep."""
    return {"blocking": sweep.rows(results, sweep_figure.BLOCKING.name)}


def drawings(results: Results) -> list[Drawing]:
    """Return the figure."""
    return [
        Drawing(
            "blocking",
            "Blocking probability against the number of servers. Bars are 95 % intervals, mostly "
            "smaller than the markers. Dotted: the limits, 0 for greedy(p*) and "
            "1 - (s_d/d)/load for greedy on the sub-linear curve.",
            partial(sweep_figure.draw, results=results, quantity=sweep_figure.BLOCKING),
            size=sweep_figure.SIZE,
        )
    ]


def report(results: Results) -> str:
    """Write the page."""
    (figure,) = drawings(results)
    return "\n\n".join(
        [
            sweep_text.how(results),
            figure.link,
            "## Blocking probability",
            sweep_text.table(results, sweep_figure.BLOCKING.name),
            sweep_text.remainder(results),
        ]
    )


def findings(results: Results) -> list[str]:
    """Return the sentences for readers in a hurry."""
    return [sweep_text.blocking_finding(results)]


EXPERIMENT: Final = Experiment(
    name="blocking",
    title="Blocking probability against the number of servers",
    cells=sweep.cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
