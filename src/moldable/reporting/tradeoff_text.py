"""How is a trade-off told to a person?"""

from __future__ import annotations

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from moldable.reporting.words import times_are
from moldable.system.performance import Performance
from moldable.tuning.tradeoff import ValueTradeoff

RARE: Final = 1e-3
"""Blocking of which four decimals would not say enough."""


def show_tradeoff(console: Console, answer: ValueTradeoff) -> None:
    """Print the optimum and the value policy at each cost, then the two fixed policies."""
    table = Table(
        title="Blocking / mean execution time, by the cost of a blocked job in mean sizes",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("cost", "true optimum", "value policy"):
        table.add_column(heading, justify="right")
    for i, own in enumerate(answer.value_policy):
        best = "-"
        if answer.optimum is not None:
            control = answer.optimum.controls[i]
            best = _figures(control.blocking, control.mean_execution_time)
        table.add_row(f"{own.blocking_cost:g}", best, _pair(own.performance))
    console.print(table)
    paper = "overloaded" if answer.greedy_p is None else _pair(answer.greedy_p)
    console.print(f"greedy(p*): {paper}; greedy: {_pair(answer.greedy)}.")
    console.print(times_are(answer.greedy))
    if answer.optimum is None:
        console.print(f"No true optimum: {answer.why_no_optimum}.")
    else:
        gap = max(control.gap for control in answer.optimum.controls)
        console.print(f"The true optimum is known to within {100 * gap:.1g} % of its cost.")
    if answer.seed is not None:
        console.print(f"Random seed: {answer.seed}.")


def _pair(answer: Performance) -> str:
    return _figures(answer.blocking.value, answer.mean_execution_time.value)


def _figures(blocking: float, time: float) -> str:
    """Write both in at most 15 characters, so that a row fits on 80 columns."""
    seen = f"{blocking:.4f}" if blocking >= RARE else f"{blocking:.1e}".replace("e-0", "e-")
    return f"{seen} / {time:#.4g}"
