"""Tables that never cut a name or a number."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

UNLIMITED: Final = 10_000
"""Columns in which every table fits."""


def plain_table(*texts: str, right: Iterable[str] = ()) -> Table:
    """Return an empty table with one line below the header and no other lines.

    Args:
        texts: headings of the first columns.
        right: headings of columns of numbers, aligned to the right, after them.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    return _with_columns(table, texts, right)


def boxed_table(title: str, *texts: str, right: Iterable[str]) -> Table:
    """Return an empty table with a title and lines around it; see `plain_table`."""
    return _with_columns(Table(title=title, title_justify="left"), texts, right)


def _with_columns(table: Table, texts: Iterable[str], right: Iterable[str]) -> Table:
    for heading in texts:
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def print_table(console: Console, table: Table, *narrower: Table) -> None:
    """Print a table, or one block for each row if the console is too narrow for the table.

    Half-widths of intervals go below their values if the table fits then. A block begins with the
    first cell of its row; the other cells follow, each after its heading.

    Args:
        console: where to print.
        table: the table.
        narrower: other forms of the table, of which the first that fits is printed.
    """
    wide = console.options.update(width=UNLIMITED)
    for form in (table, *narrower, _stacked(table)):
        if Measurement.get(console, wide, form).maximum <= console.width:
            console.print(form)
            return
    if table.title:
        console.print(table.title)
    headings = [str(column.header) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first, *others = map(str, cells)
        console.print(f"{headings[0]}: {first.strip()}" if headings[0] else first)
        for heading, cell in zip(headings[1:], others, strict=True):
            if cell:
                console.print(f"  {heading}: {cell}" if heading else f"  {cell}")


def _stacked(table: Table) -> Table:
    """Return the table with each half-width in a second line of its cell."""
    stacked = copy.copy(table)
    stacked.columns, stacked.rows = [column.copy() for column in table.columns], []
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for row, cells in zip(table.rows, rows, strict=True):
        lines = (str(cell).replace(" ± ", "\n± ") for cell in cells)
        stacked.add_row(*map(Text, lines), style=row.style, end_section=row.end_section)
    return stacked
