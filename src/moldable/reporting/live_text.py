"""A report on a live cluster as text."""

from __future__ import annotations

import math
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.live.report.comparison import Figure
from moldable.live.report.live_report import LiveReport
from moldable.model.units import SYMBOLS
from moldable.reporting.tables import plain_table, print_table

TIMES: Final = ("mean wait", "execution time")


def show_live_report(console: Console, answer: LiveReport) -> None:
    """Print the observed and the planned figures, and the warnings."""
    unit = "" if answer.time_unit is None else f" {SYMBOLS[answer.time_unit]}"
    console.print(
        f"{answer.source}: {answer.jobs:,} jobs in {answer.span:.4g}{unit or ' units of time'}, "
        f"compared with plan {answer.digest}."
    )
    print_table(console, figures_table(answer), figures_table(answer, short=True))
    if answer.warnings:
        console.print("Differences beyond chance:")
        for each in answer.warnings:
            console.print(f"- {each}.")
    else:
        console.print("No figure differs from the plan beyond chance.")


def figures_table(answer: LiveReport, *, short: bool = False) -> Table:
    """Return a row for each figure."""
    table = plain_table()
    table.add_column("class")
    table.add_column("figure")
    for heading in ("width", "observed", "planned", *(() if short else ("jobs",))):
        table.add_column(heading, justify="right")
    table.add_column("")
    for part in answer.figures:
        jobs = () if short else (f"{part.jobs:,}",)
        table.add_row(
            part.job_class,
            _figure(part, answer.time_unit),
            "" if part.width is None else str(part.width),
            "none" if math.isnan(part.observed) else str(part.observed),
            f"{part.expected:.4g}",
            *jobs,
            "differs" if part.differs else "",
        )
    return table


def _figure(part: Figure, unit: str | None) -> str:
    if unit is None:
        return part.figure
    symbol = SYMBOLS[unit]
    return {
        "arrival rate": f"arrivals per {unit[:-1]}",
        **{name: f"{name} ({symbol})" for name in TIMES},
    }.get(part.figure, part.figure)
