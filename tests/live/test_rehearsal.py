"""Rehearsals decide like the live core, and have the performance that evaluation predicts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from live.clusters import Remembered, journal
from moldable import JobClass, Scenario, Workload, evaluate
from moldable.errors import InputError, WorkloadError
from moldable.live.decisions import Snapshot, WaitingJob, decide
from moldable.live.journal import read_journal
from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal
from moldable.policies import queue_value_policy

TWO = Scenario(
    Workload([JobClass("a", 3.0, [1, 1.8, 2.5]), JobClass("b", 1.0, {2: 1.7, 4: 3.0}, 2.0)]),
    8,
    waiting=3,
    time_unit="minutes",
)


def test_every_decision_is_the_one_of_the_live_core():
    policy = queue_value_policy(TWO)
    classes = {each.name: each for each in TWO.workload.classes}
    running: dict[str, tuple[str, int]] = {}
    waiting: list[WaitingJob] = []
    decided = Counter()
    known = {str(k): job for k, job in enumerate(poisson_jobs(TWO, 400, 1), start=1)}
    entries = list(rehearse(TWO, policy, known.values()))
    arrivals = sorted(((job.submitted, name) for name, job in known.items()))
    for entry in entries:
        while arrivals and arrivals[0][0] <= entry.time:
            name = arrivals.pop(0)[1]
            own = TWO.workload.classes[known[name].job_class]
            waiting.append(WaitingJob(name, own))
        if entry.event == "ended":
            assert running.pop(entry.job) == (entry.job_class, entry.width)
            continue
        held = {name: Counter() for name in classes}
        for name, width in running.values():
            held[name][width] += 1
        snapshot = Snapshot(TWO.servers, held, waiting=tuple(waiting))
        found = {each.job: each for each in decide(snapshot, policy, places=3)}[entry.job]
        assert (found.action, found.width) == (
            ("grant", entry.width) if entry.event == "granted" else ("block", 0)
        )
        waiting = [each for each in waiting if each.job != entry.job]
        if entry.event == "granted":
            assert (found.idle, found.waiting) == (entry.idle, entry.waiting)
            running[entry.job] = entry.job_class, entry.width
        decided[entry.event] += 1
    assert min(decided["granted"], decided["blocked"]) > 5
    assert sum(decided.values()) == 400
    assert not running


def test_waits_are_those_of_the_exact_chain():
    scenario = Scenario.single([1, 1.8, 2.5], 0.7, 6, waiting="unlimited")
    policy = queue_value_policy(scenario)
    expected = evaluate(scenario, policy).queueing.mean_wait

    def z(truth):
        means = [
            np.mean([e.time - e.submitted for e in journal(truth, known, 2000, s) if e.submitted])
            for s in range(24)
        ]
        return (np.mean(means) - expected) / (np.std(means, ddof=1) / 24**0.5)

    known = Remembered(policy)
    assert abs(z(scenario)) < 4
    assert z(scenario.at_load(0.8)) > 4  # the test has power


def test_a_journal_is_read_back_as_it_was_written(tmp_path):
    entries = list(rehearse(TWO, queue_value_policy(TWO), poisson_jobs(TWO, 100, 2), "3f2a"))
    write_journal(tmp_path / "journal.jsonl", entries)
    assert list(read_journal(tmp_path / "journal.jsonl")) == entries
    with pytest.raises(InputError, match="choose another name"):
        write_journal(tmp_path / "journal.jsonl", entries)


def test_jobs_arrive_at_the_rates_of_their_classes_in_the_unit_of_the_scenario():
    jobs = list(poisson_jobs(TWO, 20_000, 3, begin=100.0))
    assert jobs[0].submitted > 100.0
    gaps = np.diff([job.submitted for job in jobs])
    assert abs(gaps.mean() - 15.0) < 4 * 15.0 / 20_000**0.5  # four jobs a minute
    share = np.mean([job.job_class for job in jobs])
    assert abs(share - 0.25) < 4 * (0.25 * 0.75 / 20_000) ** 0.5
    sizes = np.array([job.size for job in jobs if job.job_class == 1])
    assert abs(sizes.mean() - 120.0) < 4 * 120.0 / sizes.size**0.5


def test_other_arrivals_than_poisson_are_refused():
    scenario = Scenario.single([1, 1.8], 0.5, 4, arrivals="renewal:2")
    with pytest.raises(WorkloadError, match="use poisson"):
        next(poisson_jobs(scenario, 1, 0))
