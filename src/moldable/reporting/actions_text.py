"""The decisions of a policy as a table: servers given by idle servers and waiting jobs."""

from __future__ import annotations

from typing import Final

from rich.table import Table

from moldable.planning.actions import Actions, Shares
from moldable.reporting.tables import plain_table
from moldable.reporting.words import number_range

MOST_ROWS: Final = 16
"""Longer tables of decisions are cut; the JSON output and the policy file have all rows."""
ROUNDING: Final = 1e-6


def actions_table(part: Actions, *, waits: bool) -> Table:
    """Return the decisions for one class; `waits`: whether there are waiting places."""
    columns = list(part.rows[0].shares)
    granted = (f"{waiting} wait" if waits else "servers given" for waiting in columns)
    table = plain_table(right=("idle", *granted))
    for row in part.rows[:MOST_ROWS]:
        idle = number_range(row.least, row.most)
        table.add_row(idle, *(_granted(row.shares[k], waits=waits) for k in columns))
    left = len(part.rows) - MOST_ROWS
    if left > 0:
        table.add_row(f"{left} more", *("" for _ in columns))
    return table


def _granted(shares: Shares | None, *, waits: bool) -> str:
    """Write a width, or two as "1 or 2 (40 %)" if the second is drawn with this probability."""
    if shares is None:
        return "-"
    rest = 1.0 - sum(shares.values())
    shown = {str(width): share for width, share in shares.items()}
    if rest > ROUNDING:
        shown["waits" if waits else "blocked"] = rest
    first, *others = shown
    return first + "".join(f" or {what} ({100.0 * shown[what]:.3g} %)" for what in others)
