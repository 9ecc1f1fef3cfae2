"""A Poisson stream of jobs on a real Slurm under three policies, against the predictions.

A private Slurm of 64 nodes with one CPU each runs jobs that sleep for their size divided by the
speed-up of their width. Predictions come from a simulation of the same two minutes, from an empty
cluster on, without any delay of Slurm; its replications also give the standard error of one run.

`python -m verification.slurm_stream FILE.md` writes the table as well.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from engines.agent_process import start_agent
from engines.daemons import wait_for
from engines.private_slurm import PrivateSlurm, missing
from moldable import JobClass, Scenario, Workload, tune
from moldable.files.policy_file import policy_data
from moldable.live.slurm.service import Settings
from moldable.policies.greedy import Greedy, greedy_p
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

SERVERS, LOAD, SECONDS, MEAN_SIZE = 64, 0.9, 120.0, 30.0
STREAM = 1
"""Seed of the stream, which is the same under all policies."""
RATE = SERVERS * LOAD / MEAN_SIZE
REPLICATIONS = 400
MOST_Z = 4.0
SEPARATOR = "\x1f"
JOBS = JobClass("jobs", RATE, SUBLINEAR, mean_size=MEAN_SIZE)
SCENARIO = Scenario(Workload([JOBS]), SERVERS, waiting="unlimited", time_unit="seconds")
SPEEDUPS = dict(zip(JOBS.speedup.widths.tolist(), JOBS.speedup.speedups.tolist(), strict=True))


@dataclass(frozen=True)
class Figures:
    """What is compared of one run: mean wait, mean execution time, and the shares of widths."""

    wait: float
    execution: float
    shares: tuple[float, ...]

    @property
    def response(self) -> float:
        """Mean response time."""
        return self.wait + self.execution

    def listed(self) -> dict[str, float]:
        """Return the figures by name."""
        shares = {f"share of width {w}": s for w, s in zip(SPEEDUPS, self.shares, strict=True)}
        return {
            "mean wait, s": self.wait,
            "mean execution time, s": self.execution,
            "mean response time, s": self.response,
            **shares,
        }


def figures(jobs: list[tuple[float, float, int]]) -> Figures:
    """Return the figures of jobs, given by wait, execution time and width."""
    waits, executions, widths = zip(*jobs, strict=True)
    shares = tuple(widths.count(width) / len(widths) for width in SPEEDUPS)
    return Figures(statistics.fmean(waits), statistics.fmean(executions), shares)


def stream(rng: random.Random) -> list[tuple[float, float]]:
    """Draw the arrival times and sizes of a Poisson stream."""
    found, now = [], rng.expovariate(RATE)
    while now < SECONDS:
        found.append((now, rng.expovariate(1.0 / MEAN_SIZE)))
        now += rng.expovariate(RATE)
    return found


def new_stream() -> random.Random:
    """Return the generator of the stream that Slurm runs."""
    return random.Random(STREAM)  # noqa: S311 - not secret


def predicted(policy: Policy, jobs: list[tuple[float, float]], rng: random.Random) -> Figures:
    """Simulate one run: first come, first served, from an empty cluster on."""
    queue: list[tuple[float, float]] = []
    ends: list[tuple[float, int]] = []
    idle, arrived, done = SERVERS, 0, []
    while len(done) < len(jobs):
        following = jobs[arrived][0] if arrived < len(jobs) else math.inf
        if ends and ends[0][0] <= following:
            now, width = heapq.heappop(ends)
            idle += width
        else:
            now = following
            queue.append(jobs[arrived])
            arrived += 1
        while queue:
            width = policy.grant(JOBS, Observation(idle, len(queue) - 1), rng.random())
            if not width:
                break
            came, size = queue.pop(0)
            idle -= width
            heapq.heappush(ends, (now + size / SPEEDUPS[width], width))
            done.append((now - came, size / SPEEDUPS[width], width))
    return figures(done)


def script(size: float) -> str:
    """Return the command of a job, which reads its width from Slurm's variables."""
    sleeps = " ".join(f"{w}) sleep {size / s:.3f};;" for w, s in SPEEDUPS.items())
    return f"case $SLURM_JOB_NUM_NODES in {sleeps} esac"


