"""Journal entries of the past: from a journal, or from Slurm's accounting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from moldable.checks import checked_path
from moldable.errors import InputError
from moldable.live.journal import Entry, State, read_journal
from moldable.text_files import STANDARD_INPUT, open_regular, standard_input_begins
from moldable.traces.read import read_trace
from moldable.traces.trace import Trace

CLASS_BY: Final = r"comment:moldable:(?:class=)?([^;|\s]+)"
"""Where the class of a job is written in the accounting of Slurm."""
MOST_CLASSES: Final = 1000
_STATES: Final[dict[str, State]] = {"completed": "completed", "cancelled": "cancelled"}


def past_entries(log: Path | str, *, count: str = "auto") -> Iterator[Entry]:
    """Yield the entries of a journal, or of the jobs in the output of sacct in the order of time.

    Accounting does not tell idle servers, waiting jobs and blocked jobs: the former are 0 in its
    entries.

    Args:
        log: journal written by the live commands, or the output of sacct --parsable2 with the
            column Comment or AdminComment; "-" is standard input.
        count: what is counted as servers of a Slurm job, as for `read_trace`.

    Examples:
        >>> Journal("decisions.jsonl").ended("17", "solver", width=4, started=0.0,
        ...     state="completed", plan="3f2a")
        >>> [entry.state for entry in past_entries("decisions.jsonl")]
        ['completed']
    """
    path = checked_path(log)
    if is_journal(path):
        yield from read_journal(path)
    else:
        yield from _entries(read_slurm_log(path, count))


def is_journal(path: Path) -> bool:
    """Return whether the first line is an object of JSON. Standard input is not consumed."""
    if path == STANDARD_INPUT:
        return standard_input_begins().lstrip().startswith(b"{")
    with open_regular(path) as file:
        return file.read(4096).lstrip()[:1] in (b"{", b"")


def read_slurm_log(path: Path, count: str) -> Trace:
    """Read the output of sacct; the classes of the jobs are in their comments."""
    return read_trace(path, class_by=CLASS_BY, count=count, most_classes=MOST_CLASSES)


def _entries(trace: Trace) -> Iterator[Entry]:
    """Yield the start and the end of each job; a job that ends when another starts comes first."""
    if np.isnan(trace.start).any():
        raise InputError(f"{trace.source} has no start times; add Start to sacct --format")
    jobs = np.arange(len(trace))
    times = np.concatenate((trace.start + trace.run_time, trace.start))
    order = np.lexsort((np.concatenate((0 * jobs, 0 * jobs + 1)), times))
    for place in order.tolist():
        job, starts = place % jobs.size, place >= jobs.size
        name, width = trace.classes[trace.job_class[job]], int(trace.servers[job])
        submitted, started = float(trace.submit[job]), float(trace.start[job])
        if starts:
            yield Entry(started, "granted", str(job), name, width, "", 0, 0, submitted)
        else:
            state = _STATES.get(trace.states[trace.state[job]], "failed")
            ended = float(times[job])
            yield Entry(ended, "ended", str(job), name, width, "", started=started, state=state)
