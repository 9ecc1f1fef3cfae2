"""Read the input of a report: a journal of decisions, or Slurm's accounting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from moldable.errors import InputError
from moldable.live.journal import read_journal
from moldable.live.past_jobs import is_journal, read_slurm_log
from moldable.live.report.observed import COMPLETED, Observed
from moldable.traces.trace import Trace

TOLD: Final = 500_000
"""Entries of a journal between two reports of progress."""


def observe(
    seen: Observed, path: Path, count: str, progress: Callable[[str], None]
) -> tuple[str, ...]:
    """Add the jobs of a journal or of sacct's output, and return notes about them."""
    progress(f"reading {path}")
    if is_journal(path):
        for number, entry in enumerate(read_journal(path), start=1):
            seen.add(entry)
            if number % TOLD == 0:
                progress(f"reading {path}: {number:,} entries")
        notes: tuple[str, ...] = ()
    else:
        trace = read_slurm_log(path, count)
        add_trace(seen, trace)
        missing = [f"{each.count:,} rows left out: {each.reason}" for each in trace.skipped]
        notes = (*trace.notes, *missing)
    seen.finish()
    if not seen.decisions:
        raise InputError(
            f"{path} has no job of the plan's classes ({', '.join(seen.classes)}); check that log "
            f"and plan belong together"
        )
    return notes


def add_trace(seen: Observed, trace: Trace) -> None:
    """Add the jobs of a log of sacct; it does not tell which jobs were blocked."""
    seen.tells_blocking = False
    seen.tells_waits = not np.isnan(trace.start).any()
    known = np.array([name in seen.classes for name in trace.classes])[trace.job_class]
    seen.outside += int((~known).sum())
    trace = trace.select(np.flatnonzero(known))
    pairs, place = np.unique(
        np.column_stack((trace.job_class, trace.servers)), axis=0, return_inverse=True
    )
    kind = np.array([seen.kind_of(trace.classes[j], w) for j, w in pairs.tolist()], dtype=np.int64)
    kinds = kind[place.reshape(-1)]
    good = np.array([state == COMPLETED for state in trace.states])[trace.state]
    seen.add_jobs(kinds, trace.submit, np.nan_to_num(trace.wait))
    seen.add_runs(kinds, trace.run_time, good.astype(np.float64))
