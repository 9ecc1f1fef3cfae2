"""A comparison of policies as text."""

from __future__ import annotations

import math

from rich.console import Console

from moldable.evaluation.compare import Compared, Comparison
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import times_are
from moldable.system.estimate import Estimate

PARETO_OPTIMAL, REFERENCE = "*", "~"
WAITING = ("response", "Δ response", "wait", "P(wait)", "method")
FINITE = ("response", "Δ response", "wait", "P(wait)", "blocking", "method")
METHODS = {"closed-form": "formula", "chain": "chain", "simulate": "simulated"}


def show_comparison(console: Console, answer: Comparison) -> None:
    """Print one row for each policy and what the marks mean."""
    first = answer.policies[0]
    waits = first.performance.queueing is not None
    finite = math.isfinite(first.performance.scenario.waiting)
    lossy = ("blocking", "mean time", "Δ blocking", "Δ time", "method")
    headings = (FINITE if finite else WAITING) if waits else lossy
    table = plain_table("policy", right=headings)
    for part in answer.policies:
        table.add_row(f"{_mark(part)} {part.name}", *(_waiting(part) if waits else _losing(part)))
    for name in answer.unstable:
        table.add_row(f"  {name}", "unstable", *("-" for _ in headings[1:]))
    print_table(console, table)
    console.print(f"Pareto-optimal policies are marked with {PARETO_OPTIMAL}.")
    if any(part.reference for part in answer.policies):
        console.print(f"{REFERENCE} preemptive reference: widths change while jobs run.")
    if answer.unstable:
        console.print("Unstable: the queue grows without limit.")
    what = (
        "Times are means over accepted jobs."
        if waits
        else "Mean time: mean execution time of accepted jobs."
    )
    console.print(f"{what} Δ: difference from {first.name}.")
    console.print(times_are(answer.policies[0].performance))


def _losing(part: Compared) -> tuple[str, ...]:
    return (
        str(part.performance.blocking),
        str(part.performance.mean_execution_time),
        _signed(part.blocking_difference),
        _signed(part.mean_execution_time_difference),
        METHODS[part.performance.method],
    )


def _waiting(part: Compared) -> tuple[str, ...]:
    found, gap = part.performance, part.mean_response_time_difference
    queueing = found.queueing
    assert queueing is not None  # noqa: S101 - all policies are of one scenario
    assert gap is not None  # noqa: S101
    lost = (str(found.blocking),) if math.isfinite(found.scenario.waiting) else ()
    return (
        str(queueing.mean_response_time),
        _signed(gap),
        str(queueing.mean_wait),
        str(queueing.wait_probability),
        *lost,
        METHODS[found.method],
    )


def _mark(part: Compared) -> str:
    return REFERENCE if part.reference else PARETO_OPTIMAL if part.pareto_optimal else " "


def _signed(gap: Estimate) -> str:
    if gap.value == 0.0 and gap.half_width == 0.0:
        return "0"
    if gap.half_width == 0.0:
        return f"{gap.value:+.4g}"
    return str(gap) if gap.value < 0.0 else f"+{gap}"
