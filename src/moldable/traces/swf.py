"""The Standard Workload Format of the Parallel Workloads Archive.

Comments start with `;` and hold the header, such as `; MaxProcs: 100`. Every other line is one job
with 18 numbers; -1 stands for what is not known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Final, final
from zoneinfo import ZoneInfo

from moldable.errors import InputError
from moldable.traces.class_rule import ONE_CLASS, UNKNOWN, ClassRule
from moldable.traces.records import CANCELLED_EARLY, NO_RUN_TIME, NO_SERVERS, UTC_EPOCH, JobRecords
from moldable.traces.trace import Trace

FIELDS: Final = 18
JOB, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, LIMIT, STATUS, USER = 0, 1, 2, 3, 4, 7, 8, 10, 11
PLACES: Final = {"user": 11, "group": 12, "application": 13, "queue": 14, "partition": 15}
STATES: Final = {0: "failed", 1: "completed", 5: "cancelled"}
CANCELLED: Final = 5
MOST_SECONDS: Final = 10**11
UNKNOWN_TIME: Final = -1.0
PARTIAL: Final = frozenset((2, 3, 4))
"""States of the parts of a job that was swapped out; another line describes the whole job."""
DIGITS: Final = 15
"""Most digits of a number in the header."""
LONGEST_ZONE: Final = 100
"""Characters of the name of a time zone that are looked up."""
_HEADER: Final = re.compile(r";\s*(\w+):\s*(.*?)\s*")
_NAMED: Final = re.compile(r"(\d{1,9})\s+(\S.*)", re.ASCII)


@final
class SwfHeader:
    """The header comments of a log."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.names: dict[str, dict[int, str]] = {kind: {} for kind in PLACES}

    def read(self, line: str) -> None:
        """Read a comment; the first value of a key is kept."""
        match = _HEADER.fullmatch(line)
        if match is None:
            return
        key, value = match[1].lower(), match[2]
        named = _NAMED.fullmatch(value)
        if key in self.names and named is not None:
            self.names[key][int(named[1])] = named[2]
        self.values.setdefault(key, value)

    def number(self, key: str) -> int | None:
        """Return a whole number above 0, or None."""
        text = self.values.get(key, "").split(" ")[0]
        known = text.isascii() and text.isdigit() and len(text) <= DIGITS
        return (int(text) or None) if known else None

    @property
    def capacity(self) -> int | None:
        """Processors of the machine."""
        return self.number("maxprocs") or self.number("maxnodes")

    @property
    def zone(self) -> tzinfo:
        """The time zone: by name, since an offset ignores daylight saving time."""
        try:
            return ZoneInfo(self.values.get("timezonestring", "")[:LONGEST_ZONE])
        except (ValueError, OSError, KeyError):  # not named, or not known here
            pass
        try:
            return timezone(timedelta(seconds=int(self.values["timezone"])))
        except (ValueError, KeyError, OverflowError):
            return UTC


def read_swf(
    lines: Iterable[tuple[int, str]], source: str, rule: ClassRule, most_classes: int
) -> Trace:
    """Read the lines of a log."""
    if rule.field is not None and rule.field not in PLACES:
        raise InputError(
            f"{rule.text!r} cannot be used: a Standard Workload Format log has no {rule.field}; "
            f"choose one of {', '.join(PLACES)}",
            "class_by",
        )
    records, header = JobRecords(source), SwfHeader()
    for number, line in lines:
        text = line.strip()
        if text.startswith(";"):
            header.read(text)
        elif text:
            records.rows += 1
            cells = text.split()
            if len(cells) == FIELDS:
                _read_job(records, number, cells, header, rule.field)
            else:
                records.damaged(f"not {FIELDS} numbers", number)
    began = min(header.number("unixstarttime") or 0, MOST_SECONDS)
    return records.trace(
        unit="servers",
        most_classes=most_classes,
        capacity=header.capacity,
        origin=UTC_EPOCH + timedelta(seconds=began) if began else None,
        zone=header.zone,
    )


def _read_job(
    records: JobRecords,
    line: int,
    cells: list[str],
    header: SwfHeader,
    field: str | None,
) -> None:
    job = cells[JOB]
    try:
        submit, wait, run_time = float(cells[SUBMIT]), float(cells[WAIT]), float(cells[RUN])
        width, limit = int(float(cells[ALLOCATED])), float(cells[LIMIT])
        if width < 1:
            width = int(float(cells[REQUESTED]))
        status, user = int(float(cells[STATUS])), int(float(cells[USER]))
        key = -1 if field is None else int(float(cells[PLACES[field]]))
    except (ValueError, OverflowError):
        records.damaged("text where a number is expected", line, job)
        return
    if not (math.isfinite(submit) and math.isfinite(run_time) and math.isfinite(wait)):
        records.damaged("a number that is not finite", line, job)
    elif status in PARTIAL:
        records.skip("part of a job, whose whole is another row", line, job)
    elif run_time == UNKNOWN_TIME:
        records.skip(CANCELLED_EARLY if status == CANCELLED else NO_RUN_TIME, line, job)
    elif width < 1:
        records.skip(NO_SERVERS, line, job)
    else:
        state = STATES.get(status, UNKNOWN)
        label = ONE_CLASS if field is None else _named(header, field, key)
        start = math.nan if wait == UNKNOWN_TIME else submit + wait
        name = _named(header, "user", user)
        widths = (width,)
        records.add(line, job, submit, start, run_time, widths, limit, name, label, state)


def _named(header: SwfHeader, kind: str, key: int) -> str:
    if key < 0:
        return UNKNOWN
    return header.names[kind].get(key) or f"{kind} {key}"
