"""A job log as text."""

from __future__ import annotations

import math
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.model.units import SECONDS, SYMBOLS
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import percent
from moldable.traces.calendar import Period
from moldable.traces.class_summary import ClassSummary
from moldable.traces.summary import SERVERS_FROM, TraceSummary

HOURS_IN_A_ROW: Final = 6
LARGE: Final = 1000.0
MOST_WIDTHS: Final = 4
"""Widths listed for a class, the most frequent."""


def show_trace(console: Console, answer: TraceSummary) -> None:
    """Print what was read, the main figures, the classes and the arrivals."""
    begins = "" if answer.begins is None else f", from {answer.begins.replace('T', ' ')}"
    console.print(f"{answer.source}: {_jobs(answer.jobs)} in {human_time(answer.span)}{begins}.")
    if answer.skipped:
        console.print("Rows left out:")
        print_table(console, *(skipped_table(answer, most) for most in (3, 2, 1, 0)))
    console.print(
        f"Cluster: {answer.servers} {answer.server_unit}, {SERVERS_FROM[answer.servers_from]}; "
        f"offered load {figure(answer.offered_load)}, utilisation {figure(answer.utilisation)}."
    )
    _show_waits(console, answer)
    console.print("Classes:")
    print_table(console, classes_table(answer), classes_table(answer, short=True))
    _show_arrivals(console, answer)


def human_time(seconds: float) -> str:
    """Write a time in a unit that suits it: 42 s, 12.5 min, 3.2 h, 7 d."""
    fitting = [unit for unit, length in SECONDS.items() if abs(seconds) >= 2.0 * length]
    unit = fitting[-1] if fitting else "seconds"
    return f"{seconds / SECONDS[unit]:.3g} {SYMBOLS[unit]}"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def figure(value: float | None) -> str:
    """Write a number that may be unknown."""
    return "unknown" if value is None or math.isnan(value) else _plain(value)


def _plain(value: float) -> str:
    """Write a number with three digits, or all those before the point."""
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:.3g}"


def skipped_table(answer: TraceSummary, most: int) -> Table:
    """Return the reasons, each with at most this many examples."""
    table = plain_table("reason", right=("rows",))
    if most:
        table.add_column("for example")
    for each in answer.skipped:
        examples = (", ".join(each.examples[:most]),) if most else ()
        table.add_row(each.reason, f"{each.count:,}", *examples)
    return table


def _show_waits(console: Console, answer: TraceSummary) -> None:
    waits = answer.waits
    if waits is None:
        console.print("Waits are unknown: the log has no times at which jobs started.")
        return
    some = "" if waits.jobs == answer.jobs else f" (known for {_jobs(waits.jobs)})"
    console.print(
        f"Wait{some}: mean {human_time(waits.mean)}, median {human_time(waits.median)}, 95 % "
        f"within {human_time(waits.high)}, longest {human_time(waits.longest)}."
    )


def classes_table(answer: TraceSummary, *, short: bool = False) -> Table:
    """Return a row for each class."""
    headings = ("jobs", "work", "per day", "mean run", "CV", "median", "95 %", "width", "wait")
    table = plain_table("class", right=headings)
    if not short:
        table.add_column("most frequent widths")
    for part in answer.classes:
        table.add_row(part.name, *_class(part), *(() if short else (_widths(part),)))
    return table


def _class(part: ClassSummary) -> tuple[str, ...]:
    time = part.run_time
    return (
        f"{part.jobs:,}",
        percent(float(f"{part.work_share:.3g}")),
        figure(part.arrival_rate * SECONDS["days"]),
        human_time(time.mean),
        f"{time.cv:.3g}",
        human_time(time.quantiles[0.5]),
        human_time(time.quantiles[0.95]),
        f"{part.mean_width:.3g}",
        "-" if part.waits is None else human_time(part.waits.mean),
    )


def _widths(part: ClassSummary) -> str:
    common = sorted(part.widths, key=lambda width: (-part.widths[width], width))
    listed = ", ".join(f"{width}" for width in common[:MOST_WIDTHS])
    return f"{listed}, ..." if len(common) > MOST_WIDTHS else listed


def _show_arrivals(console: Console, answer: TraceSummary) -> None:
    console.print(
        f"Arrivals: {figure(answer.arrival_rate * SECONDS['days'])} jobs per day; interarrival "
        f"CV {figure(answer.interarrival_cv)}, index of dispersion of hourly counts "
        f"{figure(answer.dispersion)} (both are 1 for Poisson arrivals)."
    )
    if not answer.by_hour:
        console.print("The log has no dates, so hours of the day and weekdays are unknown.")
        return
    if answer.span >= SECONDS["days"]:
        console.print("Jobs per hour, by hour of the day:")
        print_table(console, _by_hour(answer.by_hour))
        console.print("Jobs per hour, by day of the week:")
        print_table(console, weekday_table(answer.by_weekday))


def _by_hour(periods: tuple[Period, ...]) -> Table:
    table = plain_table("from", right=(f"+{k} h" for k in range(HOURS_IN_A_ROW)))
    for first in range(0, len(periods), HOURS_IN_A_ROW):
        row = periods[first : first + HOURS_IN_A_ROW]
        table.add_row(row[0].name, *(_rate(period) for period in row))
    return table


def weekday_table(periods: tuple[Period, ...]) -> Table:
    """Return the arrivals by day of the week."""
    table = plain_table("", right=(period.name[:3] for period in periods))
    table.add_row("jobs per hour", *(_rate(period) for period in periods))
    table.add_row("dispersion", *(_or_dash(period.dispersion) for period in periods))
    return table


def _rate(period: Period) -> str:
    return _or_dash(period.rate)


def _or_dash(value: float) -> str:
    return "-" if math.isnan(value) else _plain(value)
