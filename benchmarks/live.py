"""Live decisions: CPU time of a decision and of the agent, and the time of `moldable run`."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import slurm_agent
from benchmarks.table import Row, best_seconds
from moldable import Greedy, Policy, Scenario, Thresholds, evaluate, greedy_p
from moldable.live.decisions import Snapshot, WaitingJob, decide
from moldable.live.plan_file import write_plan
from moldable.policies import Observation, QueueTable, even_price

CALLS = 5_000
STARTS = 25
MOST_MS = 80.0
SCENARIO = Scenario.single([1, 1.8, 2.5, 3, 3.4], 0.8, 64, waiting="unlimited")
POLICIES: tuple[Policy, ...] = (
    Greedy(),
    greedy_p(SCENARIO),
    Thresholds({"jobs": {1: 1, 4: 2, 10: {2: 0.5, 3: 0.5}, 20: 4}}),
    QueueTable({"jobs": {0: {1: 1, 4: 2, 10: 3}, 3: {1: 1, 8: 2}}}),
    even_price(SCENARIO),
)
TARGET = 20e-6


def rows() -> list[Row]:
    """Time `grant`, and `decide` with one waiting job, under every kind of policy."""
    (jobs,) = SCENARIO.workload.classes
    seen = Observation(idle=22)
    snapshot = Snapshot(64, {"jobs": {3: 10, 4: 3}}, {}, (WaitingJob("17", jobs),))
    found = []
    for policy in POLICIES:
        grant = _seconds(lambda policy=policy: policy.grant(jobs, seen, 0.3))
        found.append(_row(f"grant, {policy.name}", grant))
        decided = _seconds(lambda policy=policy: decide(snapshot, policy))
        found.append(_row(f"decide about one waiting job, {policy.name}", decided))
    return [*found, *_calls(), *slurm_agent.rows()]


def _calls() -> list[Row]:
    """Time a command run by `moldable run`, and the start of Python."""
    with tempfile.TemporaryDirectory() as folder:
        policy = POLICIES[0]
        write_plan(f"{folder}/plan.json", policy, evaluate(SCENARIO, "fixed:1"))
        options = ("--plan", f"{folder}/plan.json", "--servers", "64", "--dir", f"{folder}/run")
        moldable = str(Path(sys.executable).with_name("moldable"))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "moldable run -- true": [moldable, "run", *options, "--", "true"],
        }
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(STARTS):
            for name, command in commands.items():
                started, used = time.perf_counter(), _children_seconds()
                subprocess.run(command, check=True)
                passed = time.perf_counter() - started
                seconds[name].append((passed, _children_seconds() - used))
    found = []
    for name, times in seconds.items():
        for kind, values in zip(("wall clock", "CPU time"), zip(*times, strict=True), strict=True):
            ms, is_limited = 1e3 * statistics.median(values), name.startswith("moldable")
            limit = f"below {MOST_MS:.0f} ms" if is_limited else ""
            in_time = ms < MOST_MS if is_limited else None
            found.append(Row(f"{name}, median {kind}", f"{ms:.0f} ms", limit, in_time))
    return found


def _children_seconds() -> float:
    """Return the CPU time of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(call: Callable[[], object]) -> float:
    def calls() -> None:
        for _ in range(CALLS):
            call()

    return best_seconds(calls, 7) / CALLS


def _row(what: str, seconds: float) -> Row:
    return Row(what, f"{1e6 * seconds:.1f} us", f"below {1e6 * TARGET:.0f} us", seconds < TARGET)
