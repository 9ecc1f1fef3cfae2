"""Every doubtful point of the paper, with a program that shows it."""

from __future__ import annotations

from functools import partial
from typing import Final

from moldable.paper.errata_list import ERRATA, Erratum
from moldable.paper.experiment import Cell, Drawing, Effort, Experiment, Result, Results, Row, Scale
from moldable.paper.transcript import transcribe

FAMILY: Final = "errata"

_INTRODUCTION: Final = """\
Each point below has a program that shows it; what it prints was printed by running it, and the
numbers in the text are its own. Systems are small enough to be solved exactly where that is
possible."""


def cells(scale: Scale) -> list[Cell]:  # noqa: ARG001 - the programs have one size
    """List one cell for each point."""
    return [Cell(f"{FAMILY}/{erratum.key}", partial(_compute, erratum)) for erratum in ERRATA]


def _compute(erratum: Erratum, effort: Effort) -> Result:  # noqa: ARG001 - seeds stand in the programs
    session, names = transcribe(erratum.program)
    return {"session": session, "said": erratum.said.format(**names)}


def tables(results: Results) -> dict[str, list[Row]]:
    """Return what each point comes to."""
    rows = [
        {"point": e.title, "paper": e.claim, "found": results[f"{FAMILY}/{e.key}"]["said"]}
        for e in ERRATA
    ]
    return {"errata": list(rows)}


def drawings(results: Results) -> list[Drawing]:  # noqa: ARG001 - there is nothing to draw
    """Return no figure."""
    return []


def report(results: Results) -> str:
    """Write the page."""
    parts = [_INTRODUCTION]
    for number, erratum in enumerate(ERRATA, start=1):
        found = results[f"{FAMILY}/{erratum.key}"]
        parts += [
            f"## {number}. {erratum.title}",
            f"*The paper:* {erratum.claim}",
            f"*Found:* {found['said']}",
            f"```python\n{found['session']}\n```",
        ]
    return "\n\n".join(parts)


def findings(results: Results) -> list[str]:
    """Return the points one by one."""
    return [f"{e.title}. {results[f'{FAMILY}/{e.key}']['said']}" for e in ERRATA]


EXPERIMENT: Final = Experiment(
    name="errata",
    title="What the paper leaves open or gets wrong",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
