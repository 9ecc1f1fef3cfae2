"""The commands of the agent stay within what the operating system allows."""

from __future__ import annotations

import pytest

from moldable.live.slurm.client import MOST_JOBS, READINGS, SlurmClient
from moldable.live.slurm.programs import Output


def test_many_jobs_are_asked_for_and_released_in_several_commands():
    asked = []

    def runner(words, text):  # noqa: ARG001 - the form of a runner
        jobs = words[words.index("-j") + 1] if "-j" in words else words[2]
        asked.append(jobs.split(","))
        if words[0] == "scontrol":
            return Output(0, "", "")
        token = words[-1].partition(":0")[2].partition(",")[0]
        lines = (f"{job}{token}CD{token}100{token}160{token}\n" for job in asked[-1])
        return Output(0, "".join(lines), "")

    jobs = [str(number) for number in range(1, 2 * MOST_JOBS + 2)]
    client = SlurmClient("main", runner)
    assert not client.release(jobs)
    assert [each.job for each in client.ended_jobs(jobs)] == jobs
    assert [len(each) for each in asked] == [MOST_JOBS, MOST_JOBS, 1] * 2
    assert [job for each in asked[3:] for job in each] == jobs


class StartingJobs:
    """A runner for which jobs of two CPUs, one after the other, start before the nodes are read."""

    def __init__(self, jobs):
        self.pending, self.running, self.asked = list(jobs), [], []

    def __call__(self, words, text):  # noqa: ARG002 - the form of a runner
        self.asked.append(words[0])
        fields = [part.partition(":0") for part in words[-1].split(",")]
        token = fields[0][2]
        if words[0] == "sinfo":
            if self.pending:
                self.running.append(self.pending.pop(0))
            cells = ["n1", "mix", f"{2 * len(self.running)}/{8 - 2 * len(self.running)}/0/8"]
            return Output(0, "".join(f"{cell}{token}" for cell in (*cells, "", "")), "")
        rows = [(job, "PD", "None") for job in self.pending]
        rows += [(job, "R", "None") for job in self.running]
        known = {"PriorityLong": "1", "NumCPUs": "2"}
        lines = (
            "".join(f"{cell}{token}" for cell in (*row, *(known.get(f[0], "") for f in fields[3:])))
            for row in rows
        )
        return Output(0, "\n".join(lines), "")


@pytest.mark.parametrize(("jobs", "readings"), [((), 1), (("1",), 2), (("1", "2", "3", "4"), 3)])
def test_the_queue_is_read_again_when_a_job_has_started_before_the_nodes_were_read(jobs, readings):
    runner = StartingJobs(jobs)
    queue, nodes = SlurmClient("main", runner).queue()
    assert runner.asked.count("sinfo") == readings <= READINGS
    pending = sum(job.pending for job in queue)
    running = sum(not job.pending for job in queue)
    assert 2 * (pending + running) <= 8
    if readings < READINGS:  # nothing counts twice
        assert nodes[0].idle_cpus == 8 - 2 * running
