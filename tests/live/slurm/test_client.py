"""The commands of the agent stay within what the operating system allows."""

from __future__ import annotations

from moldable.live.slurm.client import MOST_JOBS, SlurmClient
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
