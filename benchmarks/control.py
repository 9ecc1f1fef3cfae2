"""Time and memory of `tune`, `tradeoff` and the value function."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import Row, best_seconds
from moldable import Scenario, value_policy

SYSTEM = ("--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--seed", "1", "--json")
# For each n: target time in seconds, and a limit on blocking below that of greedy(p*).
TUNED = ((64, 0.1, 10.0), (4000, 0.01, 10.0), (100_000, 0.001, 30.0))
THREE_CLASSES = """
servers = 64
[[class]]
name = "a"
arrival_rate = 17
speedup = [1, 1.8, 2.5, 3, 3.4]
[[class]]
name = "b"
arrival_rate = 8.5
mean_size = 2
speedup = [1, 1.9, 2.7]
[[class]]
name = "c"
arrival_rate = 34
mean_size = 0.5
speedup = [1, 1.6]
"""
TRADEOFF_SERVERS = 64
LONGEST, MOST_MEMORY, LARGEST_GAP = 60.0, 4000.0, 1e-3
VALUE_SERVERS, VALUE_COST, VALUE_LONGEST = 20_000, 4.0, 0.3
# Runs the command and prints its peak memory at the end. The resource usage that the system reports
# for a child process would include the memory of its parent.
COMMAND = """
import atexit, sys
from moldable.cli import main
def print_peak():
    print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0], file=sys.stderr)
atexit.register(print_peak)
main()
"""


@dataclass(frozen=True)
class Finished:
    """The output of a command, its wall-clock seconds and its peak memory in megabytes."""

    answer: dict[str, Any]
    seconds: float
    peak: float


def rows() -> list[Row]:
    """Run the commands after compilation."""
    _run("tradeoff", *SYSTEM, "--servers", "30", "--costs", "2,4")
    single = [_tuned(f"n = {n:,}", (*SYSTEM, "--servers", str(n)), *rest) for n, *rest in TUNED]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "three.toml"
        path.write_text(THREE_CLASSES, encoding="utf-8")
        words = ("--workload", str(path), "--seed", "1", "--json")
        three = _tuned("three classes, n = 64", words, 0.02, 5.0)
    return [*single, three, _value_policy(), _tradeoff()]


def _tuned(what: str, system: tuple[str, ...], limit: float, longest: float) -> Row:
    words = ("tune", *system, "--max-blocking", str(limit))
    _run(*words)  # compiles the kernels of this system
    found = _run(*words)
    answer = found.answer
    kept = answer["blocking"] <= limit
    return Row(
        f"moldable tune, {what}, blocking at most {limit:g}",
        f"{found.seconds:.1f} s: blocking {answer['blocking']:.5f}, mean time "
        f"{answer['mean_execution_time']:.4f}, best static {_static(answer)}",
        f"below {longest:g} s, limit kept",
        found.seconds < longest and kept,
    )


def _static(answer: dict[str, Any]) -> str:
    return f"{answer['static']['mean_execution_time']:.4f}" if answer["static"] else "none found"


def _value_policy() -> Row:
    scenario = Scenario.single([1, 1.8, 2.5, 3, 3.4], 0.8, VALUE_SERVERS)
    spent = best_seconds(lambda: value_policy(scenario, VALUE_COST), 5)
    return Row(
        f"table of the value policy, n = {VALUE_SERVERS:,}, blocking cost {VALUE_COST:g}",
        f"{spent:.3f} s",
        f"below {VALUE_LONGEST:g} s",
        spent < VALUE_LONGEST,
    )


def _tradeoff() -> Row:
    found = _run("tradeoff", *SYSTEM, "--servers", str(TRADEOFF_SERVERS))
    optimum = found.answer["optimum"]
    gap = max(point["gap"] for point in optimum["points"])
    return Row(
        f"moldable tradeoff, n = {TRADEOFF_SERVERS}, d = 5, {len(optimum['points'])} costs, "
        f"{optimum['states']:,} states",
        f"{found.seconds:.1f} s, {found.peak:,.0f} MB, largest gap {100 * gap:.1g} %",
        f"below {LONGEST:g} s, {MOST_MEMORY:,.0f} MB, {100 * LARGEST_GAP:g} %",
        found.seconds < LONGEST and found.peak < MOST_MEMORY and gap < LARGEST_GAP,
    )


def _run(*words: str) -> Finished:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - started
    return Finished(json.loads(done.stdout), seconds, int(done.stderr.split()[-1]) / 1024.0)
