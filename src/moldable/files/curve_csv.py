"""What does a CSV file of measurements say about a curve?

Two columns with a header: `width,time` (repeats are averaged) or `width,speedup`. Lines that are
empty or start with `#` are passed over.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from moldable.checks import LARGEST, SMALLEST, checked_path, whole
from moldable.errors import InputError, SpeedUpError
from moldable.model.speedup import SpeedUp
from moldable.text_files import quoted, read_text

MOST_BYTES: Final = 4 * 2**20
HEADERS = (["width", "time"], ["width", "speedup"])


def read_curve(path: Path | str) -> SpeedUp:
    """Read a curve, with the file and line in every complaint."""
    path = checked_path(path)
    rows = _rows(path)
    line, header = next(rows, (0, []))
    if not header:
        raise InputError(f"{path}: the file is empty; start it with a line width,time")
    columns = [cell.lower() for cell in header]
    if columns not in HEADERS:
        raise InputError(
            f"{path}, line {line}: this is not a header of a curve; the columns must be width,time "
            f"or width,speedup"
        )
    pairs = ((line, *_pair(path, line, cells, columns[1])) for line, cells in rows)
    try:
        if columns[1] == "time":
            return SpeedUp.from_times((width, time) for _, width, time in pairs)
        return SpeedUp(_without_repeats(path, pairs))
    except SpeedUpError as error:
        raise InputError(f"{path}: {error}") from None


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return the lines that hold something, one at a time: lists of all would take gigabytes."""
    reader = csv.reader(io.StringIO(read_text(path, MOST_BYTES)), strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped) and not stripped[0].startswith("#"):
                yield reader.line_num, stripped
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None


def _pair(path: Path, line: int, cells: list[str], value_name: str) -> tuple[int, float]:
    where = f"{path}, line {line}"
    if len(cells) != len(HEADERS[0]):
        raise InputError(f"{where}: {len(cells)} values where 2 are expected: width,{value_name}")
    try:
        width = int(cells[0])
    except ValueError:
        raise InputError(
            f"{where}: width{quoted(cells[0])} is not a whole number; write width,{value_name}"
        ) from None
    whole(width, f"{where}: width", InputError)
    try:
        value = float(cells[1])
    except ValueError:
        raise InputError(
            f"{where}: {value_name}{quoted(cells[1])} is not a number; write width,{value_name}"
        ) from None
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{where}: {value_name} {cells[1]} must be finite and above 0; correct it")
    return width, value


def _without_repeats(path: Path, pairs: Iterable[tuple[int, int, float]]) -> dict[int, float]:
    lines: dict[int, int] = {}
    curve: dict[int, float] = {}
    for line, width, speedup in pairs:
        if width in lines:
            raise InputError(
                f"{path}, line {line}: width {width} stands already in line {lines[width]}; keep "
                f"one, or give run times (width,time), which are averaged"
            )
        lines[width], curve[width] = line, speedup
    return curve
