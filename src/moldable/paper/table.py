"""Table 1 of the paper: does every number agree, and if not, why?"""

from __future__ import annotations

from functools import partial
from typing import Final

from moldable.paper import table_figure, table_text
from moldable.paper.experiment import Drawing, Experiment, Results, Row
from moldable.paper.settings import REGIMES, SETTINGS
from moldable.paper.table_cells import SIZES, Size, cells
from moldable.paper.table_compared import Compared, compared, horizon


def tables(results: Results) -> dict[str, list[Row]]:
    """Return the table with one number in each row."""
    return {"table": [_row(each, SIZES[results.scale]) for each in compared(results)]}


def _row(each: Compared, size: Size) -> Row:
    regime = REGIMES[each.setting.regime]
    return {
        "metric": each.metric,
        "curve": each.setting.curve,
        "alpha": regime.alpha,
        "beta": regime.beta,
        "servers": size.servers,
        "size_law": each.law,
        "printed": each.printed,
        "printed_standard_error_estimated": each.printed_error,
        "paper_method": each.by_method.value,
        "paper_method_standard_error": each.by_method.standard_error,
        "paper_method_runs": size.runs,
        "paper_method_arrivals_per_run": size.arrivals,
        "paper_method_bias_predicted": each.bias,
        "paper_method_predicted": each.right.value + each.bias,
        "done_right": each.right.value,
        "done_right_standard_error": each.right.standard_error,
        "done_right_method": each.method,
        "simulated_from_equilibrium": each.simulated.value,
        "simulated_standard_error": each.simulated.standard_error,
        "verdict": each.verdict.value,
    }


def drawings(results: Results) -> list[Drawing]:
    """Return the figure of all differences."""
    return [
        Drawing(
            "table",
            "The numbers of Table 1 as differences from the values done right: as printed, as we "
            "get them by the paper's method, and as that method's bias predicts them.",
            partial(table_figure.draw, compared=compared(results)),
            size=table_figure.SIZE,
        )
    ]


def report(results: Results) -> str:
    """Write the page."""
    size = SIZES[results.scale]
    text = table_text.report(compared(results), size, horizon(size, SETTINGS[-1]))
    (figure,) = drawings(results)
    return f"{figure.link}\n\n{text}"


def findings(results: Results) -> list[str]:
    """Return the verdicts in numbers."""
    return table_text.findings(compared(results), SIZES[results.scale])


def overview(results: Results) -> str:
    """Return the table in the paper's own shape."""
    return table_text.overview(compared(results))


EXPERIMENT: Final = Experiment(
    name="table",
    title="Table 1: four laws of job sizes",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
    overview=overview,
)
