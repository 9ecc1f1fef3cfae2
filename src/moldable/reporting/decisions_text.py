"""How are the decisions of policies laid side by side for a person?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, groupby
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from moldable.policies.decisions import DecisionRow, Decisions, Shares

MOST_ROWS: Final = 16
"""Beyond, neighbouring rows are told together: a wide curve has a row for every idle server."""
UNSEEN: Final = 1e-6
"""A share that nobody would notice: a design load at its very limit leaves some."""


def show_decisions(
    console: Console, classes: tuple[Decisions, ...], headings: Mapping[str, str]
) -> None:
    """Print a table for each class: ranges of idle servers down, policies across.

    Args:
        console: where to.
        classes: their decisions.
        headings: what the columns of the policies are called, the one that matters most first.
    """
    for part in classes:
        of = f" to {part.job_class}" if len(classes) > 1 else ""
        console.print(f"Servers given{of}, by idle servers:")  # a title would wrap with the table
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for heading in ("idle", *headings.values()):
            table.add_column(heading, justify="right")
        for rows in _grouped(part.rows, next(iter(headings))):
            cells = (_cell([row.shares[name] for row in rows]) for name in headings)
            table.add_row(_range(rows[0].least, rows[-1].most), *cells)
        console.print(table)


def _grouped(rows: tuple[DecisionRow, ...], first: str) -> list[tuple[DecisionRow, ...]]:
    """Join neighbours if there are too many: first those in which the first policy is the same."""
    if len(rows) <= MOST_ROWS:
        return [(row,) for row in rows]
    same = [tuple(part) for _, part in groupby(rows, lambda row: row.shares[first])]
    size = -(-len(same) // MOST_ROWS)
    return [tuple(chain(*same[i : i + size])) for i in range(0, len(same), size)]


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _cell(found: list[Shares]) -> str:
    """Tell one decision in full, and different ones by the widths among them."""
    if all(shares == found[0] for shares in found):
        return _shares(found[0])
    widths = [width for shares in found for width in shares]
    return _range(min(widths), max(widths))


def _shares(shares: Shares) -> str:
    told = {str(width): share for width, share in shares.items() if share > UNSEEN}
    blocked = 1.0 - sum(shares.values())
    if blocked > UNSEEN:
        told["blocked"] = blocked
    if len(told) == 1:
        return str(*told)
    return ", ".join(f"{what}: {100.0 * share:.3g} %" for what, share in told.items())
