"""Writing traces: Standard Workload Format and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from moldable.checks import check_type, checked_path
from moldable.errors import InputError, printable
from moldable.text_files import write_whole
from moldable.traces.trace import Trace

COLUMNS: Final = (
    *("submit", "start", "run_time", "servers"),
    *("requested_time", "user", "class", "state"),
)
SWF_STATES: Final = {"completed": 1, "cancelled": 5, "unknown": -1}
"""Other states are written as 0, failed."""


def write_trace(trace: Trace, path: Path | str) -> None:
    r"""Write a trace as a CSV file or, if the name ends in .swf, in Standard Workload Format.

    Both can be read by `read_trace`. A CSV file keeps every digit and every name, with
    `class_by="class"`. In Standard Workload Format classes are applications
    (`class_by="application"`), and all states but "completed", "cancelled" and "unknown" are
    "failed".

    Args:
        trace: the jobs.
        path: name of the file, which is replaced if it exists.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n5,60,2\n35,90,4\n")
        >>> write_trace(read_trace("log.csv"), "log.swf")
        >>> read_trace("log.swf").submit.tolist()
        [0.0, 30.0]
    """
    check_type(trace, Trace, "trace", InputError, "read_trace('log.swf')")
    target = checked_path(path)
    text = _swf(trace) if target.name.lower().endswith(".swf") else _csv(trace)
    write_whole(target, text.encode(), "trace")


def _csv(trace: Trace) -> str:
    out = io.StringIO()
    if trace.capacity is not None:
        out.write(f"# servers: {trace.capacity}\n")
    if trace.origin is not None:
        out.write(f"# origin: {trace.origin.isoformat()}\n")
    out.write(f"# unit: {trace.server_unit}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for numbers, user, job_class, state in _jobs(trace):
        names = (" ".join(name.split()) for name in (user, job_class, state))
        writer.writerow([*(_figure(value, "") for value in numbers), *names])
    return out.getvalue()


def _swf(trace: Trace) -> str:
    lines = ["; Version: 2.2", f"; MaxJobs: {len(trace)}", f"; MaxRecords: {len(trace)}"]
    if trace.capacity is not None:
        lines.append(f"; MaxProcs: {trace.capacity}")
    if trace.origin is not None:
        lines += _dated(trace.origin)
    for kind, names in (("User", trace.users), ("Application", trace.classes)):
        lines += [f"; {kind}: {k} {printable(name)}" for k, name in enumerate(names, start=1)]
    users, classes = (trace.user + 1).tolist(), (trace.job_class + 1).tolist()
    for k, (numbers, _, _, state) in enumerate(_jobs(trace)):
        submit, start, run_time, servers, requested = numbers
        wait = start - submit
        cells = [k + 1, *(_figure(x, "-1") for x in (submit, wait, run_time, servers)), -1, -1]
        cells += [int(servers), _figure(requested, "-1"), -1, SWF_STATES.get(state, 0)]
        cells += [users[k], -1, classes[k], -1, -1, -1, -1]
        lines.append(" ".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def _dated(origin: datetime) -> list[str]:
    """Return the header lines of the date of time 0; local times are written as if in UTC."""
    moment = origin.replace(tzinfo=UTC) if origin.tzinfo is None else origin
    offset = moment.utcoffset()
    seconds = 0 if offset is None else int(offset.total_seconds())
    name = getattr(moment.tzinfo, "key", None)
    named = [] if name is None else [f"; TimeZoneString: {name}"]
    return [f"; UnixStartTime: {int(moment.timestamp())}", f"; TimeZone: {seconds}", *named]


def _jobs(trace: Trace) -> Iterator[tuple[tuple[float, ...], str, str, str]]:
    """Yield the numbers, the user, the class and the state of each job."""
    numbers = (trace.submit, trace.start, trace.run_time, trace.servers, trace.requested_time)
    rows = zip(*(column.tolist() for column in numbers), strict=True)
    indices = zip(trace.user.tolist(), trace.job_class.tolist(), trace.state.tolist(), strict=True)
    for row, (user, job_class, state) in zip(rows, indices, strict=True):
        yield row, trace.users[user], trace.classes[job_class], trace.states[state]


def _figure(value: float, unknown: str) -> str:
    """Write a number so that reading it back loses no digit."""
    if math.isnan(value):
        return unknown
    return str(int(value)) if value == int(value) else repr(value)
