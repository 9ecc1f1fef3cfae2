"""Jobs whose ends are missing in a journal do not run for ever."""

from __future__ import annotations

from moldable.live.journal import Entry
from moldable.live.running_jobs import RunningJobs


def granted(job, width, idle, time=0.0):
    return Entry(time, "granted", job, "solver", width, "", idle=idle, waiting=0, submitted=0.0)


def names(running, *entries):
    """Add entries, and return the start times of the jobs that must have ended at each."""
    return [[job.started for job in running.granted(entry)] for entry in entries]


def test_the_oldest_jobs_have_ended_where_more_servers_are_idle_than_the_known_jobs_leave():
    running = RunningJobs(16)
    entries = [granted("a", 4, 16, 1.0), granted("b", 3, 12, 2.0), granted("c", 5, 9, 3.0)]
    assert names(running, *entries) == [[], [], []]
    assert running.ended("b").width == 3
    assert names(running, granted("d", 2, 8, 4.0)) == [[1.0]]  # 16 - 5 are idle at most
    assert [job.started for job in running.all()] == [3.0, 4.0]
    assert running.lost == 1
    assert running.ended("a") is None  # it had not ended, but another one
    assert running.lost == 0


def test_an_empty_cluster_has_no_running_jobs():
    running = RunningJobs(16)
    names(running, *(granted(str(k), 1, 16 - k, float(k)) for k in range(9)))
    assert names(running, granted("x", 1, 16)) == [[float(k) for k in range(9)]]


def test_a_name_that_comes_again_is_another_job():
    running = RunningJobs(16)
    assert names(running, granted("1", 4, 16, 1.0), granted("1", 4, 12, 2.0)) == [[], [1.0]]
    assert len(running.all()) == 1


def test_more_servers_than_planned_may_be_idle():
    running = RunningJobs(16)
    entries = [granted("a", 4, 20), granted("b", 4, 16), granted("c", 4, 12)]
    assert names(running, *entries) == [[], [], []]


def test_widths_beyond_all_servers_leave_nothing_behind():
    running = RunningJobs(16)
    assert names(running, granted("a", 10**14, 0, 1.0), granted("b", 1, 16)) == [[], [1.0]]
