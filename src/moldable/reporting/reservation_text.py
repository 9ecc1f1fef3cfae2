"""The optimal shares of several classes as text."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from moldable.allocation.reservation import ClassAllocation, Reservation
from moldable.errors import shortened
from moldable.model.units import duration
from moldable.reporting.tables import boxed_table, print_table
from moldable.reporting.words import advice, count, percent, unit_of_times


def show_pool(console: Console, fluid: Reservation) -> None:
    """Print the widths of classes that share one pool."""
    title = f"Optimal widths on {count(fluid.servers)} that all classes share"
    print_table(console, _table(fluid, title, "servers used"))
    for part in fluid.classes:
        console.print(f"{part.name}: {advice(part.mix)}.")
    _print_closing(console, fluid)


def show_reservation(console: Console, fluid: Reservation, whole: Reservation) -> None:
    """Print the division into fractions and into whole servers, then recommendations."""
    for division, kind in ((fluid, "fractions"), (whole, "whole servers")):
        title = f"Best division of {count(division.servers)} into {kind}"
        print_table(console, _table(division, title))
    for part in whole.classes:
        console.print(_recommendation(part))
    _print_closing(console, fluid)


def _print_closing(console: Console, fluid: Reservation) -> None:
    console.print(_closing(fluid))
    if fluid.time_unit is None:
        sizes = (part.job_class.mean_size for part in fluid.classes)
        console.print(unit_of_times(None, sizes))


def _recommendation(part: ClassAllocation) -> str:
    servers = count(int(part.servers))
    if part.holds_its_widths:
        return f"{part.name}: reserve {servers}, {advice(part.mix)}."
    return (
        f"{part.name}: {servers} of its own would not hold a job of width {part.support[-1]}, so "
        f"no reservation is recommended; let it share a pool, or reserve at least "
        f"{part.support[-1]} servers."
    )


def _table(division: Reservation, title: str, servers: str = "servers") -> Table:
    table = boxed_table(title, "class", right=(servers, "share", "widths", "mean time"))
    for part in division.classes:
        table.add_row(
            part.name,
            f"{part.servers:.6g}",
            percent(division.reserved_fraction(part)),
            _mix(part),
            duration(f"{part.mean_execution_time:.6g}", division.time_unit),
        )
    table.add_section()
    held = sum(part.servers for part in division.classes)
    share = percent(held / division.servers)
    time = duration(f"{division.mean_execution_time:.6g}", division.time_unit)
    table.add_row("all jobs", f"{held:.6g}", share, "", time)
    return table


def _mix(part: ClassAllocation) -> str:
    return shortened(
        f"{width} ({percent(share)})" if share < 1 else str(width)
        for width, share in zip(part.support, part.mix.shares, strict=True)
    )


def _closing(fluid: Reservation) -> str:
    if fluid.shadow_price == 0.0:
        return "On a large cluster, more servers would not make jobs faster."
    saved = duration(f"{fluid.time_saved_by_one_server:.4g}", fluid.time_unit)
    return (
        f"Shadow price {fluid.shadow_price:.6g}: one more server saves {saved} of (weighted) time "
        f"a job."
    )
