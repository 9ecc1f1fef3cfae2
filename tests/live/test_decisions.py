"""Decisions about waiting jobs: what a snapshot leads to, and what no order of events can break."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moldable.errors import PolicyError
from moldable.live.decisions import Snapshot, WaitingJob, count_jobs, decide, uniform
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.even_price import EvenPrice
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.greedy import Greedy
from moldable.policies.idle_share import IdleShare
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.policies.thresholds import Thresholds

SMALL = JobClass("small", 1.0, [1, 1.8, 2.5, 3, 3.4])
WIDE = JobClass("wide", 1.0, {4: 3.1, 8: 5.0})
DRAWN = Thresholds({"small": {1: 1, 3: {1: 0.5, 3: 0.5}}, "wide": {4: 4}})


def waiting(*names, job_class=SMALL):
    return tuple(WaitingJob(name, job_class) for name in names)


def actions(instructions):
    return [(found.action, found.job, found.width) for found in instructions]


def test_jobs_are_granted_in_order_until_no_server_is_left():
    found = decide(Snapshot(8, waiting=waiting("a", "b", "c")), Greedy())
    assert actions(found) == [("grant", "a", 5), ("grant", "b", 3), ("wait", "c", 0)]
    assert [(i.idle, i.waiting) for i in found] == [(8, 2), (3, 1), (0, 0)]


def test_a_job_never_overtakes_one_that_waits_although_it_would_fit():
    queue = (WaitingJob("a", WIDE), WaitingJob("b", SMALL))
    assert actions(decide(Snapshot(3, waiting=queue), Greedy())) == [
        ("wait", "a", 0),
        ("wait", "b", 0),
    ]


def test_released_jobs_hold_their_servers():
    snapshot = Snapshot(8, running={"x": {2: 2}}, released={"x": {1: 2}}, waiting=waiting("a"))
    assert snapshot.idle == 2
    assert actions(decide(snapshot, Greedy())) == [("grant", "a", 2)]


def test_more_held_than_usable_leaves_nothing_idle():
    snapshot = Snapshot(4, running={"other": {6: 1}}, waiting=waiting("a"))
    assert actions(decide(snapshot, Greedy())) == [("wait", "a", 0)]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (0, [("grant", "a", 1), ("block", "b", 0), ("block", "c", 0)]),
        (1, [("grant", "a", 1), ("wait", "b", 0), ("block", "c", 0)]),
        (math.inf, [("grant", "a", 1), ("wait", "b", 0), ("wait", "c", 0)]),
    ],
)
def test_jobs_beyond_the_waiting_places_are_blocked(places, expected):
    snapshot = Snapshot(1, waiting=waiting("a", "b", "c"))
    assert actions(decide(snapshot, Greedy(), places=places)) == expected


def test_a_blocked_job_does_not_stop_those_that_still_fit():
    queue = (WaitingJob("a", WIDE), WaitingJob("b", SMALL))
    found = decide(Snapshot(3, waiting=queue), Greedy(), places=0)
    assert actions(found) == [("block", "a", 0), ("grant", "b", 3)]


def test_a_job_that_fits_on_one_node_only_gets_the_fastest_width_that_fits():
    queue = (WaitingJob("a", SMALL, most=2), WaitingJob("b", WIDE, most=3))
    assert actions(decide(Snapshot(9, waiting=queue), Greedy())) == [
        ("grant", "a", 2),
        ("wait", "b", 0),
    ]


def test_a_strict_width_is_not_narrowed():
    queue = (WaitingJob("a", SMALL, most=2),)
    strict = FixedWidth(3, strict=True)
    assert actions(decide(Snapshot(9, waiting=queue), strict)) == [("wait", "a", 0)]


def test_the_policy_is_told_all_running_jobs_and_those_granted_a_moment_ago():
    told: list[Observation] = []

    class Curious(Policy):
        def choose(self, job_class, observation):  # noqa: ARG002
            told.append(
                Observation(
                    observation.idle,
                    observation.waiting,
                    {name: dict(row) for name, row in observation.running.items()},
                )
            )
            return {2: 1.0}

    snapshot = Snapshot(
        9, running={"wide": {4: 1}}, released={"small": {1: 1}}, waiting=waiting("a", "b")
    )
    decide(snapshot, Curious())
    assert told == [
        Observation(4, 1, {"wide": {4: 1}, "small": {1: 1}}),
        Observation(2, 0, {"wide": {4: 1}, "small": {1: 1, 2: 1}}),
    ]


def test_jobs_behind_may_be_known_by_number_only():
    told = decide(Snapshot(6, waiting=waiting("a", "b"), behind=3), IdleShare())
    assert [(i.width, i.waiting) for i in told] == [(1, 4), (1, 3)]
    alone = decide(Snapshot(6, waiting=waiting("a"), behind=1), IdleShare())
    assert actions(alone) == [("grant", "a", 3)]


def test_classes_may_be_named_if_the_policy_knows_them():
    policy = Greedy().with_classes(Scenario(Workload([SMALL, WIDE]), 8))
    queue = (WaitingJob("a", "wide"), WaitingJob("b", "small"))
    assert actions(decide(Snapshot(9, waiting=queue), policy)) == [
        ("grant", "a", 8),
        ("grant", "b", 1),
    ]
    with pytest.raises(PolicyError, match="at most 2 servers; give its class"):
        decide(Snapshot(9, waiting=(WaitingJob("a", "wide", most=2),)), policy)


def test_the_snapshot_is_not_changed():
    running = {"small": {1: 1}}
    decide(Snapshot(9, running=running, waiting=waiting("a")), Greedy())
    assert running == {"small": {1: 1}}


def test_draws_depend_on_the_seed_and_the_job_only():
    jobs = [str(k) for k in range(400)]
    alone = {job: decide(Snapshot(5, waiting=waiting(job)), DRAWN, seed=7)[0].width for job in jobs}
    again = {
        job: decide(Snapshot(5, waiting=waiting(job, "z")), DRAWN, seed=7)[0].width for job in jobs
    }
    other = {job: decide(Snapshot(5, waiting=waiting(job)), DRAWN, seed=8)[0].width for job in jobs}
    assert alone == again
    assert alone != other
    # 400 draws with probability 1/2: standard deviation 10.
    assert abs(Counter(alone.values())[3] - 200) < 40


def test_uniform_numbers_are_uniform():
    drawn = sorted(uniform(3, str(job)) for job in range(10_000))
    assert drawn[0] >= 0.0
    assert drawn[-1] < 1.0
    distance = max(abs(u - (k + 0.5) / 10_000) for k, u in enumerate(drawn))
    assert distance < 1.95 / 100.0  # Kolmogorov-Smirnov at 0.1 %


def test_a_job_that_waits_twice_is_an_error():
    with pytest.raises(PolicyError, match="'a' is listed twice"):
        Snapshot(4, waiting=waiting("a", "b", "a"))


def test_a_policy_that_grants_more_than_is_idle_is_an_error():
    class Generous(Policy):
        def grant(self, *_args, **_options):
            return 9

    with pytest.raises(PolicyError, match="9 of 4 idle servers"):
        decide(Snapshot(4, waiting=waiting("a")), Generous())


def test_jobs_are_counted_by_class_and_width():
    assert count_jobs([("a", 2), ("b", 1), ("a", 2)]) == {"a": {2: 2}, "b": {1: 1}}


POLICIES = (Greedy(), FixedWidth(4), FixedWidth(4, strict=True), DRAWN, EvenPrice(0.4, 8.0))


class Cluster(RuleBasedStateMachine):
    """Jobs arrive, are granted servers, start, end, and servers come and go, in any order."""

    @initialize(
        servers=st.integers(0, 12),
        policy=st.sampled_from((*POLICIES, IdleShare())),
        places=st.sampled_from([0, 1, 3, math.inf]),
        seed=st.integers(0, 3),
    )
    def begin(self, servers, policy, places, seed):
        self.usable = servers
        self.policy, self.places, self.seed = policy, places, seed
        self.queue, self.released, self.running = [], {}, {}
        self.arrived, self.granted, self.blocked, self.ended = [], [], [], []

    @rule(job_class=st.sampled_from([SMALL, WIDE]), most=st.sampled_from([None, 0, 2, 4]))
    def arrive(self, job_class, most):
        job = WaitingJob(str(len(self.arrived)), job_class, most)
        self.arrived.append(job.job)
        self.queue.append(job)

    @rule(servers=st.integers(0, 12))
    def change_servers(self, servers):
        self.usable = servers

    @precondition(lambda self: self.released)
    @rule(data=st.data())
    def start(self, data):
        job = data.draw(st.sampled_from(sorted(self.released)))
        self.running[job] = self.released.pop(job)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end(self, data):
        job = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[job]
        self.ended.append(job)

    @rule()
    def decide(self):
        snapshot = Snapshot(
            self.usable,
            count_jobs(list(self.running.values())),
            count_jobs(list(self.released.values())),
            tuple(self.queue),
        )
        found = decide(snapshot, self.policy, places=self.places, seed=self.seed)
        assert found == decide(snapshot, self.policy, places=self.places, seed=self.seed)
        assert [instruction.job for instruction in found] == [job.job for job in self.queue]
        assert sum(instruction.width for instruction in found) <= snapshot.idle
        acted = [instruction.action for instruction in found]
        if "wait" in acted:  # nobody overtakes a job that waits
            assert "grant" not in acted[acted.index("wait") :]
        assert acted.count("wait") <= self.places
        for job, instruction in zip(self.queue, found, strict=True):
            allowed = {0, *job.job_class.speedup.widths.tolist()}
            assert instruction.width in allowed
            assert (instruction.width > 0) == (instruction.action == "grant")
            if job.most is not None:
                assert instruction.width <= job.most
        self._obey(found)

    def _obey(self, found):
        for instruction in found:
            if instruction.action == "grant":
                assert instruction.job not in self.granted
                self.granted.append(instruction.job)
                self.released[instruction.job] = (instruction.job_class, instruction.width)
            elif instruction.action == "block":
                self.blocked.append(instruction.job)
        waiting = {found.job for found in found if found.action == "wait"}
        self.queue = [job for job in self.queue if job.job in waiting]

    @invariant()
    def no_job_is_lost_or_counted_twice(self):
        if not hasattr(self, "queue"):
            return
        everywhere = [
            *(job.job for job in self.queue),
            *self.released,
            *self.running,
            *self.ended,
            *self.blocked,
        ]
        assert sorted(everywhere, key=int) == self.arrived


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
