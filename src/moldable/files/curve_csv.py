"""Speed-up curves as CSV files.

A file has a header and two columns that matter: the width, and the run time (repeats are averaged),
the throughput or the speed-up at that width. Other columns are ignored. COLUMNS lists the names of
each. Columns are separated by semicolons or tabs, where numbers may have a decimal comma, or by
commas. Empty lines are ignored, and `#` starts a comment.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from moldable.checks import LARGEST, SMALLEST, checked_int, checked_path
from moldable.errors import InputError, SpeedUpError
from moldable.model.speedup import SpeedUp
from moldable.text_files import quoted, read_lines

MOST_BYTES: Final = 4 * 2**20
COLUMNS: Final = {
    "width": ("width", "cores", "cpus", "gpus", "nodes", "ranks", "threads", "servers"),
    "time": ("time", "seconds", "time_s", "runtime", "walltime", "elapsed"),
    "speed": ("speed", "throughput", "samples_per_s"),
    "speedup": ("speedup", "speed_up"),
}
"""What a column holds, and its names."""
_MEANING: Final = {name: column for column, names in COLUMNS.items() for name in names}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_/%]{1,24}")
"""Names of columns that messages repeat; `text_files.quoted` says why not all."""


class _Header(NamedTuple):
    """The separator, the number of columns, and which of them are the width and the value."""

    separator: str
    columns: int
    width: int
    value: int
    kind: str


def read_curve(path: Path | str) -> SpeedUp:
    r"""Read a curve from a CSV file; errors name the file and the line.

    Example:
        >>> _ = Path("curve.csv").write_text("width,time\n1,60\n2,35\n")
        >>> read_curve("curve.csv")
        SpeedUp({1: 1, 2: 1.71429})
    """
    path = checked_path(path)
    rows = read_lines(path, MOST_BYTES)
    line, text = next(rows, (0, ""))
    if not text:
        raise InputError(f"{path}: the file is empty; start it with a line width,time")
    header = _header(f"{path}, line {line}", text)
    pairs = list(_pairs(path, rows, header))
    try:
        if header.kind == "speedup":
            return SpeedUp(dict(pairs))
        if header.kind == "speed":
            pairs = [(width, 1.0 / value) for width, value in pairs]
        return SpeedUp.from_times(pairs)
    except SpeedUpError as error:
        raise InputError(f"{path}: {error}") from None


def _header(where: str, text: str) -> _Header:
    separator = next((mark for mark in ";\t" if mark in text), ",")
    cells = _cells(where, text, separator)
    # A unit in brackets is not part of a name: "time (s)".
    names = [re.sub(r"[\s-]+", "_", re.sub(r"\s*[(\[].*", "", cell.lower())) for cell in cells]
    meanings = [_MEANING.get(name) for name in names]
    found = [(k, meaning) for k, meaning in enumerate(meanings) if meaning not in (None, "width")]
    if meanings.count("width") == 1 and len(found) == 1:
        ((value, kind),) = found
        return _Header(separator, len(names), meanings.index("width"), value, str(kind))
    if meanings.count("width") > 1 or len(found) > 1:
        raise InputError(
            f"{where}: several columns are widths or values{_shown(names)}; keep one of each, "
            f"such as width,time"
        )
    accepted = "; ".join(f"{column}: {', '.join(own)}" for column, own in COLUMNS.items())
    raise InputError(
        f"{where}: this is not a header of a curve{_shown(names)}; the columns must be width,time, "
        f"width,speed or width,speedup{_guess(names)} (accepted names: {accepted})"
    )


def _shown(names: list[str]) -> str:
    """Return the names of the columns for a message, if one is known and all look like names."""
    plain = any(map(_MEANING.get, names)) and all(map(_PLAIN_NAME.fullmatch, names))
    return f", its columns are {', '.join(names)}" if plain else ""


def _guess(names: list[str]) -> str:
    for name in names:
        close = difflib.get_close_matches(name, _MEANING, n=1)
        if close and name not in _MEANING:
            return f"; did you mean {close[0]!r}?"
    return ""


def _pairs(
    path: Path, rows: Iterator[tuple[int, str]], header: _Header
) -> Iterator[tuple[int, float]]:
    """Yield width and value of each row; a width may have only one speed-up."""
    lines: dict[int, int] = {}
    for line, text in rows:
        width, value = _pair(f"{path}, line {line}", text, header)
        if header.kind == "speedup" and width in lines:
            raise InputError(
                f"{path}, line {line}: width {width} is already in line {lines[width]}; keep one, "
                f"or give run times (width,time), which are averaged"
            )
        lines[width] = line
        yield width, value


def _cells(where: str, text: str, separator: str) -> list[str]:
    try:
        (cells,) = csv.reader([text], delimiter=separator, skipinitialspace=True, strict=True)
    except csv.Error:
        raise InputError(
            f"{where}: quotes are not closed, or a value is too long; correct the line"
        ) from None
    return [cell.strip() for cell in cells]


def _pair(where: str, text: str, header: _Header) -> tuple[int, float]:
    cells = _cells(where, text, header.separator)
    if len(cells) != header.columns:
        raise InputError(
            f"{where}: {len(cells)} columns instead of {header.columns}; separate them as in the "
            f"header"
        )
    name, cell, kind = "width", cells[header.width], "whole number"
    try:
        width = int(cell)
        name, cell, kind = header.kind, cells[header.value], "number"
        # A comma between digits is a decimal comma only where it does not separate columns.
        value = float(cell.replace(",", ".") if header.separator != "," else cell)
    except ValueError:
        raise InputError(
            f"{where}: {name}{quoted(cell)} is not a {kind}; write it like "
            f"{'4' if name == 'width' else '1250.5'}"
        ) from None
    checked_int(width, f"{where}: width", InputError)
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{where}: {header.kind} {cell} must be finite and above 0; correct it")
    return width, value
