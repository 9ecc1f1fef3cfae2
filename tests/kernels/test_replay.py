"""The kernel of the replay, compiled and as plain Python, against the naive version."""

from __future__ import annotations

import numpy as np
import pytest

import moldable.kernels
from moldable.policies import EvenPrice, IdleShare, Rigid
from moldable.traces.decision_rows import DecisionRows
from moldable.traces.schedule import schedule
from traces.replay_cases import kinds_of, naive_schedule, random_trace, submissions

SERVERS = 8


@pytest.mark.parametrize("discipline", ["easy", "fcfs"])
@pytest.mark.parametrize("policy", [Rigid(), EvenPrice(0.4, 3.0), IdleShare()])
def test_every_job_starts_as_in_the_naive_version(kernels, monkeypatch, discipline, policy):
    monkeypatch.setattr(moldable.kernels, "replay", kernels.replay)
    trace = random_trace(11, estimates="mixed")
    kinds = kinds_of(trace, SERVERS, rigid=isinstance(policy, Rigid))
    jobs = submissions(trace)
    found = schedule(jobs, DecisionRows(policy, kinds, SERVERS, len(trace)), discipline)
    start, width = naive_schedule(jobs, kinds, SERVERS, policy, discipline=discipline)
    assert np.array_equal(found.start, start)
    assert np.array_equal(found.width, width)


def test_filling_rows_on_the_way_gives_the_same_schedule_as_a_full_table(kernels, monkeypatch):
    monkeypatch.setattr(moldable.kernels, "replay", kernels.replay)
    trace = random_trace(12)
    kinds, jobs = kinds_of(trace, SERVERS), submissions(trace)
    rows = DecisionRows(EvenPrice(0.4, 3.0), kinds, SERVERS, len(trace))
    first = schedule(jobs, rows, "easy")
    needed = rows.used
    again = schedule(jobs, rows, "easy")
    assert rows.used == needed > 10
    assert np.array_equal(first.start, again.start)
    assert np.array_equal(first.width, again.width)


def test_the_longest_queue_is_counted(kernels, monkeypatch):
    monkeypatch.setattr(moldable.kernels, "replay", kernels.replay)
    trace = random_trace(13)
    kinds = kinds_of(trace, SERVERS, rigid=True)
    rows = DecisionRows(Rigid(), kinds, SERVERS, len(trace))
    found = schedule(submissions(trace), rows, "fcfs")
    # A job that starts at once is in the queue for a moment.
    waiting = [
        np.sum(
            (trace.submit[: job + 1] <= trace.submit[job])
            & (found.start[: job + 1] > trace.submit[job])
        )
        for job in range(len(trace))
    ]
    assert max(waiting) <= found.longest_queue <= max(waiting) + 1
