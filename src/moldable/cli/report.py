"""Reports: `--report FILE.html` of `moldable plan` and `moldable trace`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from moldable.errors import MoldableError

if TYPE_CHECKING:
    from moldable.planning.from_log import Drafted
    from moldable.planning.result import Plan
    from moldable.reporting.html.plan_page import LogPart
    from moldable.reporting.html.source import Source
    from moldable.traces.summary import TraceSummary
    from moldable.traces.trace import Trace

MOST_REPLAYED: Final = 5_000
"""Most jobs of a log that a report replays: the last ones."""

ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Also write a report: one HTML file with text, tables and figures. Needs "
        "moldable[report].",
    ),
]


def check(report: Path | None, source: Path) -> None:
    """Check, before the work begins, that a report can be written."""
    if report is not None:
        from moldable.reporting.html.render import check_report

        check_report(report, source)


def write_plan(
    report: Path,
    answer: Plan,
    file: Path,
    log: tuple[Trace, Drafted] | None,
    progress: Callable[[str], None],
) -> None:
    """Write the report of a plan; `log` holds the log and its draft, if one was read."""
    from moldable.reporting.html.plan_page import plan_document
    from moldable.reporting.html.render import write_report

    part = None if log is None else _log_part(*log, answer, progress)
    progress("drawing the report")
    write_report(plan_document(answer, _source(file), part), report)


def write_trace(report: Path, answer: TraceSummary, file: Path, log: Trace) -> None:
    """Write the report of a log."""
    from moldable.reporting.html.render import write_report
    from moldable.reporting.html.trace_page import trace_document
    from moldable.traces.calendar import week_rates

    write_report(trace_document(answer, _source(file), week_rates(log)), report)


def _source(file: Path) -> Source:
    from moldable.reporting.html.source import Source

    return Source.of(file, shlex.join(["moldable", *sys.argv[1:]]), datetime.now(UTC))


def _log_part(
    trace: Trace, draft: Drafted, answer: Plan, progress: Callable[[str], None]
) -> LogPart:
    from moldable.reporting.html.plan_page import LogPart
    from moldable.traces.calendar import week_rates
    from moldable.traces.log_replay import replay
    from moldable.traces.summary import summarise

    servers = answer.scenario.servers
    found, problem = None, ""
    last = trace.select(slice(-MOST_REPLAYED, None))
    progress("replaying the log")
    try:
        found = replay(
            last,
            {"recommended": answer.policy, "tuned": "tuned"},
            servers=servers,
            curves=draft.curve,
            seed=answer.seed,
            report=progress,
        )
    except MoldableError as error:
        problem = str(error)
    return LogPart(
        summary=summarise(trace, servers=servers),
        week=week_rates(trace),
        draft=draft.text,
        replay=found,
        replayed=len(last),
        problem=problem,
    )
