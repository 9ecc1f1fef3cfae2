"""Does greedy(p*) depend on the law of job sizes beyond its mean?

The paper concludes from its table that it does not. Where every job gets one width that divides n
that is a theorem: the system is M/G/c/c and blocking is Erlang's formula for every law. Here the
other cases are looked at too, exactly for laws made of phases on small clusters, by simulation from
equilibrium otherwise: servers left over that narrower jobs fill, and two widths.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from moldable.paper import markdown
from moldable.paper.experiment import Drawing, Experiment, Results, Row
from moldable.paper.insensitivity_cells import LAWS, SYSTEMS, cells
from moldable.paper.insensitivity_compared import Difference, differences
from moldable.paper.insensitivity_figure import SIZE, draw
from moldable.paper.verdict import ALLOWED


def tables(results: Results) -> dict[str, list[Row]]:
    """Return one row for each system, size and law."""
    every = [each for system in SYSTEMS for each in differences(results, system)]
    return {"insensitivity": [_row(each) for each in every]}


def _row(each: Difference) -> Row:
    return {
        "system": each.system.words,
        "curve": each.system.curve,
        "load": each.system.load,
        "servers": each.servers,
        "size_law": str(LAWS[each.law]),
        "method": each.method,
        "blocking": each.value[0].value,
        "blocking_standard_error": each.value[0].standard_error,
        "mean_execution_time": each.value[1].value,
        "mean_execution_time_standard_error": each.value[1].standard_error,
        "blocking_relative_difference": each.blocking.value,
        "blocking_relative_difference_standard_error": each.blocking.standard_error,
        "mean_time_relative_difference": each.mean_time.value,
        "mean_time_relative_difference_standard_error": each.mean_time.standard_error,
    }


def drawings(results: Results) -> list[Drawing]:
    """Return the figure."""
    return [
        Drawing(
            "insensitivity",
            "Blocking of greedy(p*) under six laws of job sizes, relative to exponential ones, in "
            f"four systems: {_systems()}. "
            "Bars are two standard errors; points without a bar are exact.",
            partial(draw, differences={s: differences(results, s) for s in SYSTEMS}),
            size=SIZE,
        )
    ]


def _systems() -> str:
    return "; ".join(f"{s.words} ({s.curve} curve, load {s.load:g})" for s in SYSTEMS)


def report(results: Results) -> str:
    """Write the page."""
    (figure,) = drawings(results)
    seen = [e for s in SYSTEMS for e in differences(results, s) if not e.none_seen]
    most = max(abs(each.blocking.value) for each in seen)
    parts = [_INTRODUCTION.format(most=100.0 * most), figure.link]
    for system in SYSTEMS:
        rows = differences(results, system)
        header = ["n", "sizes", "found by", "blocking", "change", "mean execution time", "change"]
        body = [_line(each) for each in rows]
        parts += [f"## {system.words.capitalize()}", _said(rows), markdown.table(header, body)]
    return "\n\n".join(parts)


_INTRODUCTION: Final = """\
The paper's table suggests that greedy(p*) depends on the law of job sizes through its mean only.
That is exact in one case: if every job gets the same width and it divides n, the system is
M/G/c/c and blocking is Erlang's formula whatever the law. With servers left over, or with two
widths, jobs are granted what is idle, the product form is lost, and small systems show it to all
digits: blocking changes by up to {most:.1f} % of its value in the systems below. Changes are
relative to exponential sizes; ± is one standard error, and numbers without it are exact."""


def _line(each: Difference) -> list[str]:
    blocking, mean_time = each.value
    found = "simulation" if each.method == "simulate" else each.method
    return [
        str(each.servers),
        str(LAWS[each.law]),
        found,
        str(blocking),
        each.blocking.percent,
        str(mean_time),
        each.mean_time.percent,
    ]


def _said(rows: list[Difference]) -> str:
    exact = [each for each in rows if each.blocking.standard_error == 0.0]
    seen = [each for each in rows if not each.none_seen]
    if not seen:
        return (
            f"No law changes blocking: {len(exact)} of {len(rows)} answers are exact and equal to "
            f"{max(abs(e.blocking.value) for e in exact):.0e} of their value, the others within "
            f"{ALLOWED:g} standard errors."
        )
    most = max(seen, key=lambda each: abs(each.blocking.value))
    return (
        f"{len(seen)} of {len(rows)} answers differ from exponential sizes by more than chance, "
        f"the most by {most.blocking.percent} (n = {most.servers}, {most.law})."
    )


def findings(results: Results) -> list[str]:
    """Say where insensitivity is exact and where only near."""
    return [
        f"Insensitivity, {system.words} ({system.curve} curve, load {system.load:g}): "
        f"{_said(differences(results, system))}"
        for system in SYSTEMS
    ]


EXPERIMENT: Final = Experiment(
    name="insensitivity",
    title="Insensitivity to the law of job sizes",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
