"""Job logs as CSV files: a header, and one job on each line.

Columns are separated by commas, semicolons or tabs; with the latter two, numbers may have a decimal
comma. ALIASES lists the names of each column. Lines that start with `#` are comments;
`# servers: 64` gives the size of the cluster, `# origin: 2026-11-02T00:00:00` the date of time 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, final

from moldable.errors import InputError, shortened, suggest
from moldable.traces.class_rule import ONE_CLASS, ClassRule
from moldable.traces.clock import Clock, duration_seconds
from moldable.traces.header import missing_column, quoted_cells
from moldable.traces.records import (
    CANCELLED_EARLY,
    LOCAL_EPOCH,
    NEVER_STARTED,
    NOT_FINISHED,
    UTC_EPOCH,
    JobRecords,
)
from moldable.traces.slurm import AUTOMATIC, UNFINISHED
from moldable.traces.trace import Trace

DELIMITERS: Final = ",;\t"
COUNTED: Final = {
    "servers": ("servers", "width", "size", "processors", "procs", "num_procs", "allocated"),
    "gpus": ("gpus", "num_gpus", "n_gpus", "gpu_num", "ngpus", "gpu", "gpu_count", "plan_gpu"),
    "cpus": ("cpus", "cores", "num_cpus", "n_cpus", "ncpus", "num_cores", "alloccpus", "cpu"),
    "nodes": ("nodes", "num_nodes", "n_nodes", "nnodes", "allocnodes", "node_num"),
}
"""Columns with the servers of a job, by what they count."""
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "submit": (
        *("submit", "submit_time", "submitted", "submitted_time", "submission_time", "timestamp"),
        *("arrival", "arrival_time", "arrived", "created", "creation_time"),
    ),
    "start": ("start", "start_time", "started", "begin", "begin_time"),
    "end": ("end", "end_time", "ended", "finish", "finish_time", "finished", "completion_time"),
    "wait": ("wait", "wait_time", "waiting_time", "queue_time", "wait_s"),
    "comment": ("comment",),
    "run_time": (
        *("run_time", "runtime", "duration", "elapsed", "execution_time", "run_time_s"),
        *("duration_s", "runtime_s", "elapsed_s", "elapsedraw", "service_time"),
    ),
    "servers": tuple(name for names in COUNTED.values() for name in names),
    "requested_time": (
        *("requested_time", "requested", "timelimit", "time_limit", "walltime", "estimate"),
        *("req_time", "wallclock_limit"),
    ),
    "job": ("job", "job_id", "jobid", "id", "job_name_id"),
    "user": ("user", "user_id", "userid", "username", "uid", "owner"),
    "group": ("group", "group_id", "gid"),
    "account": ("account", "project", "vc", "tenant"),
    "partition": ("partition", "cluster", "resource", "pool"),
    "queue": ("queue", "queue_name", "qos"),
    "application": ("application", "app", "executable", "model", "job_type"),
    "name": ("name", "job_name", "jobname"),
    "class": ("class", "job_class", "kind", "type"),
    "state": ("state", "status", "final_state"),
}
"""What a column holds, and its names."""
MILLISECONDS: Final = 1e11
"""Submission times beyond this are not in seconds since 1970."""
DATES: Final = 3e8
"""Submission times from here on are seconds since 1970."""
LONGEST: Final = 16
"""Digits of the largest number of servers, plus one."""
_COMMENT: Final = re.compile(r"#\s*(servers|origin|unit):\s*(\S+)\s*")


def column_name(cell: str) -> str:
    """Return a name in lower case, without a unit in brackets: `Run time (s)` is `run_time`."""
    plain = re.sub(r"\s*[(\[].*", "", cell.strip().strip('"').strip().lower())
    return re.sub(r"[\s-]+", "_", plain)


@final
class CsvReader:
    """Reads the rows of a log; the header decides which columns are used."""

    def __init__(
        self,
        header: str,
        source: str,
        rule: ClassRule,
        columns: Mapping[str, str],
        count: str,
    ) -> None:
        self.delimiter = max(DELIMITERS, key=header.count)
        cells = quoted_cells(header, self.delimiter)
        self.names = [column_name(cell) for cell in cells]
        self.source, self.rule = source, rule
        self.clock = Clock()
        self.given = {role: self._place(role, name) for role, name in columns.items()}
        self.unit, self.servers = self._servers(count)
        self.records = JobRecords(source, (self.unit,))
        self.submit = self._find("submit", required=True)
        self.start, self.end, self.wait = map(self._find, ("start", "end", "wait"))
        spans = self.start is not None and self.end is not None
        self.run = self._find("run_time", required=not spans)
        self.others = {
            role: self._find(role) for role in ("job", "user", "state", "requested_time")
        }
        self.label = self._find(rule.field, required=True) if rule.field else None

    def _place(self, role: str, name: str) -> int:
        if role not in ALIASES:
            raise InputError(f"{role!r} is not a column; {suggest(role, ALIASES)}", "columns")
        wanted = column_name(name)
        if wanted not in self.names:
            raise InputError(
                f"{role}={name}: {self.source} has no such column; {suggest(wanted, self.names)}",
                "columns",
            )
        return self.names.index(wanted)

    def _find(self, role: str, *, required: bool = False) -> int | None:
        if role in self.given:
            return self.given[role]
        for name in ALIASES[role]:
            if name in self.names:
                return self.names.index(name)
        if required:
            raise self._missing(role)
        return None

    def _servers(self, count: str) -> tuple[str, int]:
        if "servers" in self.given:
            place = self.given["servers"]
            own = (unit for unit, names in COUNTED.items() if self.names[place] in names)
            return next(own, "servers"), place
        for unit, names in COUNTED.items():
            for name in names if count in (AUTOMATIC, unit) else ():
                if name in self.names:
                    return unit, self.names.index(name)
        raise self._missing("servers" if count == AUTOMATIC else count)

    def _missing(self, role: str) -> InputError:
        known = ALIASES[role] if role in ALIASES else COUNTED[role]
        option = role if role in ALIASES else "servers"
        fix = f"name it: --columns {option}=NAME (known names: {shortened(known, 20)})"
        return missing_column(self.source, role, self.names, known, fix)

    def read(self, line: int, text: str) -> None:
        """Read one row."""
        self.records.rows += 1
        cells = self._cells(text)
        if cells is None:
            self.records.damaged("wrong number of columns", line)
            return
        job = self._text(cells, "job")
        state = self._text(cells, "state").lower() or "unknown"
        if state in UNFINISHED:
            self.records.skip(NOT_FINISHED, line, job)
            return
        try:
            self._add(line, job, state, cells)
        except InputError:  # too many jobs
            raise
        except (ValueError, OverflowError):
            self.records.damaged("text where a number or a time is expected", line, job)

    def _cells(self, text: str) -> list[str] | None:
        quotes = '"' in text  # plain rows are split faster
        cells = quoted_cells(text, self.delimiter) if quotes else text.split(self.delimiter)
        return cells if len(cells) == len(self.names) else None

    def _text(self, cells: list[str], role: str) -> str:
        place = self.others[role]
        return "" if place is None else cells[place].strip()

    def _add(self, line: int, job: str, state: str, cells: list[str]) -> None:
        submit = self._time(cells, self.submit)
        start = self._time(cells, self.start)
        if self.start is None and self.wait is not None:
            start = submit + self._duration(cells[self.wait])
        if self.run is not None:
            run_time = self._duration(cells[self.run])
        else:
            run_time = self._time(cells, self.end) - start
        if math.isnan(run_time):
            early = state.startswith("cancel")
            self.records.skip(CANCELLED_EARLY if early else NEVER_STARTED, line, job)
            return
        width = self._number(cells[self.servers])
        if math.isnan(submit) or not width.is_integer():
            raise ValueError(job)
        requested = self._duration(self._text(cells, "requested_time"))
        user = self._text(cells, "user")
        label = ONE_CLASS if self.label is None else self.rule.label(cells[self.label])
        widths = (int(width),)
        self.records.add(line, job, submit, start, run_time, widths, requested, user, label, state)

    def _time(self, cells: list[str], place: int | None) -> float:
        return math.nan if place is None else self.clock.seconds(self._point(cells[place]))

    def _duration(self, cell: str) -> float:
        return duration_seconds(self._point(cell))

    def _number(self, cell: str) -> float:
        return float(self._point(cell))

    def _point(self, cell: str) -> str:
        """Return a cell with a decimal point; its comma cannot separate columns."""
        if self.delimiter != "," and "," in cell:
            return cell.replace(",", ".")
        return cell


def read_csv(
    lines: Iterable[tuple[int, str]],
    source: str,
    rule: ClassRule,
    columns: Mapping[str, str],
    *,
    count: str,
    most_classes: int,
) -> Trace:
    """Read the lines of a log."""
    reader: CsvReader | None = None
    comments: dict[str, str] = {}
    for line, text in lines:
        if text.startswith("#"):
            match = _COMMENT.fullmatch(text)
            if match is not None:
                comments[match[1]] = match[2]
        elif text.strip():
            if reader is None:
                reader = CsvReader(text, source, rule, columns, count)
            else:
                reader.read(line, text)
    if reader is None:
        raise InputError(f"{source} is empty; write a header such as submit,run_time,servers")
    return _with_comments(reader, comments, most_classes)


def _with_comments(reader: CsvReader, comments: Mapping[str, str], most_classes: int) -> Trace:
    typical = reader.records.typical_time
    if typical > MILLISECONDS:
        raise InputError(
            f"{reader.source}: submission times such as {typical:.15g} are not in seconds; divide "
            f"milliseconds by 1000"
        )
    origin = _origin(comments.get("origin", ""))
    if reader.clock.dates and not reader.clock.zoned:
        origin = LOCAL_EPOCH
    elif reader.clock.dates or typical > DATES:
        origin = UTC_EPOCH
    size = comments.get("servers", "")
    capacity = int(size) if size.isascii() and size.isdigit() and len(size) < LONGEST else None
    unit = comments.get("unit", "")
    trace = reader.records.trace(
        unit=reader.unit, most_classes=most_classes, capacity=capacity or None, origin=origin
    )
    return replace(trace, server_unit=unit) if unit in COUNTED else trace


def _origin(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
