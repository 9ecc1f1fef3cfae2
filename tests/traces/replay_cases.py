"""Small random logs, and the log of KTH, for the tests of the replay."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from moldable import Observation
from moldable.policies.rigid import Rigid
from moldable.traces.request_curves import curves_of
from moldable.traces.request_kinds import request_kinds, rigid_kinds
from moldable.traces.schedule import Submissions
from moldable.traces.trace import Trace
from naive import easy

ROOT = Path(__file__).resolve().parents[2]
KTH = (
    Path(os.environ.get("MOLDABLE_DATA", ROOT.parent / "shared" / "data"))
    / "KTH-SP2-1996-2.1-cln.swf.gz"
)


def make_trace(
    submit, run_time, servers, *, requested=None, classes=("jobs",), labels=None, **more
):
    """Return a trace whose starts are not known."""
    count = len(submit)
    numbers = np.zeros(count, np.int64)
    requested = np.full(count, np.nan) if requested is None else np.asarray(requested, float)
    return Trace(
        submit=np.asarray(submit, float),
        start=np.asarray(more.pop("start", np.full(count, np.nan)), float),
        run_time=np.asarray(run_time, float),
        servers=np.asarray(servers, np.int64),
        requested_time=requested,
        users=("someone",),
        user=numbers,
        classes=classes,
        job_class=numbers if labels is None else np.asarray(labels, np.int64),
        states=("completed",),
        state=numbers,
        **more,
    )


def random_trace(seed, jobs=60, servers=8, *, whole=True, estimates="long"):
    """Return a crowded log; whole numbers make many events coincide."""
    rng = np.random.default_rng(seed)
    gaps = rng.integers(0, 4, jobs) if whole else rng.exponential(1.5, jobs)
    run = rng.integers(1, 9, jobs) if whole else rng.exponential(4.0, jobs) + 0.01
    factor = {
        "equal": np.ones(jobs),
        "long": rng.integers(1, 5, jobs) if whole else 1.0 + rng.exponential(1.0, jobs),
        "short": rng.choice([0.25, 0.5, 1.0], jobs),
        "mixed": rng.choice([0.25, 1.0, 3.0, np.nan], jobs),
        "missing": np.full(jobs, np.nan),
    }[estimates]
    wide = rng.choice([1, 1, 2, 3, 4, servers], jobs)
    return make_trace(
        np.cumsum(gaps),
        run,
        wide,
        requested=run * factor,
        classes=("a", "b"),
        labels=rng.integers(0, 2, jobs),
        capacity=servers,
    )


def kinds_of(trace, servers, *, curves="amdahl:0.9", least=0.5, most=1.0, rigid=False):
    found = request_kinds(trace, curves_of(trace, curves), servers, least, most)
    return rigid_kinds(found) if rigid else found


def submissions(trace, seed=0):
    asked = trace.requested_time
    estimate = np.where(asked > 0.0, asked, trace.run_time)
    draw = np.random.default_rng(seed).random(len(trace))
    return Submissions(trace.submit, trace.run_time, estimate, draw)


def naive_schedule(jobs, kinds, servers, policy, *, discipline):
    """Replay with lists; the policy is asked directly, without a table."""
    own, known = [], {}
    for place in range(len(jobs)):
        kind = int(kinds.of_job[place])
        speed = kinds.whole_curves[kind][int(kinds.requests[kind])]
        curve = kinds.curves[kind]
        stretch = {
            int(width): speed / float(speedup)
            for width, speedup in zip(curve.widths, curve.speedups, strict=True)
        }
        own.append(
            easy.Job(
                float(jobs.submit[place]),
                float(jobs.run_time[place]),
                float(jobs.estimate[place]),
                stretch,
            )
        )
    order = {id(job): place for place, job in enumerate(own)}

    def grant(job, idle, behind):
        place = order[id(job)]
        kind = int(kinds.of_job[place])
        u = float(jobs.draw[place])
        key = (kind, idle, behind, None if isinstance(policy, Rigid) else u)
        if key not in known:
            known[key] = policy.grant(kinds.classes[kind], Observation(idle, behind), u)
        return known[key]

    easy.replay(own, servers, grant, easy=discipline == "easy", adjusts=not policy.strict)
    return np.array([job.start for job in own]), np.array([job.width for job in own])


def read_kth(jobs=None):
    """Return the jobs of the log that ran on servers, in the order of submission."""
    with gzip.open(KTH, "rt") as lines:
        rows = [line.split()[:18] for line in lines if line.strip() and not line.startswith(";")]
    table = np.array(rows, dtype=float)
    table = table[np.argsort(table[:, 1], kind="stable")]
    servers = np.where(table[:, 4] > 0, table[:, 4], table[:, 7])
    table, servers = (
        table[(table[:, 3] > 0) & (servers > 0)],
        servers[(table[:, 3] > 0) & (servers > 0)],
    )
    table, servers = table[:jobs], servers[:jobs]
    submit = table[:, 1] - table[0, 1]
    return make_trace(
        submit,
        table[:, 3],
        servers,
        requested=np.where(table[:, 8] > 0, table[:, 8], np.nan),
        start=submit + table[:, 2],
        capacity=100,
        source="KTH-SP2",
    )
