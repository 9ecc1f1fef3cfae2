"""`moldable live`: reports on live clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moldable.cli import output
from moldable.cli.log_options import CountOption
from moldable.cli.options import JsonOption, PlanOption

DIFFERS = 1
"""Exit code of --check where the cluster differs from the plan."""


def report(
    *,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Journal of decisions, or the output of sacct --parsable2 with its header and the "
            "column Comment or AdminComment; - is standard input.",
            show_default=False,
        ),
    ],
    plan: PlanOption,
    grace: Annotated[
        float,
        typer.Option(
            "--grace",
            metavar="SECONDS",
            help="Waits up to this long count as zero: the time an idle cluster takes to start a "
            "job.",
        ),
    ] = 1.0,
    count: CountOption = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Exit with code 1 if a figure differs from the plan."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare a live cluster with its plan.

    Prints arrival rates, shares of widths, waits or blocking, and execution times by class and
    width, with 95 % confidence intervals and the predictions of the plan. Statistically significant
    differences are listed with recommended actions. If the cluster is as planned, at most one
    report in a hundred lists any.

    \b
    Examples:
      moldable live report journal.jsonl --plan policy.json
      moldable live report journal.jsonl --plan policy.json \\
        --json
      sacct -a -X -S 2026-11-02 --parsable2 --format=ALL \\
        > week.txt
      moldable live report week.txt --plan policy.json \\
        --count gpus
    """
    from moldable.live.report.live_report import live_report

    with output.status_line() as progress:
        answer = live_report(log, plan, grace=grace, count=count or "auto", progress=progress)
    for told in answer.notes:
        output.note(told)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.live_text import show_live_report

        show_live_report(output.console(), answer)
    if check and answer.warnings:
        raise typer.Exit(DIFFERS)
