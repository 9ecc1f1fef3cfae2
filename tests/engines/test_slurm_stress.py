"""An agent that is killed at the worst moments loses no job and grants no server twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from engines.agent_process import start_agent
from engines.daemons import LONGEST, wait_for
from engines.private_slurm import USER
from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.marks import Mark
from moldable.live.slurm.service import Settings
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.greedy import Greedy

SERVERS = 64
JOBS = 200
KILLS = 20
LOOKS = 5
"""Least number of looks at the queue during the life of an agent."""
HELD = ("sbatch", "--parsable", "-H", "-o/dev/null", "--comment=moldable:solver")
SEPARATOR = "\x1f"


def recorded(cluster, since):
    """What the accounting says about each job: state, CPUs, mark, start and end."""
    fields = "JobID,State,AllocCPUS,Comment,Start,End"
    words = ("sacct", "-X", "-n", "-a", "-S", since, "-o", fields, "--parsable2")
    rows = cluster.run("env", "SLURM_TIME_FORMAT=%s", *words, f"--delimiter={SEPARATOR}")
    found = {}
    for row in rows.splitlines():
        job, state, cpus, comment, start, end = row.split(SEPARATOR)
        assert job not in found, "a job has ended twice"
        times = (int(text) if text.isdigit() else 0 for text in (start, end))  # "None", "Unknown"
        found[job] = (state, int(cpus), Mark.parse(comment), *times)
    return found


def decided(mark):
    """The width that was decided; a very short job may end before its second mark."""
    return mark.number("width") or mark.number("granting")


def held_servers(jobs):
    """The servers that jobs hold or were granted."""
    return sum(job.cpus for job in jobs if not job.pending or job.priority > 0)


def peak(found):
    """The most CPUs in use at a time; Slurm's times are whole seconds, so ends come first."""
    changes = [(start, 1, cpus) for _, cpus, _, start, _ in found.values()]
    changes += [(end, 0, -cpus) for _, cpus, _, _, end in found.values()]
    busy = most = 0
    for _, _, change in sorted(changes):
        busy += change
        most = max(most, busy)
    return most


def audit(cluster, jobs, since, width=None):
    """Every job finished once, at the width that was decided."""
    wait_for(
        lambda: all(
            name in (found := recorded(cluster, since)) and found[name][0] == "COMPLETED"
            for name in jobs
        ),
        "the accounting",
    )
    found = {name: each for name, each in recorded(cluster, since).items() if name in jobs}
    assert set(found) == set(jobs)
    for state, cpus, mark, _, _ in found.values():
        assert (state, cpus) == ("COMPLETED", width or decided(mark))
        assert decided(mark) == cpus
    assert peak(found) <= SERVERS
    return found


def test_an_agent_killed_between_two_writes_is_taken_over(small_nodes, make_plan, tmp_path):
    path, _ = make_plan(FixedWidth(3), SERVERS)
    since = time.strftime("%Y-%m-%dT%H:%M:%S")
    environment = {**small_nodes.environment, "XDG_RUNTIME_DIR": str(small_nodes.home())}
    settings, jobs = Settings(path, poll=0.2), []
    for writes in range(7):  # the widths of two jobs, their releases, and their marks
        log = tmp_path / f"log{writes}"
        jobs += [small_nodes.run(*HELD, "--wrap=sleep 1", user=USER) for _ in range(2)]
        first = start_agent(settings, environment, log, user=USER, dies_at=writes)
        first.join(LONGEST)
        assert first.exitcode == -9, log.read_text()
        second = start_agent(settings, environment, log, user=USER)
        try:
            wait_for(lambda: not small_nodes.run("squeue", "-h"), log)
        finally:
            second.terminate()
            second.join(LONGEST)
    audit(small_nodes, jobs, since, width=3)


def test_two_hundred_jobs_survive_twenty_kills_and_a_restart_of_slurmctld(
    small_nodes, make_plan, tmp_path
):
    path, _ = make_plan(Greedy(), SERVERS)
    since = time.strftime("%Y-%m-%dT%H:%M:%S")
    environment = {**small_nodes.environment, "XDG_RUNTIME_DIR": str(small_nodes.home())}
    settings, log = Settings(path, poll=0.2), tmp_path / "log"
    client, rng = SlurmClient("main"), random.Random(7)  # noqa: S311 - not secret
    sizes = [rng.uniform(0.3, 1.5) for _ in range(JOBS)]

    def submit(size):
        words, ends = (*HELD, f"--wrap=sleep {size:.1f}"), time.monotonic() + LONGEST
        while not (job := small_nodes.run(*words, user=USER, check=False)):
            assert time.monotonic() < ends, "slurmctld did not come back"
            time.sleep(0.5)
        return job

    agent = start_agent(settings, environment, log, user=USER)
    most = looks = kills = 0
    begun, restarted = time.monotonic(), False
    with ThreadPoolExecutor(JOBS) as pool:  # all at once
        submitted = [pool.submit(submit, size) for size in sizes]
        while time.monotonic() - begun < 1200.0:
            ends = time.monotonic() + rng.uniform(0.3, 1.5)
            while time.monotonic() < ends or looks < LOOKS * (kills + 1):
                jobs = client.jobs()
                most, looks = max(most, held_servers(jobs)), looks + 1
                time.sleep(0.1)
            all_submitted = all(each.done() for each in submitted)
            if all_submitted and kills >= KILLS and not jobs:
                break
            if kills >= KILLS // 2 and not restarted and all_submitted:
                small_nodes.restart_controller()
                restarted = True
            if kills >= KILLS:  # the last one works until all is done
                continue
            agent.kill()
            agent.join()
            kills += 1
            agent = start_agent(settings, environment, log, user=USER)
    agent.terminate()
    agent.join(LONGEST)
    names = [each.result() for each in submitted]
    assert len(set(names)) == JOBS
    assert restarted
    assert kills >= KILLS
    assert looks >= LOOKS * KILLS
    found = audit(small_nodes, names, since)
    assert most <= SERVERS
    widths = Counter(cpus for _, cpus, *_ in found.values())
    print(f"{kills} kills, peak {most}, by sacct {peak(found)}, widths {sorted(widths.items())}")  # noqa: T201
    assert len(widths) > 1, "the policy has decided"
    assert peak(found) > SERVERS // 2, "the cluster was busy"


def test_the_audit_notices_a_wrong_width_and_too_many_servers(small_nodes):
    since = time.strftime("%Y-%m-%dT%H:%M:%S")
    wrong = small_nodes.run(
        "sbatch",
        "--parsable",
        "-n2",
        "-o/dev/null",
        "--comment=moldable:solver;width=3",
        "--wrap=true",
    )
    wait_for(lambda: not small_nodes.run("squeue", "-h"), "the job")
    with pytest.raises(AssertionError):
        audit(small_nodes, [wrong], since)
    mark = Mark("solver", {"width": "40"})
    assert peak(dict.fromkeys("ab", ("COMPLETED", 40, mark, 0, 2))) > SERVERS
