"""The decisions of policies side by side as text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, groupby
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moldable.policies.decisions import DecisionRow, Decisions, Shares
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import number_range

MOST_ROWS: Final = 16
"""Longer tables are shortened by joining rows: a wide curve has one for every idle server."""
UNSEEN: Final = 1e-6
"""Shares up to this are not shown; a design load near its limit has some."""


def show_decisions(
    console: Console, classes: tuple[Decisions, ...], headings: Mapping[str, str]
) -> None:
    """Print a table for each class: ranges of idle servers down, policies across.

    Args:
        console: where to print.
        classes: their decisions.
        headings: names of the policies' columns; rows are joined where the first is the same.
    """
    for part in classes:
        of = f" to {part.job_class}" if len(classes) > 1 else ""
        console.print(f"Servers given{of}, by idle servers:")  # a title would wrap with the table
        print_table(console, *(_table(part, headings, join) for join in (", ", ",\n")))


def _table(part: Decisions, headings: Mapping[str, str], join: str) -> Table:
    """Return the table of a class; `join` separates the widths that are drawn."""
    table = plain_table(right=("idle", *headings.values()))
    for rows in _grouped(part.rows, next(iter(headings))):
        cells = (Text(_cell([row.shares[name] for row in rows], join)) for name in headings)
        table.add_row(number_range(rows[0].least, rows[-1].most), *cells)
    return table


def _grouped(rows: tuple[DecisionRow, ...], first: str) -> list[tuple[DecisionRow, ...]]:
    """Join neighbours if there are too many: first those in which the first policy is the same."""
    if len(rows) <= MOST_ROWS:
        return [(row,) for row in rows]
    same = [tuple(part) for _, part in groupby(rows, lambda row: row.shares[first])]
    size = -(-len(same) // MOST_ROWS)
    return [tuple(chain(*same[i : i + size])) for i in range(0, len(same), size)]


def _cell(found: list[Shares], join: str) -> str:
    """Show one decision in full, and several by the range of their widths."""
    if all(shares == found[0] for shares in found):
        return _shares(found[0], join)
    widths = [width for shares in found for width in shares]
    return number_range(min(widths), max(widths))


def _shares(shares: Shares, join: str) -> str:
    shown = {str(width): share for width, share in shares.items() if share > UNSEEN}
    blocked = 1.0 - sum(shares.values())
    if blocked > UNSEEN:
        shown["blocked"] = blocked
    if len(shown) == 1:
        return str(*shown)
    return join.join(f"{what}: {100.0 * share:.3g} %" for what, share in shown.items())
