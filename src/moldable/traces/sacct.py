"""Slurm's accounting: the output of `sacct --parsable2`, with a header."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final, final

from moldable.errors import InputError
from moldable.traces.class_rule import ONE_CLASS, ClassRule
from moldable.traces.clock import Clock, duration_seconds
from moldable.traces.header import quoted_cells
from moldable.traces.records import (
    CANCELLED_EARLY,
    EARLIER_RUN,
    LOCAL_EPOCH,
    NEVER_STARTED,
    NOT_FINISHED,
    UTC_EPOCH,
    JobRecords,
)
from moldable.traces.sacct_columns import SacctColumns
from moldable.traces.slurm import (
    AUTOMATIC,
    MOSTLY,
    REQUEUED,
    UNFINISHED,
    UNITS,
    Resources,
    parse_tres,
    state_name,
)
from moldable.traces.trace import Trace

STEP: Final = "job step"
SORTED_BY: Final = {
    "user": ("user", "uid"),
    "group": ("group", "gid"),
    "account": ("account",),
    "partition": ("partition",),
    "queue": ("partition", "qos"),
    "application": ("jobname",),
    "name": ("jobname",),
    "comment": ("admincomment", "comment"),
}


@final
class SacctReader:
    """Reads rows of accounting; the header decides which columns are used."""

    def __init__(self, columns: SacctColumns, source: str, rule: ClassRule) -> None:
        self.columns = columns
        self.records = JobRecords(source, UNITS, requeues=True)
        self.clock = Clock()
        self.rule = rule
        find, need = columns.find, columns.require
        self.job = need(source, "the job", "JobID", "JobIDRaw")
        self.state = need(source, "the state", "State")
        self.submit = need(source, "the time of submission", "Submit")
        self.start, self.end = find("start"), find("end")
        self.user = find("user", "uid")
        self.elapsed = need(source, "the run time", "ElapsedRaw", "Elapsed", "End")
        if self.elapsed == self.end and self.start is None:
            need(source, "the run time", "ElapsedRaw", "Elapsed")
        self.cpus = find("alloccpus", "ncpus")
        self.nodes = find("allocnodes", "nnodes")
        self.tres, self.requested = find("alloctres"), find("reqtres")
        if {self.cpus, self.nodes, self.tres, self.requested} == {None}:
            need(source, "the servers of a job", "AllocCPUS", "AllocTRES", "AllocNodes")
        self.limit, self.raw_limit = find("timelimit"), find("timelimitraw")
        self.label = self._label(source)
        # Users write comments; the agent of an administrator writes the other one.
        self.comment = find("comment") if rule.field == "comment" else None
        self._states: dict[str, str] = {}
        self._resources: dict[str, Resources] = {}
        self._labels: dict[str, str] = {}

    def _label(self, source: str) -> int | None:
        if self.rule.field is None:
            return None
        names = SORTED_BY.get(self.rule.field, (self.rule.field,))
        if self.rule.field not in SORTED_BY and self.columns.find(*names) is None:
            raise InputError(
                f"{self.rule.text!r} cannot be used: sacct has no {self.rule.field}; choose one of "
                f"{', '.join(SORTED_BY)}",
                "class_by",
            )
        return self.columns.require(source, f"class_by={self.rule.text!r}", *names)

    def read(self, line: int, text: str) -> None:
        """Read one row."""
        self.records.rows += 1
        cells = self.cells(text)
        if cells is None:
            self.records.damaged("wrong number of columns", line)
            return
        job = cells[self.job]
        if "." in job:
            self.records.skip(STEP, line, job)
            return
        state = self._states.get(cells[self.state])
        if state is None:
            state = self._states[cells[self.state]] = state_name(cells[self.state])
        if state in UNFINISHED or state in REQUEUED:
            self.records.skip(EARLIER_RUN if state in REQUEUED else NOT_FINISHED, line, job)
            return
        try:
            self._add(line, job, state, cells)
        except InputError:  # too many jobs
            raise
        except (ValueError, OverflowError):
            self.records.damaged(f"{self._faulty(cells)} cannot be read", line, job)

    def cells(self, text: str) -> list[str] | None:
        """Return the cells of a row; some programs quote texts that contain commas."""
        if '"' in text and self.columns.delimiter in ",;\t":
            quoted = quoted_cells(text, self.columns.delimiter)
            if len(quoted) == len(self.columns.names):
                return quoted
        return self.columns.cells(text)

    def _add(self, line: int, job: str, state: str, cells: list[str]) -> None:
        clock = self.clock.seconds
        submit = clock(cells[self.submit])
        start = math.nan if self.start is None else clock(cells[self.start])
        if self.elapsed == self.end:
            run_time = clock(cells[self.end]) - start
        else:
            run_time = duration_seconds(cells[self.elapsed])
        if self.start is not None and math.isnan(start) and not run_time > 0.0:
            early = state == "cancelled"
            self.records.skip(CANCELLED_EARLY if early else NEVER_STARTED, line, job)
            return
        if math.isnan(submit) or math.isnan(run_time):
            raise ValueError(job)
        limit = math.nan
        if self.limit is not None:
            limit = duration_seconds(cells[self.limit])
        elif self.raw_limit is not None:
            limit = 60.0 * duration_seconds(cells[self.raw_limit])
        user = "" if self.user is None else cells[self.user]
        label = ONE_CLASS if self.label is None else self._class_of(self._told(cells))
        widths = self._widths(cells)
        self.records.add(line, job, submit, start, run_time, widths, limit, user, label, state)

    def _told(self, cells: list[str]) -> str:
        """Return what the class of a job is found in."""
        assert self.label is not None  # noqa: S101 - asked for only if it is used
        text = cells[self.label]
        return text if text or self.comment is None else cells[self.comment]

    def _class_of(self, value: str) -> str:
        label = self._labels.get(value)
        if label is None:
            label = self._labels[value] = self.rule.label(value)
        return label

    def _widths(self, cells: list[str]) -> Resources:
        text = "" if self.tres is None else cells[self.tres]
        if not text and self.requested is not None:
            text = cells[self.requested]
        found = self._resources.get(text)
        if found is None:
            found = self._resources[text] = parse_tres(text)
        cpus = found.cpus if self.cpus is None else int(cells[self.cpus] or 0)
        nodes = found.nodes if self.nodes is None else int(cells[self.nodes] or 0)
        return Resources(cpus, found.gpus, nodes)

    def _faulty(self, cells: list[str]) -> str:
        """Return the name of the first column that cannot be read."""
        time, duration = self.clock.seconds, duration_seconds
        checks: list[tuple[int | None, Callable[[str], float]]] = [
            (self.submit, _known(time)),
            (self.start, time),
            (self.elapsed, _known(time if self.elapsed == self.end else duration)),
            (self.limit, duration),
            (self.raw_limit if self.limit is None else None, duration),
            (self.cpus, lambda cell: int(cell or 0)),
            (self.nodes, lambda cell: int(cell or 0)),
        ]
        for place, parse in checks:
            if place is None:
                continue
            try:
                parse(cells[place])
            except (ValueError, OverflowError):
                return self.columns.names[place]
        return "a number"


def _known(parse: Callable[[str], float]) -> Callable[[str], float]:
    def known(cell: str) -> float:
        found = parse(cell)
        if math.isnan(found):
            raise ValueError(cell)
        return found

    return known


def read_sacct(
    lines: Iterable[tuple[int, str]],
    columns: SacctColumns,
    source: str,
    rule: ClassRule,
    *,
    count: str,
    most_classes: int,
) -> Trace:
    """Read the rows below the header."""
    reader = SacctReader(columns, source, rule)
    for line, text in lines:
        if text and not text.isspace():
            reader.read(line, text)
    unit = count_by(reader.records, count)
    local = reader.clock.dates and not reader.clock.zoned
    origin = LOCAL_EPOCH if local else UTC_EPOCH
    return reader.records.trace(unit=unit, most_classes=most_classes, origin=origin)


def count_by(records: JobRecords, count: str) -> str:
    """Return what is counted as servers: GPUs if most jobs have them, otherwise CPUs or nodes."""
    if count != AUTOMATIC:
        return count
    shares = {unit: records.share_with(unit) for unit in UNITS}
    unit = "cpus"
    if shares["gpus"] >= MOSTLY:
        unit = "gpus"
    elif shares["cpus"] == 0.0 and shares["nodes"] > 0.0:
        unit = "nodes"
    records.notes.append(
        f"servers are {unit}, which {100 * shares[unit]:.3g} % of the jobs have; choose another "
        f"unit by --count"
    )
    return unit
