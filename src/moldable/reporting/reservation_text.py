"""How is the division of a cluster told to a person?"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from moldable.allocation.reservation import ClassAllocation, Reservation
from moldable.errors import shortened
from moldable.reporting.words import advice, count, percent


def show_reservation(console: Console, fluid: Reservation, whole: Reservation | None) -> None:
    """Print the division into fractions and into whole servers, then what to do in sentences."""
    console.print(_table(fluid, f"Best division of {count(fluid.servers)} into fractions"))
    if whole is not None:
        _show_whole(console, whole)
    console.print(_closing(fluid))


def _show_whole(console: Console, whole: Reservation) -> None:
    console.print(_table(whole, f"Best division of {count(whole.servers)} into whole servers"))
    for part in whole.classes:
        console.print(f"{part.name}: reserve {count(int(part.servers))}, {advice(part.mix)}.")


def _table(division: Reservation, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("class")
    for heading in ("servers", "share", "widths", "mean time"):
        table.add_column(heading, justify="right")
    for part in division.classes:
        table.add_row(
            part.name,
            f"{part.servers:.6g}",
            percent(division.reserved_fraction(part)),
            _mix(part),
            f"{part.mean_execution_time:.6g}",
        )
    table.add_section()
    held = sum(part.servers for part in division.classes)
    share = percent(held / division.servers)
    table.add_row("all jobs", f"{held:.6g}", share, "", f"{division.mean_execution_time:.6g}")
    return table


def _mix(part: ClassAllocation) -> str:
    return shortened(
        f"{width} ({percent(share)})" if share < 1 else str(width)
        for width, share in zip(part.support, part.mix.shares, strict=True)
    )


def _closing(fluid: Reservation) -> str:
    if fluid.shadow_price == 0.0:
        return "Capacity is slack: at these widths more servers would not make jobs faster."
    return (
        f"Shadow price {fluid.shadow_price:.6g}: one more server saves "
        f"{fluid.time_saved_by_one_server:.4g} of (weighted) time a job."
    )
