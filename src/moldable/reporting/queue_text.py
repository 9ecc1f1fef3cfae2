"""A tuned policy of a cluster that queues, as text."""

from __future__ import annotations

import math
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.model.units import duration
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import times_are
from moldable.system.performance import Performance
from moldable.tuning.tuned_queue import TunedQueue

MOST_ROWS: Final = 20
WAITING: Final = (0, 1, 2, 5, 10, 20)
"""Numbers of waiting jobs for which decisions are shown."""


def show_tuned_queue(console: Console, answer: TunedQueue) -> None:
    """Print the decisions, the performance beside other policies, and the bounds."""
    console.print(f"Best policy found: {answer.family}.")
    names = answer.policy.known_classes
    for name in names:
        of = f" to {name}" if len(names) > 1 else ""
        console.print(f"Servers given{of}, by idle servers (rows) and jobs waiting behind:")
        print_table(console, _decisions(answer.policy, name, answer.performance.scenario.servers))
    console.print("Expected performance:")
    print_table(console, _beside(answer))
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


def _decisions(policy: Policy, name: str, servers: int) -> Table:
    """Return the widths of a class; rows that repeat the one before are joined."""
    widest = int(policy.known_classes[name].speedup.up_to(servers).widths[-1])
    most = min(servers, 3 * widest)
    table = plain_table()
    table.add_column("idle", justify="right")
    for waiting in WAITING:
        table.add_column(f"{waiting} wait", justify="right")
    rows: list[tuple[int, tuple[str, ...]]] = []
    for idle in range(1, most + 1):
        # While jobs wait, no more servers are idle than one job has left.
        cells = tuple(
            str(policy.grant(name, Observation(idle, waiting)) or "waits")
            if waiting == 0 or idle <= widest
            else "-"
            for waiting in WAITING
        )
        if not rows or rows[-1][1] != cells:
            rows.append((idle, cells))
    ends = [idle - 1 for idle, _ in rows[1:]] + [servers]
    for (first, cells), last in list(zip(rows, ends, strict=True))[:MOST_ROWS]:
        table.add_row(str(first) if first == last else f"{first} to {last}", *cells)
    return table


def _beside(answer: TunedQueue) -> Table:
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
    table = plain_table()
    table.add_column(first)
    for heading in ("mean response", "mean wait", "P(wait)", *lost):
        table.add_column(heading, justify="right")
    return table


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
    if answer.best_execution_time is not None:
        time = duration(f"{answer.best_execution_time:.6g}", unit)
        lines.append(f"Least mean execution time of a large cluster at this load: {time}.")
    return lines


def _assumed(answer: TunedQueue) -> str:
    given = answer.performance.provenance
    sizes = " and ".join(dict.fromkeys(given["sizes"]))
    arrivals = given["arrivals"]
    assumed = f"{'Poisson' if arrivals == 'poisson' else arrivals} arrivals, {sizes} sizes"
    sure = "95 % confidence" if answer.performance.method == "simulate" else "exact"
    if not answer.limited:
        return f"These figures hold for {assumed} ({sure})."
    ((name, limit),) = answer.target.items()
    what = name.removeprefix("max_").replace("_", " ").capitalize()
    if not answer.certified:
        return f"Not certified: the 95 % confidence interval exceeds the limit ({assumed})."
    shown = f"{limit:g}"
    if name == "max_mean_wait":
        shown = duration(shown, answer.time_unit)
    return f"{what} stays within {shown} ({sure}, {assumed})."


def _stresses(answer: TunedQueue) -> Table:
    table = _columns("case", answer)
    for stress in answer.stresses:
        table.add_row(stress.case, *_figures(stress.performance, answer.time_unit))
    for case in answer.growing:
        table.add_row(case, "grows without limit", "-", "-")
    return table
