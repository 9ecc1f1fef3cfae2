"""The paper's bounds as text."""

from __future__ import annotations

from rich.console import Console

from moldable.reporting.tables import boxed_table, print_table
from moldable.theory.stein import Bounds


def show_bounds(console: Console, answer: Bounds, servers: int) -> None:
    """Print the bounds, whether they are informative and whether they are proved."""
    title = f"The paper's bounds on greedy(p*) at n = {servers}"
    table = boxed_table(title, "quantity", right=("at most",))
    table.add_row("distance from the optimum, E||x - y*||", f"{answer.distance:.6g}")
    table.add_row("blocking probability", f"{answer.blocking:.6g}")
    gap = "-" if answer.time_gap is None else f"{answer.time_gap:.6g}"
    table.add_row("gap in mean execution time, mean sizes", gap)
    print_table(console, table)
    console.print(_reach(answer))
    console.print(_proof(answer))


def _reach(answer: Bounds) -> str:
    order = f"As n grows, the bound on the distance scales as n^{answer.order:g}."
    if answer.vacuous:
        return f"The bounds are vacuous here: the bound on blocking is 1 or more. {order}"
    return f"The bound on blocking is below 1, so it is informative here. {order}"


def _proof(answer: Bounds) -> str:
    if answer.proof == "complete":
        return "The proof is complete (the optimum uses one width)."
    return (
        f"The bounds are plausible but not proved: for two widths the published proof has gaps "
        f"({', '.join(answer.gaps)})."
    )
