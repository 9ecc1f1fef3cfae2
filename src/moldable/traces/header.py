"""Cells of a row, and columns that a header lacks."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Iterable

from moldable.errors import InputError, shortened


def quoted_cells(text: str, delimiter: str) -> list[str]:
    """Return the cells of a row, some of which may be in quotes; none if it is damaged."""
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a carriage return in a cell, or one that is too long
        return []


def missing_column(
    source: str, what: str, found: Iterable[str], known: Collection[str], fix: str
) -> InputError:
    """Return the error of a header without a column; it names those found and the nearest.

    Args:
        source: name of the file.
        what: what the column holds.
        found: names of the columns that there are.
        known: names under which the column is known, in lower case.
        fix: what to do.
    """
    names = [name for name in found if name]
    near = (
        (difflib.SequenceMatcher(None, name, alias).ratio(), name)
        for name in names[:200]
        for alias in known
    )
    ratio, name = max(near, default=(0.0, ""))
    guess = f" (nearest: {name!r})" if ratio > 0.6 else ""  # noqa: PLR2004 - difflib's own choice
    if not names:
        return InputError(
            f"{source}: the first line cannot be divided into columns; lines must end with a "
            f"newline, and quotes must be closed"
        )
    return InputError(
        f"{source}: no column for {what}; it has {shortened(names, 20)}{guess}; {fix}"
    )
