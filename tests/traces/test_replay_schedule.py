"""The schedules of a replay against the naive version, job by job."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import Greedy, Policy
from moldable.policies import EvenPrice, GreedyP, IdleShare, Rigid
from moldable.traces.decision_rows import DecisionRows
from moldable.traces.schedule import schedule
from traces.replay_cases import (
    KTH,
    kinds_of,
    make_trace,
    naive_schedule,
    random_trace,
    read_kth,
    submissions,
)

SERVERS = 8
POLICIES = {
    "even price": lambda _: EvenPrice(0.4, 3.0),
    "idle share": lambda _: IdleShare(),
    "greedy": lambda _: Greedy(),
    "random widths": lambda kinds: GreedyP({each.name: _mixed(each) for each in kinds.classes}),
    "holds": lambda _: Holds(),
}
ESTIMATES = ("equal", "long", "short", "mixed", "missing")


def _mixed(job_class):
    widths = job_class.speedup.widths
    return {int(w): 1.0 / widths.size for w in widths}


class Holds(Policy):
    """Waits for two servers more than the narrowest width while it can; looks at the queue."""

    def choose(self, job_class, observation):
        narrowest = int(job_class.speedup.widths[0])
        spare = observation.idle - narrowest
        return {0 if 0 <= spare < 2 and observation.idle < SERVERS else observation.idle: 1.0}


def both(trace, policy, *, discipline="easy", servers=SERVERS, **range_of):
    kinds = kinds_of(trace, servers, **range_of)
    policy = policy(kinds) if callable(policy) else policy
    jobs = submissions(trace)
    found = schedule(jobs, DecisionRows(policy, kinds, servers, len(trace)), discipline)
    return found, naive_schedule(jobs, kinds, servers, policy, discipline=discipline)


def assert_same(found, naive):
    assert np.array_equal(found.start, naive[0])
    assert np.array_equal(found.width, naive[1])


@pytest.mark.parametrize("discipline", ["easy", "fcfs"])
@pytest.mark.parametrize("estimates", ESTIMATES)
@pytest.mark.parametrize("whole", [True, False], ids=["coinciding", "distinct"])
def test_rigid_jobs_start_when_the_naive_version_starts_them(discipline, estimates, whole):
    for seed in range(6):
        trace = random_trace(seed, whole=whole, estimates=estimates)
        assert_same(*both(trace, Rigid(), discipline=discipline, rigid=True))


@pytest.mark.parametrize("discipline", ["easy", "fcfs"])
@pytest.mark.parametrize("estimates", ESTIMATES)
@pytest.mark.parametrize("name", POLICIES)
def test_moldable_jobs_start_when_and_as_wide_as_in_the_naive_version(discipline, estimates, name):
    for seed in range(4):
        trace = random_trace(seed, whole=seed % 2 == 0, estimates=estimates)
        shares = {"least": (0.25, 0.5, 1.0)[seed % 3], "most": (1.0, 2.0)[seed % 2]}
        assert_same(*both(trace, POLICIES[name], discipline=discipline, **shares))


@pytest.mark.parametrize("curves", ["1=1,2=1.9,4=3.5,8=6", "linear", "downey:2p:1", "power:0.7"])
def test_curves_with_gaps_and_relative_curves_agree_with_the_naive_version(curves):
    trace = random_trace(3)
    fits = np.flatnonzero(trace.servers != 3)
    for policy in (EvenPrice(0.4, 3.0), Greedy()):
        assert_same(*both(trace.select(fits), policy, curves=curves, least=0.25))


def test_backfill_changes_schedules_in_these_cases():
    differ = [
        not np.array_equal(
            *(
                both(random_trace(seed), Rigid(), discipline=each, rigid=True)[0].start
                for each in ("easy", "fcfs")
            )
        )
        for seed in range(6)
    ]
    assert all(differ)


@pytest.mark.skipif(not KTH.is_file(), reason=f"no log at {KTH}; set MOLDABLE_DATA to its folder")
@pytest.mark.parametrize(
    ("policy", "rigid"),
    [(Rigid(), True), (EvenPrice(0.4, 10.0), False)],
    ids=["rigid", "even price"],
)
def test_the_first_jobs_of_a_real_log_start_as_in_the_naive_version(policy, rigid):
    trace = read_kth(4000)
    assert_same(*both(trace, policy, servers=100, rigid=rigid, curves="downey:p:1"))


def test_servers_released_at_one_moment_are_offered_together():
    # Two jobs on 2 servers each end at 10; the one that waits could take 2 or 4.
    trace = make_trace([0, 0, 1], [10, 10, 10], [2, 2, 4], capacity=4)
    found, _ = both(trace, Greedy(), servers=4, curves="linear")
    assert found.start.tolist() == [0, 0, 10]
    assert found.width.tolist() == [2, 2, 4]


def test_servers_released_at_the_time_of_a_submission_go_to_jobs_that_wait():
    trace = make_trace([0, 1, 10], [10, 5, 5], [2, 2, 2], capacity=2)
    found, _ = both(trace, Rigid(), servers=2, rigid=True)
    assert found.start.tolist() == [0, 10, 15]


def test_a_short_job_is_backfilled_and_does_not_delay_the_head():
    # 1 server is idle until 10, when the head needs all 4; the third job ends by then.
    trace = make_trace([0, 1, 2, 3], [10, 5, 7, 8], [3, 4, 1, 1], capacity=4)
    found, _ = both(trace, Rigid(), servers=4, rigid=True)
    assert found.start.tolist() == [0, 10, 2, 15]


def test_a_job_that_would_delay_the_head_uses_only_servers_that_are_left_over():
    # At 10 the head needs 3 of 4 servers, so a long job on 1 may start now.
    trace = make_trace([0, 1, 2, 3], [10, 5, 70, 70], [2, 3, 1, 1], capacity=4)
    found, _ = both(trace, Rigid(), servers=4, rigid=True)
    assert found.start.tolist() == [0, 10, 2, 15]


class Narrowest(Policy):
    def decide(self, job_class, idle):  # noqa: ARG002
        return {int(job_class.speedup.widths[0]): 1.0}


@pytest.mark.parametrize(("run", "width"), [(9, 2), (4, 1), (11, 0)])
def test_a_job_is_widened_if_it_ends_in_time_only_then(run, width):
    # Job 0 holds 6 of 8 servers until 12, when job 1 needs all 8. From 2 to 12 job 2 may use the
    # other two: it would need 2 x run on one server, and run on two.
    trace = make_trace([0, 1, 2], [6, 5, run], [12, 16, 2], capacity=8)
    found, naive = both(trace, Narrowest(), curves="linear", servers=16)
    assert_same(found, naive)
    kinds = kinds_of(trace, 16, curves="linear")
    rows = DecisionRows(Narrowest(), kinds, 8, 3)
    found = schedule(submissions(trace), rows, "easy")
    assert found.start[:2].tolist() == [0, 12]
    assert (found.start[2] == 2) == (width > 0)
    assert found.width[2] == (width or 1)


def test_estimates_that_are_too_short_let_the_head_wait_but_kill_no_job():
    # The first job was to end at 5 and runs until 20; the head is expected to start any moment,
    # so nothing is backfilled that the head's servers would be needed for.
    trace = make_trace([0, 1, 6], [20, 5, 1], [3, 4, 1], requested=[5, 5, 1], capacity=4)
    found, _ = both(trace, Rigid(), servers=4, rigid=True)
    assert found.start.tolist() == [0, 20, 25]
    assert found.run_time.tolist() == [20, 5, 1]


def test_one_server_and_rigid_jobs_follow_lindleys_recursion():
    rng = np.random.default_rng(5)
    submit, run = np.cumsum(rng.exponential(1.0, 500)), rng.exponential(0.9, 500)
    trace = make_trace(submit, run, np.ones(500), capacity=1)
    found, _ = both(trace, Rigid(), servers=1, rigid=True)
    start = [submit[0]]
    for place in range(1, 500):
        start.append(max(submit[place], start[-1] + run[place - 1]))
    assert np.array_equal(found.start, start)
