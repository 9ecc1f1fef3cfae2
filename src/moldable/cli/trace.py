"""`moldable trace`: describe a job log, and draft a scenario from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moldable.cli import output, report
from moldable.cli.log_options import (
    CurveOption,
    LogArgument,
    LogOptions,
    WidestOption,
    takes_log,
)
from moldable.cli.options import JsonOption, ServersOption
from moldable.cli.report import ReportOption
from moldable.errors import InputError


@takes_log
def trace(
    *,
    log: LogArgument,
    options: LogOptions,
    servers: ServersOption = None,
    curve: CurveOption = None,
    widest: WidestOption = None,
    draft: Annotated[
        Path | None,
        typer.Option(
            "--draft",
            metavar="FILE.toml",
            help="Write a workload file with the classes of the log and the assumptions made.",
        ),
    ] = None,
    report_file: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Describe a job log and draft a scenario.

    It shows the offered load, utilisation, waits, arrivals by hour and weekday, and the run times
    and widths of each class. Rows without a job that ran are left out and counted.

    \b
    Examples:
      moldable trace examples/slurm-week.txt --servers 64
      moldable trace examples/slurm-week.txt \\
        --class-by "name:^(train|eval|solve)" \\
        --servers 64 --draft week.toml
      sacct -a -X -S 2026-11-02 -E 2026-11-09 --parsable2 \\
        --format=ALL | moldable trace - --json
    The file is copied by: moldable examples --copy examples
    """
    from moldable.traces.draft import ASSUMED_CURVE, draft_scenario
    from moldable.traces.summary import summarise

    for name, value in (("--curve", curve), ("--widest", widest)):
        if value is not None and draft is None:
            raise InputError(
                f"{name} is used only with --draft FILE.toml; add --draft, or leave out {name}"
            )
    report.check(report_file, log)
    with output.status_line() as progress:
        found = options.read(log, progress)
        progress("describing the jobs")
        answer = summarise(found, servers=servers)
        text = None
        if draft is not None:
            text = draft_scenario(
                found, servers=servers, curve=curve or ASSUMED_CURVE, widest=widest
            )
        if report_file is not None:
            progress("drawing the report")
            report.write_trace(report_file, answer, log, found)
    for told in found.notes:
        output.note(told)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.trace_text import show_trace

        show_trace(output.console(), answer)
    if draft is not None and text is not None:
        _write_draft(draft, text, quiet=json)
    if report_file is not None and not json:
        output.console().print(f"Report: {report_file}")


def _write_draft(path: Path, text: str, *, quiet: bool) -> None:
    from moldable.text_files import write_whole

    write_whole(path, text.encode(), "--draft")
    if not quiet:
        output.console().print(f"Drafted workload: {path}; its comments state the assumptions.")
