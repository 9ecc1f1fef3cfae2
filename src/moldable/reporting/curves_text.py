"""Published curves as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from rich.console import Console

from moldable.allocation.frontier import Frontier
from moldable.errors import shortened
from moldable.files.published_curves import TOLERANCE, PublishedCurve
from moldable.reporting.tables import plain_table, print_table

VALUES: Final = {"time": "time", "throughput": "throughput", "speedup": "speed-up"}


def show_curves(console: Console, curves: Sequence[PublishedCurve]) -> None:
    """Print a row for each curve, and the sources."""
    sources = sorted({f"{curve.repository} at {curve.commit[:8]}" for curve in curves})
    table = plain_table("name", "machine", "widths", "incr.", "conc.", "5 %", "ref.")
    for curve in curves:
        speedup = curve.speedup
        table.add_row(
            curve.name,
            curve.machine,
            _widths(curve),
            _yes(speedup.is_increasing()),
            _yes(speedup.is_concave()),
            _yes(curve.within_assumptions),
            str(sources.index(f"{curve.repository} at {curve.commit[:8]}") + 1),
        )
    print_table(console, table)
    console.print("incr.: increasing; conc.: concave; 5 %: both, up to a tolerance of 5 %.")
    console.print("References, on GitHub:")
    for k, source in enumerate(sources, start=1):
        console.print(f"  {k}: {source}")
    console.print(
        "moldable curves NAME shows the values; --speedup curve:NAME uses them in other commands."
    )


def show_curve(console: Console, curve: PublishedCurve) -> None:
    """Print the values of a curve and its source."""
    console.print(f"{curve.name}: {curve.application} on {curve.machine} ({curve.configuration})")
    speedup = curve.speedup
    on_frontier = set(Frontier.of(speedup).widths.tolist())
    measured = () if curve.kind == "speedup" else (VALUES[curve.kind],)
    table = plain_table(right=(f"{curve.unit}s", *measured, "speed-up"))
    table.add_column("")
    for width, value in curve.values.items():
        own = [f"{value:.6g}"] if curve.kind != "speedup" else []
        off = "" if width in on_frontier else "off the frontier"
        table.add_row(str(width), *own, f"{speedup[width]:.4g}", off)
    print_table(console, table)
    if speedup.baseline:
        console.print(f"{speedup.baseline[0].upper()}{speedup.baseline[1:]}.")
    console.print(_assumptions(curve))
    console.print(f"Source: {curve.source} ({curve.terms}).")
    console.print(f"Use it: --speedup curve:{curve.name}")


def _assumptions(curve: PublishedCurve) -> str:
    beyond = curve.speedup.violations(TOLERANCE)
    found = beyond or curve.speedup.violations()
    if not found:
        return "The curve satisfies the paper's assumptions."
    widths = shortened(sorted({violation.width for violation in found}))
    if beyond:
        return f"The curve violates the paper's assumptions by more than 5 % at widths {widths}."
    return (
        f"The curve satisfies the paper's assumptions within 5 %, not exactly at widths {widths}."
    )


def _widths(curve: PublishedCurve) -> str:
    widths = list(curve.values)
    steps = {b - a for a, b in pairwise(widths)}
    ratios = {b / a for a, b in pairwise(widths)}
    if len(steps) == 1:
        by = f" by {steps.pop()}" if steps != {1} else ""
        return f"{widths[0]} to {widths[-1]}{by}"
    if ratios == {2.0}:
        return f"{widths[0]}, {widths[1]}, ..., {widths[-1]}"
    return shortened(widths, 6)


def _yes(answer: bool) -> str:  # noqa: FBT001 - a cell of a table
    return "yes" if answer else "no"
