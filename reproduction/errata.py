"""Errors and open points of the paper, each with a program that shows it."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any, Final

from reproduction.errata_list import ERRATA, Erratum
from reproduction.experiment import Cell, Effort, Experiment, Publication, Result, Results, Scale

_INTRODUCTION: Final = """\
Each point below has a program that shows it, with its output. The numbers in the text come from
the program. Where possible, systems are small enough to be solved exactly."""


def cells(_: Scale) -> list[Cell]:
    """List one cell for each point; the programs are the same at every scale."""
    return [Cell(f"errata/{erratum.key}", partial(_compute, erratum)) for erratum in ERRATA]


def _compute(erratum: Erratum, _: Effort) -> Result:
    session, names = transcribe(erratum.program)  # the programs contain their seeds
    return {"session": session, "finding": erratum.finding.format(**names)}


def transcribe(source: str) -> tuple[str, dict[str, Any]]:
    """Run a program and return its interpreter session, and its variables.

    Every expression statement is followed by its value, as at a prompt.
    """
    lines = [line for line in source.splitlines() if line]
    session: list[str] = []
    names: dict[str, Any] = {}
    begin = 0
    for node in ast.parse("\n".join(lines)).body:
        end = node.end_lineno or node.lineno
        for place, line in enumerate(lines[begin:end], start=begin - node.lineno + 1):
            # The first line of a statement, and comments above it, have the full prompt.
            session.append(f"{'>>>' if place <= 0 else '...'} {line}".rstrip())
        begin = end
        if isinstance(node, ast.Expr):
            value = eval(compile(ast.Expression(node.value), "<shown>", "eval"), names)  # noqa: S307
            session.append(repr(value))
        else:
            exec(compile(ast.Module([node], []), "<shown>", "exec"), names)  # noqa: S102
    return "\n".join(session), names


def publish(results: Results) -> Publication:
    """Show each point, its program and the finding."""
    found = [(erratum, results[f"errata/{erratum.key}"]) for erratum in ERRATA]
    parts = [_INTRODUCTION]
    for number, (erratum, result) in enumerate(found, start=1):
        parts += [
            f"## {number}. {erratum.title}",
            f"*The paper:* {erratum.claim}",
            f"*Found:* {result['finding']}",
            f"```python\n{result['session']}\n```",
        ]
    rows = [{"point": e.title, "paper": e.claim, "found": r["finding"]} for e, r in found]
    return Publication(
        tables={"errata": rows},
        page="\n\n".join(parts),
        findings=[f"{e.title}. {r['finding']}" for e, r in found],
    )


EXPERIMENT: Final = Experiment("errata", "Errors and open points of the paper", cells, publish)
