"""Speed-up curves and measurements as CSV files.

A file has a header and two columns that matter: the width, and the run time, the throughput or the
speed-up at that width. Other columns are ignored. COLUMNS lists the names of each; `csv_columns`
says how columns are separated.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Final, NamedTuple

from moldable.checks import LARGEST, SMALLEST, checked_int, checked_path
from moldable.csv_columns import cells, decimal, plain_name, separator_of
from moldable.errors import InputError, SpeedUpError
from moldable.model.speedup import SpeedUp
from moldable.text_files import data_lines, quoted, read_text

MOST_BYTES: Final = 4 * 2**20
COLUMNS: Final = {
    "width": (
        *("width", "cores", "cpus", "gpus", "nodes", "ranks", "threads", "servers"),
        *("workers", "processes", "procs", "tasks", "num_tasks"),
    ),
    "time": ("time", "seconds", "time_s", "runtime", "walltime", "elapsed"),
    "speed": ("speed", "throughput", "samples_per_s", "steps_per_s"),
    "speedup": ("speedup", "speed_up"),
}
"""What a column holds, and its names."""
MEANING: Final = {name: column for column, names in COLUMNS.items() for name in names}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_/%]{1,24}")
"""Names of columns that messages repeat; `text_files.quoted` says why not all."""


class Row(NamedTuple):
    """A measurement: its line in the file, the width and the value."""

    line: int
    width: int
    value: float


class _Header(NamedTuple):
    """The separator, the number of columns, and which of them are the width and the value."""

    separator: str
    columns: int
    width: int
    value: int
    kind: str


def read_curve(path: Path | str) -> SpeedUp:
    r"""Read a curve from a CSV file; errors name the file and the line.

    Repeated run times and throughputs are averaged; `moldable.fit` keeps them.

    Examples:
        >>> _ = Path("curve.csv").write_text("width,time\n1,60\n2,35\n")
        >>> read_curve("curve.csv")
        SpeedUp({1: 1, 2: 1.71429})
    """
    path = checked_path(path)
    kind, rows = parse_rows(path, read_text(path, MOST_BYTES))
    try:
        if kind == "speedup":
            return SpeedUp(_without_repeats(path, rows))
        inverse = kind == "speed"
        return SpeedUp.from_times(
            (row.width, 1.0 / row.value if inverse else row.value) for row in rows
        )
    except SpeedUpError as error:
        raise InputError(f"{path}: {error}") from None


def parse_rows(
    path: Path, content: str, width: str | None = None, value: str | None = None
) -> tuple[str, list[Row]]:
    """Return the measurements of a CSV file, in the order of the file.

    Args:
        path: name of the file, for messages.
        content: its text.
        width: name of the column of widths; by default the one with a known name.
        value: name of the column of values; by default the one with a known name.

    Returns:
        What the values are, a key of COLUMNS, and the rows. A value column whose name is not known
        holds run times.
    """
    lines = data_lines(content)
    line, text = next(lines, (0, ""))
    if not text:
        raise InputError(f"{path}: the file is empty; start it with a line width,time")
    header = _header(f"{path}, line {line}", text, width, value)
    return header.kind, [
        Row(line, *_pair(f"{path}, line {line}", text, header)) for line, text in lines
    ]


def _without_repeats(path: Path, rows: list[Row]) -> dict[int, float]:
    """Return the speed-up of each width; a width may have only one."""
    lines: dict[int, int] = {}
    for line, width, _ in rows:
        if width in lines:
            raise InputError(
                f"{path}, line {line}: width {width} is already in line {lines[width]}; keep one, "
                f"or give run times (width,time), which are averaged"
            )
        lines[width] = line
    return {row.width: row.value for row in rows}


def _header(where: str, text: str, width: str | None, value: str | None) -> _Header:
    separator = separator_of(text)
    names = [plain_name(cell) for cell in cells(where, text, separator)]
    meanings = [MEANING.get(name) for name in names]
    for wanted, name in ((width, "width"), (value, "time")):
        if wanted is not None:
            _choose(where, names, meanings, plain_name(wanted), name)
    found = [(k, meaning) for k, meaning in enumerate(meanings) if meaning not in (None, "width")]
    if meanings.count("width") == 1 and len(found) == 1:
        ((at, kind),) = found
        return _Header(separator, len(names), meanings.index("width"), at, str(kind))
    if meanings.count("width") > 1 or len(found) > 1:
        raise InputError(
            f"{where}: several columns are widths or values{_shown(names)}; keep one of each, "
            f"such as width,time"
        )
    accepted = "; ".join(f"{column}: {', '.join(own)}" for column, own in COLUMNS.items())
    raise InputError(
        f"{where}: this is not a header of a curve{_shown(names)}; the columns must be width,time, "
        f"width,speed or width,speedup{_guess(names)} (accepted names: {accepted}; moldable fit "
        f"reads other columns by --width and --value)"
    )


def _choose(
    where: str, names: list[str], meanings: list[str | None], wanted: str, meaning: str
) -> None:
    """Give the wanted column its meaning, and take it from the others."""
    if names.count(wanted) != 1:
        close = difflib.get_close_matches(wanted, filter(_PLAIN_NAME.fullmatch, names), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(
            f"{where}: {'several columns are' if wanted in names else 'no column is'} called "
            f"{wanted!r}{_shown(names)}{hint}; name one column of the file"
        )
    is_width = meaning == "width"
    for k, name in enumerate(names):
        if name == wanted:
            meanings[k] = meaning if is_width else (MEANING.get(name) or meaning)
        elif (meanings[k] == "width") == is_width:
            meanings[k] = None


def _shown(names: list[str]) -> str:
    """Return the names of the columns for a message, if they look like names of columns.

    One of them must be known, or they must resemble the names of a width and of a value.
    """
    meant = {MEANING[name] for name in _resembling(names).values()}
    likely = any(map(MEANING.get, names)) or ("width" in meant and len(meant) > 1)
    plain = likely and all(map(_PLAIN_NAME.fullmatch, names))
    return f", its columns are {', '.join(names)}" if plain else ""


def _guess(names: list[str]) -> str:
    likely = next((name for name in _resembling(names).values() if name not in names), None)
    return f"; did you mean {likely!r}?" if likely else ""


def _resembling(names: list[str]) -> dict[str, str]:
    """Return the known name that each unknown one resembles, if any."""
    close = {name: difflib.get_close_matches(name, MEANING, n=1) for name in names}
    return {name: found[0] for name, found in close.items() if found and name not in MEANING}


def _pair(where: str, text: str, header: _Header) -> tuple[int, float]:
    row = cells(where, text, header.separator)
    if len(row) != header.columns:
        raise InputError(
            f"{where}: {len(row)} columns instead of {header.columns}; separate them as in the "
            f"header"
        )
    name, cell, kind = "width", row[header.width], "whole number"
    try:
        width = int(cell)
        name, cell, kind = header.kind, row[header.value], "number"
        value = decimal(cell, header.separator)
    except ValueError:
        raise InputError(
            f"{where}: {name}{quoted(cell)} is not a {kind}; write it like "
            f"{'4' if name == 'width' else '1250.5'}"
        ) from None
    checked_int(width, f"{where}: width", InputError)
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{where}: {header.kind} {cell} must be finite and above 0; correct it")
    return width, value
