"""Cells and columns of CSV files.

Columns are separated by semicolons or tabs, where numbers may have a decimal comma, or by commas.
Empty lines are ignored, and `#` starts a comment.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from moldable.errors import InputError
from moldable.text_files import quoted, read_lines


def plain_name(cell: str) -> str:
    """Return the name of a column without its unit in brackets, as of "Time (s)"."""
    return re.sub(r"[\s-]+", "_", re.sub(r"\s*[(\[].*", "", cell.strip().lower()))


def separator_of(text: str) -> str:
    """Return what separates the columns of a file with this first line."""
    return next((mark for mark in ";\t" if mark in text), ",")


def cells(where: str, text: str, separator: str) -> list[str]:
    """Return the cells of a line."""
    try:
        (found,) = csv.reader([text], delimiter=separator, skipinitialspace=True, strict=True)
    except csv.Error:
        raise InputError(
            f"{where}: quotes are not closed, or a value is too long; correct the line"
        ) from None
    return [cell.strip() for cell in found]


def decimal(cell: str, separator: str) -> float:
    """Return a number; a comma is a decimal comma only where it does not separate columns."""
    return float(cell.replace(",", ".") if separator != "," else cell)


def read_column(path: Path, names: tuple[str, ...]) -> list[tuple[int, float]]:
    """Return (line, number) pairs of one column of a file.

    Args:
        path: name of the file.
        names: of the column; the first is used in messages. A file of one column needs no header.
    """
    name, lines = names[0], read_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{path}: there is no {name} in the file; write one on each line")
    separator = separator_of(first[1])
    header = cells(f"{path}, line {first[0]}", first[1], separator)
    known = [k for k, cell in enumerate(header) if plain_name(cell) in names]
    if len(known) > 1:
        raise InputError(f"{path}, line {first[0]}: several columns are {name}s; keep one of them")
    found: list[tuple[int, float]] = []
    for line, text in lines if known else (first, *lines):
        row = cells(f"{path}, line {line}", text, separator)
        if len(row) != (len(header) if known else 1):
            raise InputError(
                f"{path}, line {line}: several columns{quoted(text)}; keep only the {name}s, or "
                f"name the columns in a header, with {name} among them"
                if not known or len(header) == 1
                else f"{path}, line {line}: {len(row)} columns instead of {len(header)}; separate "
                f"them as in the header"
            )
        cell = row[known[0] if known else 0]
        try:
            found.append((line, decimal(cell, separator)))
        except ValueError:
            raise InputError(
                f"{path}, line {line}: the {name}{quoted(cell)} is not a number; write one {name} "
                f"on each line, under an optional header {name} (also accepted: "
                f"{', '.join(names[1:])})"
            ) from None
    if not found:
        raise InputError(f"{path}: there is no {name} in the file; write one on each line")
    return found
