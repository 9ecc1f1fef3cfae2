"""From jobs and nodes to decisions, without a Slurm."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable.live.plan_file import LivePlan
from moldable.live.slurm.records import JOB_FIELDS, Node, read_job
from moldable.live.slurm.shapes import SHAPES, Blocks
from moldable.live.slurm.snapshot import Scope, instructions, read_view
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.greedy import Greedy

CLASSES = (JobClass("solver", 1.0, [1, 1.8, 2.5]), JobClass("wide", 1.0, {4: 3.0}))
NOW = 2000.0
HELD = {
    "StateCompact": "PD",
    "Reason": "JobHeldUser",
    "PriorityLong": "0",
    "UserName": "ada",
    "SubmitTime": "1000",
    "NumCPUs": "1",
    "NumNodes": "1",
    "OverSubscribe": "OK",
    "Comment": "moldable:solver",
}


def job(name, **changed):
    known = {**dict.fromkeys(JOB_FIELDS, ""), **HELD, "JobArrayID": name, **changed}
    return read_job([known[field] for field in JOB_FIELDS])


def view(jobs, servers=16, cpus=16):
    plan = LivePlan(Greedy(), Scenario(Workload(CLASSES), servers, waiting="unlimited"), {}, "0")
    scope = Scope(plan, SHAPES["tasks"], "ada")
    node = Node("n1", cpus, cpus, cpus, 0, 0, 0, idle=True, usable=True)
    found = read_view(jobs, [node], scope, now=NOW)
    return found, [(told.job, told.width) for told in instructions(found, scope)]


def test_jobs_come_in_the_order_of_submission_and_then_of_their_numbers():
    jobs = [job("9", SubmitTime="1001"), job("10"), job("2_10"), job("2_9")]
    assert [name for name, _ in view(jobs)[1]] == ["2_9", "2_10", "10", "9"]


def test_released_and_running_jobs_hold_their_servers():
    running = {"StateCompact": "R", "Reason": "None", "PriorityLong": "5", "NumCPUs": "6"}
    released = {"Reason": "Resources", "PriorityLong": "5", "NumCPUs": "7"}
    found, told = view([job("1", **running), job("2", **released, UserName="bob"), job("3")])
    assert found.idle == 3
    assert told == [("3", 3)]


def test_a_job_that_is_held_by_others_is_left_with_the_dependency_that_may_have_failed():
    by_admin = {"Reason": "JobHeldAdmin"}
    found, told = view([job("1", **by_admin), job("2", **by_admin, Dependency="afterok:9(failed)")])
    assert told == []
    assert found.left == {
        "1": "an administrator holds it",
        "2": "an administrator holds it, or its dependency is not met: afterok:9(failed)",
    }


@pytest.mark.parametrize(
    "reason",
    [
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority parti",
        "ReqNodeNotAvail, UnavailableNodes:n[1-3]",
    ],
)
def test_our_released_jobs_hold_their_servers_while_nodes_are_down(reason):
    released = {"Reason": reason, "PriorityLong": "5", "NumCPUs": "7"}
    own, others = job("1", **released), job("2", **released, UserName="bob")
    assert view([own])[0].idle == 9
    assert view([others])[0].idle == 16


def test_pending_jobs_that_cannot_start_soon_take_nothing():
    later = {"PriorityLong": "5", "NumCPUs": "16"}
    reasons = ("Dependency", "BeginTime", "AssocMaxJobsLimit", "QOSMaxCpuPerUserLimit", "Licenses")
    found, _ = view([job(str(n), Reason=why, **later) for n, why in enumerate(reasons, 1)])
    assert found.idle == 16


@pytest.mark.parametrize(
    "changed",
    [
        {"UserName": "bob"},
        {"Comment": "moldable:solver;width=3"},
        {"Dependency": "afterok:1(unfulfilled)"},
        {"EligibleTime": "2001"},
        {"admin_comment": "moldable:solver"},
        {"Comment": "text"},
    ],
)
def test_what_does_not_wait_for_us_is_not_decided(changed):
    found, told = view([job("1", **changed)])
    assert told == []
    assert found.left == {}
    assert view([job("1")])[1] == [("1", 3)]


def test_our_jobs_together_stay_within_the_plan_on_a_larger_cluster():
    _, told = view([job(str(n)) for n in range(1, 5)], servers=8, cpus=100)
    assert told == [("1", 3), ("2", 3), ("3", 2), ("4", 0)]


def remaining(blocks, jobs):
    """The largest block after every way in which jobs can lie on the nodes."""
    if not jobs:
        yield max(blocks, default=0)
        return
    (width, one_node), *others = jobs
    if one_node:
        for k, idle in enumerate(blocks):
            if idle >= width:
                yield from remaining([*blocks[:k], idle - width, *blocks[k + 1 :]], others)
        return
    for taken in itertools.product(*(range(min(idle, width) + 1) for idle in blocks)):
        if sum(taken) == width:
            left = [idle - used for idle, used in zip(blocks, taken, strict=True)]
            yield from remaining(left, others)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=3),
)
def test_blocks_never_promise_more_than_the_worst_placement_leaves(idle, jobs):
    blocks = Blocks(idle)
    for width, one_node in jobs:
        blocks.take(width, one_node=one_node)
    possible = list(remaining(idle, jobs))
    if possible:
        assert blocks.largest <= min(possible)


def test_blocks_are_not_needlessly_careful():
    blocks = Blocks([4, 6, 4])
    blocks.take(6, one_node=True)
    assert blocks.largest == 4
