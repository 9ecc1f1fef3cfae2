"""How are policies shown side by side?"""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from moldable.evaluation.compare import Compared, Comparison
from moldable.system.estimate import Estimate

UNBEATEN, YARDSTICK = "*", "~"
METHODS = {"closed-form": "formula", "chain": "chain", "simulate": "simulated"}


def show_comparison(console: Console, answer: Comparison) -> None:
    """Print one row for each policy, the unbeaten ones marked, and what the marks mean."""
    first = answer.policies[0].name
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    # A name may go on in the next line; half a number would be worse than none.
    table.add_column("policy", overflow="fold")
    for heading in ("blocking", "mean time", "Δ blocking", "Δ time", "method"):
        table.add_column(heading, justify="right", no_wrap=True)
    for part in answer.policies:
        table.add_row(
            f"{_mark(part)} {part.name}",
            str(part.performance.blocking),
            str(part.performance.mean_execution_time),
            _signed(part.blocking_difference),
            _signed(part.mean_execution_time_difference),
            METHODS[part.performance.method],
        )
    console.print(table)
    console.print(f"{UNBEATEN} no other policy beats it on both counts")
    if any(part.yardstick for part in answer.policies):
        console.print(f"{YARDSTICK} preemptive: a yardstick that no policy here could follow")
    console.print(f"Mean time is that of execution; Δ is the difference from {first}.")


def _mark(part: Compared) -> str:
    return YARDSTICK if part.yardstick else UNBEATEN if part.unbeaten else " "


def _signed(gap: Estimate) -> str:
    if gap.value == 0.0 and gap.half_width == 0.0:
        return "0"
    if gap.half_width == 0.0:
        return f"{gap.value:+.4g}"
    return str(gap) if gap.value < 0.0 else f"+{gap}"
