"""The agent and the file that disables it, without a Slurm."""

from __future__ import annotations

import pytest

from moldable.live.plan_file import LivePlan
from moldable.live.slurm.agent import Agent
from moldable.live.slurm.records import JOB_FIELDS, Node, read_job
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.snapshot import Scope
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.greedy import Greedy

ON_HOLD = {
    "JobArrayID": "1",
    "StateCompact": "PD",
    "Reason": "JobHeldUser",
    "PriorityLong": "0",
    "UserName": "ada",
    "SubmitTime": "1000",
    "NumCPUs": "1",
    "NumNodes": "1",
    "OverSubscribe": "OK",
    "admin_comment": "moldable:solver;shape=tasks",
}


class Full:
    """A cluster without idle servers; an administrator disables the agent after it has looked."""

    def __init__(self, disable):
        self.disable, self.released = disable, []

    def queue(self):
        self.disable.touch()
        job = read_job([ON_HOLD.get(field, "") for field in JOB_FIELDS])
        return [job], [Node("n1", 4, 4, 0, 0, 0, 0, idle=False, usable=True)]

    def ended_jobs(self, jobs):
        assert not jobs, "nothing was granted"
        return []

    def release(self, jobs):
        self.released += jobs
        return ""

    def set_marks(self, marks):
        list(marks)
        return set()


@pytest.fixture
def agent(tmp_path):
    workload = Workload([JobClass("solver", 1.0, [1, 1.8])])
    plan = LivePlan(Greedy(), Scenario(workload, 4, waiting="unlimited"), {}, "0")
    disable = tmp_path / "disable"
    return Agent(Full(disable), Scope(plan, SHAPES["tasks"], None), disable=disable)


def test_jobs_are_handed_back_only_as_they_are_after_the_agent_was_disabled(agent):
    agent.step()  # since it has looked, an administrator may have held the job
    assert agent.client.released == []
    agent.step()
    assert agent.client.released == ["1"]
