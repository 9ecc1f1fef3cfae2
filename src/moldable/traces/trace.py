"""The jobs of a log as arrays, in the order of submission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import shown


@final
@dataclass(frozen=True, slots=True)
class Skipped:
    r"""Rows of a log that are not jobs of the trace, for one reason.

    Args:
        reason: why they were left out, such as "no run time".
        count: how many.
        examples: the first few, as line numbers and job identifiers.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,0,4\n")
        >>> read_trace("log.csv").skipped
        (Skipped(reason='run time of 0 s', count=1, examples=('line 3',)),)
    """

    reason: str
    count: int
    examples: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    r"""The jobs of a log, in the order of submission. All times are in seconds.

    Args:
        submit: time of submission, from 0.
        start: time at which the job started, on the same clock; NaN where the log does not have it.
        run_time: execution time on the recorded servers, above 0.
        servers: servers that the job was given, at least 1.
        requested_time: the user's estimate of the run time; NaN where there is none.
        users: names of the users.
        user: index into `users`, by job.
        classes: names of the classes.
        job_class: index into `classes`, by job.
        states: names of the final states, such as "completed" and "failed".
        state: index into `states`, by job.
        capacity: servers of the cluster, if the log has them.
        origin: date and time of submission time 0, if the log has dates.
        source: name of the file.
        skipped: rows that were left out.
        server_unit: what is counted as a server: "servers", "cpus", "gpus" or "nodes".
        notes: what else a reader should know, such as how the servers were counted.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n")
        >>> trace = read_trace("log.csv")
        >>> trace
        Trace('log.csv': 2 jobs in 1 class over 30 s)
        >>> trace.servers.tolist()
        [2, 4]
    """

    submit: Floats
    start: Floats
    run_time: Floats
    servers: Ints
    requested_time: Floats
    users: tuple[str, ...]
    user: Ints
    classes: tuple[str, ...]
    job_class: Ints
    states: tuple[str, ...]
    state: Ints
    capacity: int | None = None
    origin: datetime | None = None
    source: str = ""
    skipped: tuple[Skipped, ...] = ()
    server_unit: str = "servers"
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.submit.size)

    def __repr__(self) -> str:
        named = f"{shown(self.source)}: " if self.source else ""
        kinds = "1 class" if len(self.classes) == 1 else f"{len(self.classes)} classes"
        span = f" over {self.span:.6g} s" if len(self) else ""
        return f"Trace({named}{len(self):,} jobs in {kinds}{span})"

    def select(self, chosen: Sequence[int] | Ints | slice) -> Self:
        """Return the chosen jobs, on the same clock and with the same names."""
        arrays = {
            each.name: getattr(self, each.name)[chosen]
            for each in fields(self)
            if isinstance(getattr(self, each.name), np.ndarray)
        }
        return replace(self, **arrays)

    @property
    def wait(self) -> Floats:
        """Time between submission and start, NaN where the start is not known."""
        return self.start - self.submit

    @property
    def span(self) -> float:
        """Time from the first submission to the last."""
        return float(self.submit[-1] - self.submit[0])
