"""Speed-up curves as CSV files.

A file has two columns with a header: `width,time` (repeats are averaged) or `width,speedup`. Empty
lines are ignored, and `#` starts a comment.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from moldable.checks import LARGEST, SMALLEST, checked_path, whole
from moldable.errors import InputError, SpeedUpError
from moldable.model.speedup import SpeedUp
from moldable.text_files import quoted, read_lines

MOST_BYTES: Final = 4 * 2**20
HEADERS = (["width", "time"], ["width", "speedup"])


def read_curve(path: Path | str) -> SpeedUp:
    r"""Read a curve from a CSV file; errors name the file and the line.

    Example:
        >>> _ = Path("curve.csv").write_text("width,time\n1,60\n2,35\n")
        >>> read_curve("curve.csv")
        SpeedUp({1: 1, 2: 1.71429})
    """
    path = checked_path(path)
    rows = ((line, _cells(text)) for line, text in read_lines(path, MOST_BYTES))
    line, header = next(rows, (0, []))
    if not header:
        raise InputError(f"{path}: the file is empty; start it with a line width,time")
    columns = [cell.lower() for cell in header]
    if columns not in HEADERS:
        raise InputError(
            f"{path}, line {line}: this is not a header of a curve; the columns must be width,time "
            f"or width,speedup"
        )
    pairs: list[tuple[int, float]] = []
    lines: dict[int, int] = {}
    for line, cells in rows:
        width, value = _pair(f"{path}, line {line}", cells, columns[1])
        if columns[1] == "speedup" and width in lines:
            raise InputError(
                f"{path}, line {line}: width {width} is already in line {lines[width]}; keep one, "
                f"or give run times (width,time), which are averaged"
            )
        lines[width] = line
        pairs.append((width, value))
    try:
        return SpeedUp.from_times(pairs) if columns[1] == "time" else SpeedUp(dict(pairs))
    except SpeedUpError as error:
        raise InputError(f"{path}: {error}") from None


def _cells(text: str) -> list[str]:
    return [re.sub(r'^"(.*)"$', r"\1", cell.strip()).strip() for cell in text.split(",")]


def _pair(where: str, cells: list[str], value_name: str) -> tuple[int, float]:
    if len(cells) != len(HEADERS[0]):
        raise InputError(f"{where}: {len(cells)} values where 2 are expected: width,{value_name}")
    name, cell, kind = "width", cells[0], "whole number"
    try:
        width = int(cell)
        name, cell, kind = value_name, cells[1], "number"
        value = float(cell)
    except ValueError:
        raise InputError(
            f"{where}: {name}{quoted(cell)} is not a {kind}; write width,{value_name}"
        ) from None
    whole(width, f"{where}: width", InputError)
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{where}: {value_name} {cell} must be finite and above 0; correct it")
    return width, value
