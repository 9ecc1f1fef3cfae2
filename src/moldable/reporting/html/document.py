"""The parts of a report: text, tables and figures in sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from rich.table import Table as RichTable

MOST_ROWS: Final = 60
"""Longer tables are cut; the JSON output has all rows."""


@final
@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@final
@dataclass(frozen=True)
class Bullets:
    """A list; each entry has a short heading and a text."""

    entries: tuple[tuple[str, str], ...]


@final
@dataclass(frozen=True)
class Listing:
    """Text whose lines are kept, such as a workload file."""

    caption: str
    lines: tuple[str, ...]


@final
@dataclass(frozen=True)
class Column:
    """A column of a table; numbers are aligned to the right."""

    heading: str
    numeric: bool


@final
@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its heading."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0

    @classmethod
    def of(cls, caption: str, table: RichTable) -> Table:
        """Return a table of the console."""
        columns = tuple(
            Column(str(column.header), column.justify == "right") for column in table.columns
        )
        cells = [[str(cell) for cell in column.cells] for column in table.columns]
        rows = tuple(zip(*cells, strict=True))
        return cls(caption, columns, rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS))


@final
@dataclass(frozen=True)
class Panel:
    """One drawing of a figure.

    Attributes:
        title: shown above it.
        alt: what it shows, for readers who cannot see it.
        svg: the drawing.
    """

    title: str
    alt: str
    svg: str


@final
@dataclass(frozen=True)
class Figure:
    """Drawings with a common caption."""

    key: str
    caption: str
    panels: tuple[Panel, ...]


Block = Text | Bullets | Listing | Table | Figure


@final
@dataclass(frozen=True)
class Section:
    """A section with an anchor."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@final
@dataclass(frozen=True)
class Document:
    """A report.

    Attributes:
        title: of the page.
        summary: one line below the title.
        verdict: the most important sentence.
        good: whether the verdict is favourable; None if there is no target.
        sections: in their order.
    """

    title: str
    summary: str
    verdict: str
    good: bool | None
    sections: tuple[Section, ...]
