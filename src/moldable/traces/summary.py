"""What a log says about jobs, arrivals and waits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Ints
from moldable.base_result import Result, Row, finite
from moldable.checks import check_type, checked_int
from moldable.errors import InputError
from moldable.traces.calendar import Period, first_date, hours_of
from moldable.traces.class_summary import (
    ClassSummary,
    Waits,
    class_summary,
    interarrival_cv,
    rate,
)
from moldable.traces.trace import Skipped, Trace

SERVERS_FROM: Final = {
    "given": "as given",
    "log": "from the log",
    "peak": "the most in use at a time",
}
"""How the size of the cluster is known, in words."""


@final
@dataclass(frozen=True, repr=False)
class TraceSummary(Result):
    r"""Statistics of the jobs, arrivals and waits of a log; all times are in seconds.

    Attributes:
        source: name of the file.
        jobs: number of jobs.
        servers: size of the cluster.
        servers_from: how it is known: "given", "log" or "peak", the most in use at once.
        server_unit: what is counted as a server.
        begins: date of the first submission, if known.
        span: time from the first submission to the last.
        offered_load: server-time of all jobs / (servers x span); NaN if the span is 0.
        utilisation: share of the server-time between the first and the last submission that was
            used; None if no start is known.
        waits: recorded waits, if known.
        arrival_rate: jobs per second.
        interarrival_cv: coefficient of variation of the times between submissions.
        dispersion: variance / mean of the jobs submitted in one hour; 1 for Poisson arrivals.
        by_hour: arrivals by hour of the day; empty if the log has no dates.
        by_weekday: arrivals by day of the week; empty if the log has no dates.
        classes: the classes, the most frequent first.
        states: number of jobs by final state.
        skipped: rows that were left out.
        notes: what else a reader should know.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n60,30,1\n")
        >>> summary = summarise(read_trace("log.csv"), servers=10)
        >>> summary.jobs, summary.offered_load
        (3, 0.85)
    """

    source: str
    jobs: int
    servers: int
    servers_from: str
    server_unit: str
    begins: str | None
    span: float
    offered_load: float
    utilisation: float | None
    waits: Waits | None
    arrival_rate: float
    interarrival_cv: float
    dispersion: float
    by_hour: tuple[Period, ...]
    by_weekday: tuple[Period, ...]
    classes: tuple[ClassSummary, ...]
    states: Mapping[str, int]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        plain = ("jobs", "servers", "servers_from", "server_unit", "begins", "span", "utilisation")
        numbers = ("offered_load", "arrival_rate", "interarrival_cv", "dispersion")
        return {
            **{name: getattr(self, name) for name in plain},
            **{name: finite(getattr(self, name)) for name in numbers},
            "waits": None if self.waits is None else self.waits.to_dict(),
            "by_hour": [_period(each) for each in self.by_hour],
            "by_weekday": [_period(each) for each in self.by_weekday],
            "classes": [part.to_dict() for part in self.classes],
            "states": dict(self.states),
            "skipped": [
                {"reason": each.reason, "count": each.count, "examples": list(each.examples)}
                for each in self.skipped
            ],
            "notes": list(self.notes),
            "inputs": {"source": self.source},
        }

    def table(self) -> list[Row]:
        """Return a row for each class."""
        return [
            {
                "class": part.name,
                "jobs": part.jobs,
                "work_share": part.work_share,
                "arrival_rate": part.arrival_rate,
                "mean_run_time": part.run_time.mean,
                "run_time_cv": part.run_time.cv,
                "mean_width": part.mean_width,
                "mean_wait": None if part.waits is None else part.waits.mean,
            }
            for part in self.classes
        ]

    def __repr__(self) -> str:
        return (
            f"TraceSummary({self.source!r}: {self.jobs} jobs in {len(self.classes)} classes over "
            f"{self.span:.6g} s, offered load {self.offered_load:.4g} on {self.servers} "
            f"{self.server_unit})"
        )


def summarise(trace: Trace, *, servers: int | None = None) -> TraceSummary:
    r"""Describe the jobs, arrivals and waits of a log.

    Args:
        trace: the log.
        servers: size of the cluster; by default what the log says, or the most servers that were
            in use at a time.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n")
        >>> summarise(read_trace("log.csv")).servers
        6
    """
    check_type(trace, Trace, "trace", InputError, "read_trace('log.swf')")
    if not len(trace):
        raise InputError("the trace has no jobs; choose at least one")
    size, known = cluster_size(trace, servers)
    submit = trace.submit - trace.submit[0]
    span = float(submit[-1])
    work = trace.run_time * trace.servers
    begins = first_date(trace)
    hours = hours_of(submit, begins)
    dated = hours is not None and begins is not None
    present = np.unique(trace.job_class).tolist()
    return TraceSummary(
        source=trace.source,
        jobs=len(trace),
        servers=size,
        servers_from=known,
        server_unit=trace.server_unit,
        begins=None if begins is None else begins.isoformat(),
        span=span,
        offered_load=float(work.sum()) / (size * span) if span > 0.0 else math.nan,
        utilisation=_utilisation(trace, size, span),
        waits=Waits.of(trace.wait),
        arrival_rate=rate(len(trace), span),
        interarrival_cv=interarrival_cv(submit),
        dispersion=math.nan if hours is None else hours.dispersion,
        by_hour=hours.by_hour() if hours is not None and dated else (),
        by_weekday=hours.by_weekday() if hours is not None and dated else (),
        classes=tuple(class_summary(trace, k, span, float(work.sum())) for k in present),
        states=_tally(trace.states, trace.state),
        skipped=trace.skipped,
        notes=trace.notes,
    )


def cluster_size(trace: Trace, servers: int | None = None) -> tuple[int, str]:
    """Return the number of servers, and whether it was "given", is in the "log" or the "peak"."""
    widest = int(trace.servers.max())
    if servers is not None:
        given = checked_int(servers, "servers", InputError)
        if given < widest:
            raise InputError(
                f"{given} is less than the {widest} {trace.server_unit} of the widest job; give at "
                f"least that many",
                "servers",
            )
        return given, "given"
    if trace.capacity is not None and trace.capacity >= widest:
        return trace.capacity, "log"
    return peak_use(trace), "peak"


def peak_use(trace: Trace) -> int:
    """Return the most servers in use at a time; jobs with an unknown start begin at submission."""
    start = np.where(np.isnan(trace.start), trace.submit, trace.start)
    times = np.concatenate((start, start + trace.run_time))
    change = np.concatenate((trace.servers, -trace.servers))
    # At equal times servers are released before they are taken.
    order = np.lexsort((change, times))
    return int(np.cumsum(change[order]).max())


def _utilisation(trace: Trace, servers: int, span: float) -> float | None:
    known = ~np.isnan(trace.start)
    if not known.any() or span <= 0.0:
        return None
    begin, end = trace.submit[0], trace.submit[0] + span
    start = trace.start[known]
    used = np.clip(start + trace.run_time[known], begin, end) - np.clip(start, begin, end)
    return float((used * trace.servers[known]).sum() / (servers * span))


def _tally(names: tuple[str, ...], index: Ints) -> dict[str, int]:
    counts = np.bincount(index, minlength=len(names)).tolist()
    pairs = [(name, jobs) for name, jobs in zip(names, counts, strict=True) if jobs]
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _period(period: Period) -> dict[str, Any]:
    return {
        "name": period.name,
        "jobs_per_hour": finite(period.rate),
        "dispersion": finite(period.dispersion),
    }
