"""What a `MoldableExecutor` does on every back end."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import wait
from pathlib import Path

import pytest

from executor_tasks import LONGEST, die, fail, nap, until
from moldable import Greedy, JobClass, Scenario, Workload
from moldable.live import Blocked, MoldableExecutor, Snapshot, WaitingJob, decide
from moldable.live.journal import read_journal

SERVERS = 6
CLASSES = (JobClass("solver", 1.0, [1, 1.8, 2.5]), JobClass("train", 1.0, {1: 1.0, 2: 1.8}))


def scenario(waiting="unlimited", servers=SERVERS):
    return Scenario(Workload(CLASSES), servers, waiting=waiting)


def wait_for(path, timeout=LONGEST):
    end = time.monotonic() + timeout
    while not Path(path).exists():
        assert time.monotonic() < end, path
        time.sleep(0.02)


def peak(runs):
    """Return the largest number of servers in use at the same time."""
    busy = most = 0
    events = [(run[0], run[2]) for run in runs] + [(run[1], -run[2]) for run in runs]
    for _, change in sorted(events):
        busy += change
        most = max(most, busy)
    return most


def check_journal(path, policy, servers, classes=CLASSES):
    """Compare every decision of a journal with that of `decide`; return the widths of the jobs."""
    known = {job_class.name: job_class for job_class in classes}
    held, widths, order = {}, {}, deque()
    for entry in read_journal(path):
        if entry.event == "ended":
            name, got = held.pop(entry.job)
            assert (entry.job_class, entry.width) == (name, got)
            continue
        running = {}
        for name, got in held.values():
            row = running.setdefault(name, {})
            row[got] = row.get(got, 0) + 1
        job = WaitingJob(entry.job, known[entry.job_class])
        snapshot = Snapshot(servers, running, {}, (job,), entry.waiting)
        (instruction,) = decide(snapshot, policy, places=0)
        assert (entry.idle, entry.width) == (instruction.idle, instruction.width)
        if entry.event == "granted":
            held[entry.job] = entry.job_class, entry.width
            widths[entry.job] = entry.width
            order.append(int(entry.job))
    assert not held
    assert list(order) == sorted(order)  # first come, first served
    return widths


class Conformance:
    """The tests; a subclass has the fixture `backend`, with SERVERS servers."""

    tasks = 12
    """Number of tasks of the largest test."""

    def test_servers_are_never_exceeded_and_each_task_knows_its_width(self, backend, tmp_path):
        go, journal = tmp_path / "go", tmp_path / "journal.jsonl"
        with MoldableExecutor(
            Greedy(), SERVERS, backend, scenario=scenario(), journal=journal
        ) as executor:
            names = [CLASSES[number % 2].name for number in range(self.tasks)]
            futures = [executor.submit(nap, after=str(go), job_class=name) for name in names]
            assert executor.waiting
            go.touch()
            runs = [future.result(LONGEST) for future in futures]
            assert (executor.idle, executor.waiting) == (SERVERS, 0)
        assert 1 < peak(runs) <= SERVERS
        widths = check_journal(journal, Greedy(), SERVERS)
        assert [run[2] for run in runs] == [widths[str(number + 1)] for number in range(self.tasks)]
        assert len(set(widths.values())) > 1
        assert all(run[3] == str(run[2]) for run in runs)

    def test_cancelled_and_failed_tasks_free_their_servers(self, backend, tmp_path):
        go, journal = tmp_path / "go", tmp_path / "journal.jsonl"
        with MoldableExecutor(
            Greedy(), SERVERS, backend, scenario=scenario(), journal=journal
        ) as executor:
            running = [executor.submit(until, str(go), job_class="solver") for _ in range(2)]
            cancelled = executor.submit(nap, job_class="solver")
            failed = executor.submit(fail, job_class="train")
            wait_for(go.with_suffix(".started"))
            assert (executor.idle, executor.waiting) == (0, 2)
            assert not running[0].cancel()
            assert cancelled.cancel()
            assert executor.waiting == 1
            go.touch()
            assert type(failed.exception(LONGEST)) is LookupError
            assert "in fail" in failed.exception().__notes__[0]  # the traceback in the worker
            wait(running, LONGEST)
            assert executor.submit(nap, 0, job_class="solver").result(LONGEST)[2] == 3
        check_journal(journal, Greedy(), SERVERS)
        states = [entry.state for entry in read_journal(journal) if entry.event == "ended"]
        assert sorted(states) == ["completed", "completed", "completed", "failed"]

    def test_without_waiting_places_a_task_that_finds_no_server_is_blocked(self, backend, tmp_path):
        go = tmp_path / "go"
        with MoldableExecutor(Greedy(), SERVERS, backend, scenario=scenario(0)) as executor:
            running = [executor.submit(until, str(go), job_class="solver") for _ in range(2)]
            blocked = executor.submit(nap, job_class="train")
            with pytest.raises(Blocked, match="found 0 idle servers"):
                blocked.result(LONGEST)
            go.touch()
            wait(running, LONGEST)
            assert executor.submit(nap, 0, job_class="train").result(LONGEST)[2] == 2

    def test_a_task_whose_worker_dies_frees_its_servers(self, backend, tmp_path):
        journal = tmp_path / "journal.jsonl"
        with MoldableExecutor(
            Greedy(), SERVERS, backend, scenario=scenario(), journal=journal
        ) as executor:
            lost = executor.submit(die, job_class="solver")
            other = executor.submit(nap, 0.5, job_class="solver")
            error = lost.exception(LONGEST)
            assert error is not None
            assert not isinstance(error, TimeoutError)
            assert other.result(LONGEST)[2] == 3
            assert executor.idle == SERVERS
            assert executor.submit(nap, 0, job_class="solver").result(LONGEST)[2] == 3
        check_journal(journal, Greedy(), SERVERS)
        states = {e.job: e.state for e in read_journal(journal) if e.event == "ended"}
        assert states == {"1": "lost", "2": "completed", "3": "completed"}
