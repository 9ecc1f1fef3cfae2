"""A trade-off as text."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import times_are
from moldable.system.performance import Performance
from moldable.tuning.tradeoff import ValueTradeoff

RARE: Final = 1e-3
"""Blocking below this is written with an exponent."""


def show_tradeoff(console: Console, answer: ValueTradeoff) -> None:
    """Print the optimum and the value policy at each cost, then the two fixed policies."""
    console.print("Blocking / mean execution time, by the cost of a blocked job in mean sizes:")
    table = plain_table(right=("cost", "true optimum", "value policy"))
    for i, own in enumerate(answer.value_policy):
        best = "-"
        if answer.optimum is not None:
            control = answer.optimum.controls[i]
            best = _figures(control.blocking, control.mean_execution_time)
        table.add_row(f"{own.blocking_cost:g}", best, _pair(own.performance))
    print_table(console, table)
    paper = "overloaded" if answer.greedy_p is None else _pair(answer.greedy_p)
    console.print(f"greedy(p*): {paper}; greedy: {_pair(answer.greedy)}.")
    console.print(times_are(answer.greedy))
    if answer.optimum is None:
        console.print(f"No true optimum: {answer.why_no_optimum}.")
    else:
        gap = max(control.gap for control in answer.optimum.controls)
        console.print(f"The cost of the true optimum is computed to within {100 * gap:.1g} %.")
    if answer.seed is not None:
        console.print(f"Random seed: {answer.seed}.")


def _pair(answer: Performance) -> str:
    return _figures(answer.blocking.value, answer.mean_execution_time.value)


def _figures(blocking: float, time: float) -> str:
    """Return both values in at most 15 characters."""
    seen = f"{blocking:.4f}" if blocking >= RARE else f"{blocking:.1e}".replace("e-0", "e-")
    return f"{seen} / {time:#.4g}"
