"""The report of a job log."""

from __future__ import annotations

from moldable.arrays import Floats
from moldable.model.units import SECONDS
from moldable.reporting.html.document import Block, Column, Document, Section, Table, Text
from moldable.reporting.html.guide import guide_section
from moldable.reporting.html.source import Source, provenance_section
from moldable.reporting.html.trace_figures import run_times_figure, week_figure
from moldable.reporting.trace_text import (
    classes_table,
    figure,
    human_time,
    skipped_table,
    weekday_table,
)
from moldable.traces.summary import SERVERS_FROM, TraceSummary

MOST_STATES = 12


def trace_document(answer: TraceSummary, source: Source, week: Floats | None) -> Document:
    """Return the report of a log."""
    begins = "" if answer.begins is None else f", from {answer.begins.replace('T', ' ')}"
    verdict = (
        f"{answer.jobs:,} jobs used {answer.servers} {answer.server_unit} at offered load "
        f"{figure(answer.offered_load)}"
    )
    if answer.waits is not None:
        verdict += f" and waited {human_time(answer.waits.mean)} on average"
    skipped: tuple[Section, ...] = ()
    if answer.skipped:
        table = Table.of("Rows that are not jobs that ran", skipped_table(answer, 3))
        skipped = (Section("skipped", "Rows left out", (table,)),)
    notes = tuple(Text(f"{note[:1].upper()}{note[1:]}.") for note in answer.notes)
    return Document(
        "Job log",
        f"{source.name}: {answer.jobs:,} jobs in {human_time(answer.span)}{begins}.",
        f"{verdict}.",
        None,
        (
            Section("log", "Jobs and arrivals", log_blocks(answer, week)),
            *skipped,
            *((Section("notes", "Notes", notes),) if notes else ()),
            guide_section(log=True, waiting=True, plan=False),
            provenance_section(source, None),
        ),
    )


def log_blocks(answer: TraceSummary, week: Floats | None) -> tuple[Block, ...]:
    """Return figures and tables of a log."""
    blocks: list[Block] = [_main(answer)]
    if week is not None and answer.by_hour:
        blocks.append(week_figure(answer, week))
        blocks.append(Table.of("Arrivals by day of the week", weekday_table(answer.by_weekday)))
    else:
        blocks.append(Text("The log has no dates, so hours of the day and weekdays are unknown."))
    blocks += [run_times_figure(answer), Table.of("Classes", classes_table(answer))]
    return tuple(blocks)


def _main(answer: TraceSummary) -> Table:
    waits = answer.waits
    states = list(answer.states.items())[:MOST_STATES]
    rows = [
        ("jobs", f"{answer.jobs:,}"),
        ("time from first to last submission", human_time(answer.span)),
        (
            "cluster",
            f"{answer.servers} {answer.server_unit}, {SERVERS_FROM[answer.servers_from]}",
        ),
        ("offered load", figure(answer.offered_load)),
        ("utilisation", figure(answer.utilisation)),
        ("jobs per day", figure(answer.arrival_rate * SECONDS["days"])),
        ("interarrival CV (Poisson: 1)", figure(answer.interarrival_cv)),
        ("index of dispersion of hourly counts (Poisson: 1)", figure(answer.dispersion)),
        ("final states", ", ".join(f"{name} {count:,}" for name, count in states)),
        ("rows left out", f"{sum(each.count for each in answer.skipped):,}"),
    ]
    if waits is not None:
        rows += [
            ("mean wait", human_time(waits.mean)),
            ("median wait", human_time(waits.median)),
            ("95 % of the waits are within", human_time(waits.high)),
            ("longest wait", human_time(waits.longest)),
        ]
    columns = (Column("", numeric=False), Column("value", numeric=False))
    return Table("What the log says", columns, tuple(rows))
