"""Time to replay a log with EASY backfill, and how it grows with the length of the queue."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.table import Row, best_seconds
from moldable import Trace, read_trace
from moldable.policies import EvenPrice, Rigid
from moldable.policies.policy import Policy
from moldable.traces.decision_rows import DecisionRows
from moldable.traces.replay_setting import ReplayOptions, ReplaySetting, prepare
from moldable.traces.schedule import schedule

ROOT = Path(__file__).resolve().parents[1]
LOG = (
    Path(os.environ.get("MOLDABLE_DATA", ROOT.parent / "shared" / "data"))
    / "KTH-SP2-1996-2.1-cln.swf.gz"
)
SECOND = 1.0
"""Target seconds for one run of the log of KTH."""
QUEUES = (100, 1000, 10_000)
JOBS = 20_000
SERVERS = 100


def rows() -> list[Row]:
    """Time the log of KTH, where it is present, and generated logs with long queues."""
    return [*_kth(), *(_queue(length) for length in QUEUES)]


def _kth() -> list[Row]:
    if not LOG.is_file():
        return [Row("log of KTH-SP2", f"skipped: no file {LOG.name}", "")]
    setting = _setting(read_trace(LOG))
    found = []
    for name, policy in (("rigid", Rigid()), ("even price", EvenPrice(0.4, 10.0))):
        seconds, longest = _timed(setting, policy)
        what = f"KTH-SP2, {len(setting.trace):,} jobs, EASY, {name}, tables included"
        figure = f"{seconds:.2f} s, longest queue {longest:,}"
        found.append(Row(what, figure, f"below {SECOND:g} s", seconds < SECOND))
    return found


def _queue(length: int) -> Row:
    """Time jobs of which about `length` wait: that many are submitted at the start."""
    rng = np.random.default_rng(1)
    run = rng.exponential(1000.0, JOBS)
    wide = rng.choice([1, 2, 4, 8, 16, 32, 64], JOBS)
    # Each later submission comes when the cluster has finished about as much work as it brings.
    submit = np.cumsum(np.where(np.arange(JOBS) < length, 0.0, run * wide / (0.97 * SERVERS)))
    numbers = np.zeros(JOBS, np.int64)
    trace = Trace(
        submit=submit,
        start=np.full(JOBS, np.nan),
        run_time=run,
        servers=wide,
        requested_time=run * rng.choice([1.0, 2.0, 5.0], JOBS),
        users=("user",),
        user=numbers,
        classes=("jobs",),
        job_class=numbers,
        states=("completed",),
        state=numbers,
        capacity=SERVERS,
    )
    seconds, longest = _timed(_setting(trace), Rigid())
    figure = f"{1e6 * seconds / JOBS:.1f} µs per job"
    return Row(f"EASY, rigid, {JOBS:,} jobs, longest queue {longest:,}", figure, "")


def _setting(trace: Trace) -> ReplaySetting:
    return prepare(trace, "downey:p:1", ReplayOptions(None, 0.5, 1.0, "easy", 0.5, 0, 0.0, 1))


def _timed(setting: ReplaySetting, policy: Policy) -> tuple[float, int]:
    """Return the CPU seconds of one run with new tables, and the longest queue."""
    kinds = setting.rigid if isinstance(policy, Rigid) else setting.kinds
    queues = []

    def run() -> None:
        table = DecisionRows(policy, kinds, setting.servers, len(setting.trace))
        queues.append(schedule(setting.jobs, table, "easy").longest_queue)

    run()  # compiles the kernel
    return best_seconds(run, 3), queues[0]
