"""How is a trade-off told to a person?"""

from __future__ import annotations

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from moldable.system.performance import Performance
from moldable.tuning.families import Chosen, Families

PLAIN: Final = 2
"""Numbers of an exponential price; a long tail is a third."""
RARE: Final = 1e-3
"""Blocking of which four decimals would not say enough."""


def show_tradeoff(console: Console, answer: Families) -> None:
    """Print the best of every family at each price, then the two fixed policies."""
    table = Table(
        title="Blocking / mean execution time, by the price of a blocked job in mean sizes",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("price", "true optimum", "price policy", "q0, ell", "static", "load"):
        table.add_column(heading, justify="right")
    for i, (own, static) in enumerate(zip(answer.price_policy, answer.static, strict=True)):
        best = "-"
        if answer.optimum is not None:
            control = answer.optimum.controls[i]
            best = _figures(control.blocking, control.mean_execution_time)
        table.add_row(
            f"{own.price:g}",
            best,
            _pair(own.performance),
            _price(own),
            _pair(static.performance),
            f"{static.numbers[0]:.4g}",
        )
    console.print(table)
    for tail in sorted({part.numbers[PLAIN:] for part in answer.price_policy} - {()}):
        power = f"{tail[0]:g}"
        console.print(f"* a long tail: exp(q0) x (1 + idle/({power} ell))^-{power}.")
    console.print("Static is greedy(p*) for the load beside it, whatever the true one.")
    paper = "overloaded" if answer.greedy_p is None else _pair(answer.greedy_p)
    console.print(f"greedy(p*): {paper}; greedy: {_pair(answer.greedy)}.")
    if answer.optimum is None:
        console.print(f"No true optimum: {answer.why_no_optimum}.")
    else:
        gap = max(control.gap for control in answer.optimum.controls)
        console.print(f"The true optimum is known to within {100 * gap:.1g} % of its cost.")
    if answer.seed is not None:
        console.print(f"Seed {answer.seed} finds the same again.")


def _price(own: Chosen) -> str:
    """Write q0 and ell; a star stands for a long tail, which would not fit."""
    told = ", ".join(f"{number:.3g}" for number in own.numbers[:PLAIN])
    return told if len(own.numbers) == PLAIN else f"{told}*"


def _pair(answer: Performance) -> str:
    return _figures(answer.blocking.value, answer.mean_execution_time.value)


def _figures(blocking: float, time: float) -> str:
    """Write both in at most 15 characters, so that a row fits on 80 columns."""
    seen = f"{blocking:.4f}" if blocking >= RARE else f"{blocking:.1e}".replace("e-0", "e-")
    return f"{seen} / {time:#.4g}"
