"""What does a CSV file of measurements say about a curve?

Two columns with a header: `width,time` (repeats are averaged) or `width,speedup`. Lines that are
empty or start with `#` are passed over.
"""

from __future__ import annotations

import csv
from pathlib import Path

from moldable.checks import LARGEST, SMALLEST, checked_path, whole
from moldable.errors import InputError, SpeedUpError
from moldable.speedup import SpeedUp
from moldable.text_files import read_text

HEADERS = (["width", "time"], ["width", "speedup"])


def read_curve(path: Path | str) -> SpeedUp:
    """Read a curve, with the file and line in every complaint."""
    path = checked_path(path)
    rows = _rows(path)
    if not rows:
        raise InputError(f"{path}: the file is empty; start it with a line width,time")
    line, header = rows[0]
    columns = [cell.lower() for cell in header]
    if columns not in HEADERS:
        raise InputError(
            f"{path}, line {line}: the columns are {','.join(header)!r}; "
            f"they must be width,time or width,speedup"
        )
    pairs = [_pair(path, line, cells, columns[1]) for line, cells in rows[1:]]
    try:
        if columns[1] == "time":
            return SpeedUp.from_times(pairs)
        _refuse_repeats(path, rows[1:], pairs)
        return SpeedUp(dict(pairs))
    except SpeedUpError as error:
        raise InputError(f"{path}: {error}") from None


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    reader = csv.reader(read_text(path).split("\n"), strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped) and not stripped[0].startswith("#"):
                rows.append((reader.line_num, stripped))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None
    return rows


def _pair(path: Path, line: int, cells: list[str], value_name: str) -> tuple[int, float]:
    where = f"{path}, line {line}"
    if len(cells) != len(HEADERS[0]):
        raise InputError(f"{where}: {len(cells)} values where 2 are expected: width,{value_name}")
    try:
        width = int(cells[0])
    except ValueError:
        raise InputError(
            f"{where}: width {cells[0]!r} is not a whole number; write width,{value_name}"
        ) from None
    whole(width, f"{where}: width", InputError)
    try:
        value = float(cells[1])
    except ValueError:
        raise InputError(
            f"{where}: {value_name} {cells[1]!r} is not a number; write width,{value_name}"
        ) from None
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{where}: {value_name} {cells[1]} must be finite and above 0; correct it")
    return width, value


def _refuse_repeats(
    path: Path, rows: list[tuple[int, list[str]]], pairs: list[tuple[int, float]]
) -> None:
    seen: dict[int, int] = {}
    for (line, _), (width, _) in zip(rows, pairs, strict=True):
        if width in seen:
            raise InputError(
                f"{path}, line {line}: width {width} stands already in line {seen[width]}; keep "
                f"one, or give run times (width,time), which are averaged"
            )
        seen[width] = line
