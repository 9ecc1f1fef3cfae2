"""A tuned policy of a cluster with a queue, as text."""

from __future__ import annotations

import math
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.model.units import duration
from moldable.planning.actions import actions
from moldable.reporting.actions_text import actions_table
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import percent, times_are
from moldable.system.performance import Performance
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.tuned_queue import TunedQueue

MOSTLY: Final = 0.99
"""Share of a limit below which the output says how much of it is used."""


def show_tuned_queue(console: Console, answer: TunedQueue) -> None:
    """Print the decisions, the performance of this and other policies, and the bounds."""
    console.print(f"Best policy found: {answer.family}.")
    parts = actions(answer.performance.scenario, answer.policy)
    for part in parts:
        of = f" to {part.job_class}" if len(parts) > 1 else ""
        console.print(f"Servers given{of}, by idle servers (rows) and jobs waiting behind:")
        print_table(console, actions_table(part, waits=True))
    console.print("Expected performance:")
    print_table(console, _performance_table(answer))
    for line in _bounds(answer):
        console.print(line)
    if answer.time_unit is None:
        console.print(times_are(answer.performance))
    console.print(_assumed(answer))
    if answer.stresses or answer.growing:
        console.print("If the assumptions fail:")
        print_table(console, _stresses(answer))
    if answer.seed is not None:
        console.print(f"Random seed: {answer.seed}.")


def _performance_table(answer: TunedQueue) -> Table:
    table = _columns("policy", answer)
    rows = {"tuned": answer.performance, "even price, default": answer.default}
    if answer.fixed_width is not None:
        rows[f"fixed width {answer.fixed_width}"] = answer.fixed
    for name, found in rows.items():
        if found is not None:
            table.add_row(name, *_figures(found, answer.time_unit))
    if answer.optimum is not None:
        best = answer.optimum
        times = (best.mean_response_time, best.mean_wait)
        shown = (duration(f"{time:.6g}", answer.time_unit) for time in times)
        lost = (f"{best.blocking:.6g}",) if _limited_places(answer.performance) else ()
        table.add_row("true optimum", *shown, f"{best.wait_probability:.6g}", *lost)
    return table


def _columns(first: str, answer: TunedQueue) -> Table:
    lost = ("blocking",) if _limited_places(answer.performance) else ()
    return plain_table(first, right=("mean response", "mean wait", "P(wait)", *lost))


def _limited_places(found: Performance) -> bool:
    return math.isfinite(found.scenario.waiting)


def _figures(found: Performance, unit: str | None) -> tuple[str, ...]:
    queueing = found.queueing
    assert queueing is not None  # noqa: S101 - all are of one scenario
    return (
        duration(queueing.mean_response_time, unit),
        duration(queueing.mean_wait, unit),
        str(queueing.wait_probability),
        *((str(found.blocking),) if _limited_places(found) else ()),
    )


def _bounds(answer: TunedQueue) -> list[str]:
    lines = []
    bound, unit = answer.performance.response_bound, answer.time_unit
    if bound is not None:
        lines.append(f"No policy has a mean response time below {duration(f'{bound:.6g}', unit)}.")
    if answer.limits_waiting:
        lines.append("The optimum under a limit on waiting is not known.")
    if answer.best_execution_time is not None:
        time = duration(f"{answer.best_execution_time:.6g}", unit)
        lines.append(f"Least mean execution time of a large cluster at this load: {time}.")
    return lines


def _assumed(answer: TunedQueue) -> str:
    assumed = answer.performance.scenario.assumptions
    sure = "95 % confidence" if answer.performance.method == "simulate" else "exact"
    if not answer.limited:
        return f"These figures hold for {assumed} ({sure})."
    ((name, limit),) = answer.target.items()
    assert limit is not None  # noqa: S101 - a limit has a value
    what = name.removeprefix("max_").replace("_", " ").capitalize()
    if not answer.certified:
        return f"Not certified: the 95 % confidence interval exceeds the limit ({assumed})."
    shown = f"{limit:g}"
    if name == "max_mean_wait":
        shown = duration(shown, answer.time_unit)
    used = QueueTarget(name, limit, limit).figure(answer.performance).value / limit
    part = f" {percent(float(f'{used:.2g}'))} of the limit is used." if used < MOSTLY else ""
    return f"{what} stays within {shown} ({sure}, {assumed}).{part}"


def _stresses(answer: TunedQueue) -> Table:
    table = _columns("case", answer)
    for stress in answer.stresses:
        table.add_row(stress.case, *_figures(stress.performance, answer.time_unit))
    for case in answer.growing:
        table.add_row(case, "grows without limit", "-", "-")
    return table
