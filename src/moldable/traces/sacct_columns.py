"""The columns of Slurm's accounting, and rows whose texts contain the delimiter.

`sacct --parsable2` does not escape its delimiter, so a job named `a|b` has a column too many. The
extra cells belong to columns that hold free text; the columns of known form show to which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from moldable.traces.header import missing_column

FREE_TEXT: Final = frozenset(
    (
        *("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "reason"),
        *("constraints", "container", "extra", "wckey", "stdout", "stderr", "stdin", "failednode"),
    )
)
LISTS: Final = frozenset(("alloctres", "reqtres", "nodelist", "flags"))
"""Columns that contain commas."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:]{8}|\d+|Unknown|None|N/A|")
_NUMBER: Final = re.compile(r"\d*")
_TIME: Final = re.compile(r"[\d:.-]*|UNLIMITED|Partition_Limit|INVALID")
_TRES: Final = re.compile(r"(?:[\w/:.-]+=[\w.]+(?:,[\w/:.-]+=[\w.]+)*)?")
FORMS: Final = {
    "state": re.compile(r"[A-Z][A-Z_]+\+?(?: by \S+)?"),
    **dict.fromkeys(("submit", "eligible", "start", "end"), _DATE),
    **dict.fromkeys(("elapsed", "timelimit", "reserved", "planned", "cputime"), _TIME),
    **dict.fromkeys(("suspended", "systemcpu", "totalcpu", "usercpu", "resvcpu"), _TIME),
    **dict.fromkeys(("elapsedraw", "ncpus", "alloccpus", "reqcpus", "allocnodes"), _NUMBER),
    **dict.fromkeys(("nnodes", "reqnodes", "timelimitraw", "uid", "gid", "priority"), _NUMBER),
    **dict.fromkeys(("alloctres", "reqtres"), _TRES),
    "exitcode": re.compile(r"\d+:\d+|"),
    "jobidraw": re.compile(r"\d+(?:\.\w+)?"),
}
"""What cells of known form look like."""
DECISIVE: Final = frozenset(("jobid", "user", "account", "group", "partition", "qos"))
"""Columns without a known form that are used."""
MOST_EXTRA: Final = 30
"""Delimiters in the texts of one row."""
MOST_SPLITS: Final = 5000
"""Ways of assigning extra cells that are tried for one row."""


@dataclass(frozen=True)
class SacctColumns:
    """The header of a log.

    Attributes:
        delimiter: one character.
        names: the columns, in lower case.
    """

    delimiter: str
    names: tuple[str, ...]

    @staticmethod
    def of(header: str) -> SacctColumns | None:
        """Return the columns if the line is a header of sacct, otherwise None."""
        text = header.replace('"', "").strip(" ")
        match = re.match(r"[A-Za-z]+([^A-Za-z0-9_ \r\n])", text)
        if match is None:
            return None
        given = [name.strip() for name in text.split(match[1])]
        names = tuple(name.lower() for name in given)
        # Other programs write CSV files with a column jobid.
        own = {"JobID", "JobIDRaw"} & set(given) or match[1] not in ",;\t"
        known = match[1] == "|" or set(FORMS) & set(names)
        jobs = {"jobid", "jobidraw"} & set(names)
        return SacctColumns(match[1], names) if own and known and jobs else None

    def find(self, *names: str) -> int | None:
        """Return the place of the first of these columns that there is."""
        return next((self.names.index(name) for name in names if name in self.names), None)

    def require(self, source: str, what: str, *names: str) -> int:
        """Return the place of one of these columns; raise if there is none."""
        place = self.find(*(name.lower() for name in names))
        if place is None:
            fix = f"add {' or '.join(names)} to sacct --format"
            raise missing_column(source, what, self.names, [n.lower() for n in names], fix)
        return place

    def cells(self, line: str) -> list[str] | None:
        """Return the cells of a row; None if it cannot be divided into the columns."""
        cells = line.split(self.delimiter)
        if len(cells) == len(self.names):
            return cells
        if not 0 < len(cells) - len(self.names) <= MOST_EXTRA:
            return None
        return self._joined(cells)

    @cached_property
    def _free(self) -> list[int]:
        lists = LISTS if self.delimiter == "," else frozenset()
        return [k for k, name in enumerate(self.names) if name in FREE_TEXT | lists]

    def _joined(self, cells: list[str]) -> list[str] | None:
        """Join the cells of texts; None if that is possible in no way, or in several."""
        found: list[list[str]] = []
        for tried, parts in enumerate(_parts(len(cells) - len(self.names), len(self._free))):
            if tried >= MOST_SPLITS:
                return None
            extra = dict(zip(self._free, parts, strict=True))
            row, at = [], 0
            for place in range(len(self.names)):
                end = at + 1 + extra.get(place, 0)
                row.append(self.delimiter.join(cells[at:end]))
                at = end
            if self._fits(row):
                found.append(row)
        if self.delimiter == ",":
            found = _longest_lists(found, [k for k, n in enumerate(self.names) if n in LISTS])
        # Where texts are neighbours, it does not matter which of them has the cell.
        fixed = [k for k, name in enumerate(self.names) if name in FORMS or name in DECISIVE]
        agree = {tuple(row[k] for k in fixed) for row in found}
        return found[0] if len(agree) == 1 else None

    def _fits(self, row: Sequence[str]) -> bool:
        return all(
            FORMS[name].fullmatch(cell) is not None
            for name, cell in zip(self.names, row, strict=True)
            if name in FORMS
        )


def _longest_lists(rows: list[list[str]], places: Sequence[int]) -> list[list[str]]:
    """Return the rows whose lists have the most items; other texts seldom contain commas."""
    items = [sum(row[k].count(",") for k in places) for row in rows]
    return [row for row, count in zip(rows, items, strict=True) if count == max(items)]


def _parts(total: int, places: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways of writing a number as a sum over places."""
    if places <= 1:
        if places == 1 or total == 0:
            yield (total,) * places
        return
    for first in range(total + 1):
        for rest in _parts(total - first, places - 1):
            yield (first, *rest)
