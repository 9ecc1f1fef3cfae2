"""A replayed log as text."""

from __future__ import annotations

import math
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.reporting.tables import plain_table, print_table
from moldable.system.estimate import Estimate
from moldable.traces.log_replay import CHANGES, RECORDED
from moldable.traces.replay_figures import SHORTEST
from moldable.traces.replay_result import Replay, Replayed

HEADINGS: Final = ("mean wait", "median", "95 %", "response", "slowdown", "utilisation")
CHANGED: Final = ("wait", "response", "slowdown", "earlier", "later")
BY_CLASS: Final = ("jobs", "mean wait", "response", "slowdown", "earlier", "later")
DISCIPLINES: Final = {"easy": "EASY backfill", "fcfs": "first come, first served"}
LARGE: Final = 10.0
"""Relative changes from which factors are shown instead of per cent."""


def show_replay(console: Console, answer: Replay) -> None:
    """Print what was replayed, the figures of all runs and their changes, and the assumptions."""
    setting = answer.setting
    options = setting.options
    console.print(
        f"{setting.trace.source or 'The log'}: {len(setting.trace):,} jobs on {setting.servers:,} "
        f"{setting.trace.server_unit}, {DISCIPLINES[options.discipline]}; the last "
        f"{answer.jobs:,} jobs are judged."
    )
    print_table(console, figures_table(answer), figures_table(answer, short=True))
    console.print(f"Changes against {answer.baseline}:")
    print_table(console, changes_table(answer))
    if len(answer.runs[-1].classes) > 1:
        console.print(f"By class, {answer.runs[-1].name} against {answer.baseline}:")
        print_table(console, classes_table(answer.runs[-1]))
    for line in replay_notes(answer):
        console.print(line)


def figures_table(answer: Replay, *, short: bool = False) -> Table:
    """Return the figures of all runs."""
    headings = (HEADINGS[0], *HEADINGS[3:]) if short else HEADINGS
    table = plain_table("policy", right=headings)
    for run in answer.runs:
        found = run.figures
        cells = {
            "mean wait": _seconds(found.mean_wait),
            "median": _seconds(found.median_wait),
            "95 %": _seconds(found.wait_95),
            "response": _seconds(found.mean_response),
            "slowdown": f"{found.bounded_slowdown:,.1f}",
            "utilisation": _percent(found.utilisation),
        }
        table.add_row(run.name, *(cells[heading] for heading in headings))
    return table


def changes_table(answer: Replay) -> Table:
    """Return the changes against the baseline."""
    table = plain_table("policy", right=CHANGED)
    for run in answer.runs:
        if run.name != answer.baseline:
            changes = (_change(run.changes[name]) for name in CHANGES)
            table.add_row(run.name, *changes, _percent(run.earlier), _percent(run.later))
    return table


def classes_table(run: Replayed) -> Table:
    """Return the figures of one run by class."""
    table = plain_table("class", right=BY_CLASS)
    for part in run.classes:
        table.add_row(
            part.name,
            f"{part.jobs:,}",
            _seconds(part.mean_wait),
            _seconds(part.mean_response),
            f"{part.bounded_slowdown:,.1f}",
            _percent(part.earlier),
            _percent(part.later),
        )
    return table


def replay_notes(answer: Replay) -> list[str]:
    """Return assumptions and definitions."""
    setting, options = answer.setting, answer.setting.options
    curves = dict.fromkeys(curve.text for curve in setting.curves)
    bounded = f"bounded slowdown, relative to recorded run times of at least {SHORTEST:g} s"
    lines = [
        f"Assumed curve: {', '.join(curves)}.",
        f"Widths: {options.least:g} to {options.most:g} times the servers that the user asked for.",
        f"Times are in seconds. Slowdown: {bounded}.",
        f"Earlier, later: response times more than 10 % below or above those of {answer.baseline}.",
    ]
    if answer.tuned is not None:
        lines.append(f"Tuned on the jobs before those judged: {answer.tuned.name}.")
    if options.copies:
        lines.append(
            f"Medians over the log and {options.copies} copies with submissions shifted by up to "
            f"{options.shift:g} s, with 95 % confidence intervals."
        )
    if answer.left_out:
        lines.append(f"{answer.left_out:,} jobs wider than the cluster were left out.")
    if all(run.name != RECORDED for run in answer.runs):
        lines.append("The log has no start times of jobs.")
    lines.append(f"Random seed: {options.seed}.")
    return lines


def _seconds(time: float) -> str:
    return f"{time:,.0f}"


def _percent(share: float) -> str:
    return "unknown" if math.isnan(share) else f"{100.0 * share:.0f} %"


def _change(change: Estimate) -> str:
    """Write a relative change, large ones as factors."""
    if not math.isfinite(change):
        return "-"
    if change >= LARGE:
        return f"x {1.0 + change.value:,.0f}"
    half = change.half_width
    spread = f" ± {100.0 * half:.1f}" if 0.0 < half < math.inf else ""
    return f"{100.0 * change.value:+.1f}{spread} %"
