"""A comparison of policies as text."""

from __future__ import annotations

from rich.console import Console

from moldable.evaluation.compare import Compared, Comparison
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import times_are
from moldable.system.estimate import Estimate

PARETO_OPTIMAL, REFERENCE = "*", "~"
METHODS = {"closed-form": "formula", "chain": "chain", "simulate": "simulated"}


def show_comparison(console: Console, answer: Comparison) -> None:
    """Print one row for each policy and what the marks mean."""
    first = answer.policies[0].name
    table = plain_table()
    table.add_column("policy")
    for heading in ("blocking", "mean time", "Δ blocking", "Δ time", "method"):
        table.add_column(heading, justify="right")
    for part in answer.policies:
        table.add_row(
            f"{_mark(part)} {part.name}",
            str(part.performance.blocking),
            str(part.performance.mean_execution_time),
            _signed(part.blocking_difference),
            _signed(part.mean_execution_time_difference),
            METHODS[part.performance.method],
        )
    print_table(console, table)
    console.print(f"Pareto-optimal policies are marked with {PARETO_OPTIMAL}.")
    if any(part.reference for part in answer.policies):
        console.print(f"{REFERENCE} preemptive reference: widths change while jobs run.")
    console.print(f"Mean time: mean execution time of accepted jobs. Δ: difference from {first}.")
    console.print(times_are(answer.policies[0].performance))


def _mark(part: Compared) -> str:
    return REFERENCE if part.reference else PARETO_OPTIMAL if part.pareto_optimal else " "


def _signed(gap: Estimate) -> str:
    if gap.value == 0.0 and gap.half_width == 0.0:
        return "0"
    if gap.half_width == 0.0:
        return f"{gap.value:+.4g}"
    return str(gap) if gap.value < 0.0 else f"+{gap}"
