"""The agent on a simulated Slurm with thousands of jobs.

It keeps nothing of jobs that have ended, and runs as many programs for a thousand jobs as for ten.
"""

from __future__ import annotations

import gc
import json
import logging
import random
import re
import sys

import pytest

from moldable.errors import InputError
from moldable.files.policy_file import policy_data
from moldable.live.journal import Journal, read_journal
from moldable.live.plan_file import read_plan
from moldable.live.running_jobs import RunningJobs
from moldable.live.slurm.agent import Agent
from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.programs import Output
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.snapshot import Scope
from moldable.model.scenario import Scenario
from moldable.policies.greedy import greedy_p

SERVERS = 8
HELD = {
    "StateCompact": "PD",
    "Reason": "JobHeldUser",
    "PriorityLong": "0",
    "UserName": "root",
    "SubmitTime": "1000",
    "NumCPUs": "1",
    "NumNodes": "1",
    "NumTasks": "1",
    "OverSubscribe": "OK",
    "Comment": "moldable:jobs",
}


class SimulatedSlurm:
    """Answers the agent's commands; jobs arrive and end in `tick`."""

    def __init__(self) -> None:
        self._rng = random.Random(1)  # noqa: S311 - not secret
        self.jobs: dict[str, dict[str, str]] = {}
        self._ended: dict[str, dict[str, str]] = {}
        self.submitted = 0
        self.programs: list[str] = []

    def submit(self) -> None:
        self.submitted += 1
        self.jobs[str(self.submitted)] = {"JobArrayID": str(self.submitted), **HELD}

    def end(self, name: str) -> None:
        self._ended[name] = self.jobs.pop(name) | {"StateCompact": "CD"}

    def tick(self) -> None:
        self._ended = {}
        for name, job in list(self.jobs.items()):
            if job["StateCompact"] == "R" and self._rng.random() < 0.2:
                self.end(name)
            elif job["PriorityLong"] != "0":
                job |= {"StateCompact": "R", "Reason": "None"}
        if self._rng.random() < 0.5 and len(self.jobs) < 10:
            self.submit()

    def __call__(self, words, text=None) -> Output:
        self.programs.append(words[0])
        if words[0] == "sinfo":
            running = (job for job in self.jobs.values() if job["StateCompact"] == "R")
            used = sum(int(job["NumCPUs"]) for job in running)
            return _printed(words, [["n1", "mix", f"{used}/{SERVERS - used}/0/{SERVERS}", "", ""]])
        if words[0] == "squeue":
            fields = [field.partition(":")[0] for field in words[-1].split(",")]
            jobs = {**self.jobs, **(self._ended if "-t" in words else {})}
            return _printed(words, [[job.get(f, "") for f in fields] for job in jobs.values()])
        for line in (text or "").splitlines():
            name, *settings = line.removeprefix("update JobId=").split()
            for key, _, value in (each.partition("=") for each in settings):
                self.jobs[name][key] = value
            self.jobs[name]["NumCPUs"] = self.jobs[name]["NumTasks"]
        for name in words[2].split(",") if "release" in words else ():
            self.jobs[name]["PriorityLong"] = "100"
        return Output(0, "", "")


def _printed(words, rows) -> Output:
    token = re.search(r":0(/\w+/)", words[-1])[1]
    return Output(0, "".join("".join(cell + token for cell in row) + "\n" for row in rows), "")


@pytest.fixture
def agent(tmp_path):
    scenario = Scenario.single([1, 1.8, 2.5, 3], 0.6, SERVERS, waiting="unlimited")
    path = tmp_path / "plan.json"
    data = {"policy": policy_data(greedy_p(scenario)), "scenario": scenario.to_dict()}
    path.write_text(json.dumps(data | {"expected": {}}))
    client = SlurmClient("main", SimulatedSlurm())
    scope = Scope(read_plan(path), SHAPES["tasks"], "root")
    return Agent(client, scope, journal=Journal(tmp_path / "journal.jsonl"))


def blocks_after(agent: Agent, steps: int) -> int:
    """Return the number of memory blocks that Python holds after a number of steps."""
    for _ in range(steps):
        agent.client.runner.tick()
        agent.step()
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.parametrize("waiting", [10, 1000])
def test_a_step_runs_six_programs_if_jobs_start_and_two_if_not(agent, waiting):
    slurm = agent.client.runner
    for _ in range(waiting):
        slurm.submit()
    agent.step()
    reading, starting = ["squeue", "sinfo"], ["scontrol", "squeue", "scontrol", "scontrol"]
    assert slurm.programs == reading + starting
    for job in slurm.jobs.values():
        if job["PriorityLong"] != "0":
            job |= {"StateCompact": "R", "Reason": "None"}
    slurm.programs.clear()
    agent.step()
    assert slurm.programs == reading
    assert sum(job["StateCompact"] == "PD" for job in slurm.jobs.values()) >= waiting - SERVERS


def test_the_journal_has_the_ends_of_jobs_before_the_grants_of_their_servers(agent, tmp_path):
    blocks_after(agent, 500)
    running, lost = RunningJobs(SERVERS), []
    for entry in read_journal(tmp_path / "journal.jsonl"):
        if entry.event == "granted":
            lost += running.granted(entry)
        else:
            running.ended(entry.job)
    assert lost == []
    assert int(entry.job) > 100


class FullDisk:
    def decided(self, *_, **__):
        pass

    def ended(self, *_, **__):
        raise InputError("no space left on device")


def test_jobs_are_granted_although_the_ends_of_others_cannot_be_written(agent):
    slurm = agent.client.runner
    agent.journal = FullDisk()
    slurm.submit()
    agent.step()
    slurm.end("1")
    slurm.submit()
    with pytest.raises(InputError, match="no space left"):
        agent.step()
    assert slurm.jobs["2"]["PriorityLong"] != "0"


def test_memory_does_not_grow_with_the_number_of_jobs(agent, tmp_path, caplog):
    caplog.set_level(logging.ERROR, "moldable.slurm")  # else the records are kept
    before = blocks_after(agent, 300)
    jobs = agent.client.runner.submitted
    grown = blocks_after(agent, 1500) - before
    jobs = agent.client.runner.submitted - jobs
    assert jobs > 400
    assert (tmp_path / "journal.jsonl").read_text().count('"ended"') > jobs
    assert grown < jobs / 2  # not a piece for each job
