"""The base class of results: plain data that can be tabulated, shown in a notebook and drawn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Final

from moldable.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

Row = Mapping[str, Any]
MOST_ROWS: Final = 20
"""Rows shown in a notebook; `to_frame` has all of them."""


class Result(ABC):
    """A result of a computation.

    Examples:
        >>> answer = optimum([1, 1.8, 2.5], 0.8)
        >>> answer.to_frame()["share"].tolist()
        [0.0, 0.0, 1.0]
        >>> sorted(answer.to_dict()["inputs"])
        ['load', 'servers', 'speedup']
    """

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; "inputs" holds what was given."""

    @abstractmethod
    def table(self) -> list[Row]:
        """Return the main figures as rows, which `to_frame` and notebooks show."""

    def to_frame(self) -> pd.DataFrame:
        """Return the main figures as a pandas frame; needs pandas."""
        try:
            import pandas as pd  # noqa: PLC0415 - optional
        except ModuleNotFoundError:
            raise InputError(
                "a frame needs pandas; install it (pip install pandas), or use to_dict()"
            ) from None
        return pd.DataFrame(self.table())

    def plot(self, ax: Axes | Path | str | None = None) -> Axes:
        """Draw the result; needs matplotlib.

        Args:
            ax: axes to draw on, or the name of a file to write, such as "picture.svg"; by default
                new axes, of a figure of matplotlib.pyplot.
        """
        from moldable.reporting.drawing import draw  # noqa: PLC0415 - reporting comes later

        return draw(self, ax)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary and the table."""
        rows = self.table()
        columns = list(rows[0]) if rows else []
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        lines = (
            "".join(f"<td>{escape(_cell(row.get(name)))}</td>" for name in columns)
            for row in rows[:MOST_ROWS]
        )
        body = "".join(f"<tr>{line}</tr>" for line in (head, *lines))
        left = len(rows) - MOST_ROWS
        more = f"<p>{left} more rows: see to_frame()</p>" if left > 0 else ""
        return f"<p><code>{escape(repr(self))}</code></p><table>{body}</table>{more}"


def finite(value: float) -> float | None:
    """Return the value for JSON, or None if it is infinite or unknown."""
    return value if math.isfinite(value) else None


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return str(value)
