"""The paper's second figure: mean execution time against the number of servers."""

from __future__ import annotations

from functools import partial
from typing import Final

from moldable.paper import sweep, sweep_figure, sweep_text
from moldable.paper.experiment import Drawing, Experiment, Results, Row


def tables(results: Results) -> dict[str, list[Row]]:
    """Return the whole sweep."""
    return {"time": sweep.rows(results, sweep_figure.TIME.name)}


def drawings(results: Results) -> list[Drawing]:
    """Return the figure."""
    return [
        Drawing(
            "time",
            "Mean execution time of accepted jobs against the number of servers. Bars are 95 % "
            "intervals, mostly smaller than the markers. Dotted: the limits, D* at the load of n "
            "for greedy(p*) and 1/s_d for greedy.",
            partial(sweep_figure.draw, results=results, quantity=sweep_figure.TIME),
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
            "## Mean execution time, in mean sizes",
            sweep_text.table(results, sweep_figure.TIME.name),
            sweep_text.remainder(results),
        ]
    )


def findings(results: Results) -> list[str]:
    """Return the sentences for readers in a hurry."""
    return [sweep_text.time_finding(results)]


EXPERIMENT: Final = Experiment(
    name="time",
    title="Mean execution time against the number of servers",
    cells=sweep.cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