def observed(cluster: PrivateSlurm, plan: Path | None, folder: Path) -> Figures:
    """Run a stream, under the agent with a plan or under Slurm's own range of nodes."""
    cluster.clear()
    own = ["-H", "--comment=moldable:jobs"] if plan is not None else ["-N1-5"]
    since = time.strftime("%Y-%m-%dT%H:%M:%S")
    agent = None
    if plan is not None:
        log = folder / "agent.log"
        environment = {**cluster.environment, "XDG_RUNTIME_DIR": str(cluster.home("root"))}
        agent = start_agent(Settings(plan, poll=0.2), environment, log)
        before = log.read_text().count("mode enforce") if log.exists() else 0
        wait_for(lambda: log.exists() and log.read_text().count("mode enforce") > before, log)
    begun = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        numbers = []
        for moment, size in stream(new_stream()):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            words = ("sbatch", "--parsable", "-o/dev/null", *own, f"--wrap={script(size)}")
            numbers.append(pool.submit(cluster.run, *words))
        jobs = {number.result() for number in numbers}
    wait_for(lambda: not cluster.run("squeue", "-h"), "the jobs", seconds=600.0)
    if agent is not None:
        agent.terminate()
        agent.join()
    return recorded(cluster, since, jobs)


def recorded(cluster: PrivateSlurm, since: str, jobs: set[str]) -> Figures:
    """Read the figures from the accounting, whose times are whole seconds."""
    words = ("sacct", "-X", "-n", "-a", "-S", since, "-o", "JobID,State,Submit,Start,End,AllocCPUS")

    def rows() -> list[list[str]]:
        text = cluster.run(
            *("env", "SLURM_TIME_FORMAT=%s", *words, "--parsable2", f"--delimiter={SEPARATOR}")
        )
        found = [line.split(SEPARATOR) for line in text.splitlines()]
        return [row for row in found if row[0] in jobs and row[1] == "COMPLETED"]

    wait_for(lambda: len(rows()) == len(jobs), "the accounting")
    found = [tuple(map(int, row[2:])) for row in rows()]
    return figures([(start - submit, end - start, cpus) for submit, start, end, cpus in found])


def policies() -> dict[str, Policy]:
    """Return the policies in the order that is predicted, best first."""
    tuned = tune(SCENARIO, seed=1, precision=0.02).policy
    return {"tuned": tuned, "greedy(p*)": greedy_p(SCENARIO), "Slurm's range -N1-5": Greedy()}


def run_all() -> Iterator[tuple[str, list[Figures], Figures, Figures]]:
    """Yield the name, replications, a simulation of the same stream, and what was observed."""
    with (
        PrivateSlurm(SERVERS, 1, accounting=True) as cluster,
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        for seed, (title, policy) in enumerate(policies().items(), start=1):
            rng = random.Random(1000 + seed)  # noqa: S311 - not secret
            replications = [predicted(policy, stream(rng), rng) for _ in range(REPLICATIONS)]
            plan = None
            if not isinstance(policy, Greedy):
                plan = folder / f"plan{seed}.json"
                write_for(plan, policy)
            # The same jobs, so that the policies can be compared with each other.
            same = predicted(policy, stream(new_stream()), rng)
            yield title, replications, same, observed(cluster, plan, folder)


def write_for(path: Path, policy: Policy) -> None:
    """Write a plan file without predictions, which this experiment makes itself."""
    data = {"policy": policy_data(policy), "scenario": SCENARIO.to_dict(), "expected": {}}
    path.write_text(json.dumps(data))


def compared(
    replications: list[Figures], seen: Figures
) -> Iterator[tuple[str, float, float, float]]:
    """Yield the name, the prediction, its standard error in one run, and what was observed."""
    for name, value in seen.listed().items():
        values = [each.listed()[name] for each in replications]
        yield name, statistics.fmean(values), statistics.stdev(values), value


def experiments() -> Iterator[Verdict]:
    """Compare each figure in standard errors, and the order of the policies."""
    yield from _verdicts([])


def _verdicts(lines: list[str]) -> Iterator[Verdict]:
    reason = missing(accounting=True)
    if reason is not None:
        print(f"  skipped: {reason}")
        return
    responses: list[tuple[float, float]] = []
    for title, replications, same, seen in run_all():
        for name, mean, error, value in compared(replications, seen):
            z = (value - mean) / error if error else 0.0
            if mean or value:  # a width that is never used has no line
                lines.append(
                    f"| {title} | {name} | {mean:.3f} ± {error:.3f} | {same.listed()[name]:.3f} | "
                    f"{value:.3f} | {f'{z:+.1f}' if error else '-'} |"
                )
            if error == 0.0:
                yield Verdict(f"{title}: {name} is {mean:.3g} as always", abs(value - mean), 0.0)
                continue
            yield Verdict(f"{title}: {name} {value:.3f}, predicted {mean:.3f}", abs(z), MOST_Z)
        responses.append((same.response, seen.response))
    order = [seen for _, seen in sorted(responses)]
    yield Verdict("policies in another order than predicted", float(order != sorted(order)), 0.0)


def main(path: Path) -> None:
    """Run everything and write the table."""
    lines = [
        "| policy | figure | predicted | same stream, simulated | observed | z |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for verdict in _verdicts(lines):
        print(verdict, flush=True)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
