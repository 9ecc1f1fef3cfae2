"""Times of exact answers, their growth with the number of states, and LINE for comparison."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.peers import with_line_chain
from benchmarks.table import PEAK_MIB, Row, best_seconds
from moldable import JobClass, Regime, Scenario, SpeedUp, Workload, evaluate
from moldable.errors import NearlyDecomposableError
from moldable.exact.closed_forms import erlang_b
from moldable.exact.error_bound import ErrorBound
from moldable.exact.exact import stationary_law
from moldable.policies import Rigid

LINEAR, SUB_LINEAR = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])
REGIMES = (Regime(0.0, 0.2), Regime(1 / 2, 0.1), Regime(2 / 3, 0.1))
# Three widths at load 0.85: chains of about a thousand to two million states.
GROWING = (30, 68, 151, 262, 416)
MOST_MEMORY = 3000.0
# Both solvers and the window, once each.
SMALL = """
from moldable import Scenario, SpeedUp
from moldable.exact.exact import stationary_law
curve = SpeedUp([1, 1.8, 2.5, 3, 3.4])
for servers, load in ((68, 0.85), (30, 0.85), (300, 0.994)):
    stationary_law(Scenario.single(curve, load, servers))
"""


def rows() -> list[Row]:
    """Measure everything after compilation."""
    exec(SMALL, {})  # noqa: S102 - the same code as in the child processes
    return [
        _start(),
        _formula(),
        _two_widths(),
        _large(),
        *_growth(),
        *(row for servers in (40, 80, 160) for row in _compared_with_line(servers)),
        _paper(),
    ]


def _start() -> Row:
    """Measure the start of a new process: imports, and kernels from the cache."""
    found = _child(
        "started = time.process_time()\n" + SMALL, "print(time.process_time() - started)"
    )
    what = "imports, kernels from the cache and three small answers"
    return Row(what, f"{float(found):.2f} s", "")


def _child(*lines: str) -> str:
    """Run code in a separate process, so that only its own time and memory are measured."""
    code = "\n".join(("import time", *lines))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def _formula() -> Row:
    slots = 1_000_000
    spent = best_seconds(lambda: erlang_b(slots, slots - 100.0), 5)
    return Row("Erlang-B, n = 1,000,000", f"{1e3 * spent:.1f} ms", "below 50 ms", spent < 0.05)


def _two_widths() -> Row:
    servers = 4000
    scenario = Scenario.single(SUB_LINEAR, 1 - 0.1 / math.sqrt(servers), servers)
    answer = stationary_law(scenario).performance()
    spent = best_seconds(lambda: stationary_law(scenario).performance(), 3)
    what = f"widths 1 and 2, n = 4,000, {answer.detail.states:,} states, blocking"
    figure = f"{spent:.2f} s"
    return Row(f"{what} {answer.blocking.value:.12f}", figure, "below 1.5 s", spent < 1.5)


def _large() -> Row:
    found = _child(
        SMALL,
        "n, started = 100_000, time.process_time()",
        "scenario = Scenario.single(curve, 1 - 0.1 / n**0.5, n)",
        "answer = stationary_law(scenario).performance()",
        "spent = time.process_time() - started",
        f"peak = {PEAK_MIB}",
        "print(spent, peak, answer.detail.states, answer.blocking.value)",
    )
    spent, peak, states, blocking = map(float, found.split())
    return Row(
        f"widths 1 and 2, n = 100,000, {states:,.0f} states, blocking {blocking:.9f}",
        f"{spent:.1f} s, {peak:,.0f} MB",
        f"below 20 s, {MOST_MEMORY:,.0f} MB",
        spent < 20 and peak < MOST_MEMORY,
    )


def _growth() -> list[Row]:
    found = []
    for servers in GROWING:
        scenario = Scenario.single(SUB_LINEAR, 0.85, servers)
        goal = servers == 262
        started = time.process_time()
        try:
            with _bounding() as bounding:
                answer = stationary_law(scenario).performance()
        except NearlyDecomposableError:
            target = "below 60 s" if goal else ""
            met = False if goal else None
            found.append(Row(f"three widths, n = {servers}", "error not bounded", target, met))
            continue
        spent = time.process_time() - started
        found.append(
            Row(
                f"three widths, n = {servers}, {answer.detail.states:,} states",
                f"{spent:.3g} s, {1e6 * spent / answer.detail.states:.3g} s per million states, "
                f"{sum(bounding):.3g} s of them for the error bound of "
                f"{answer.detail.error_bound:.0e}",
                "below 60 s" if goal else "",
                spent < 60 if goal else None,
            )
        )
    return found


@contextmanager
def _bounding() -> Iterator[list[float]]:
    """Collect the CPU times in which errors are bounded."""
    found: list[float] = []
    begin = ErrorBound.__init__

    def timed(*arguments: Any) -> None:
        started = time.process_time()
        begin(*arguments)
        found.append(time.process_time() - started)

    with patch.object(ErrorBound, "__init__", timed):
        yield found


def rigid_pair(servers: int, method: str) -> tuple[float, ...]:
    """Return the blocking of two rigid classes, each with half of the load 0.8."""
    rate = 0.4 * servers
    classes = (JobClass("narrow", rate, SpeedUp([1.0])), JobClass("wide", rate, SpeedUp({5: 5.0})))
    answer = stationary_law(
        Scenario(Workload(classes), servers), Rigid(), method=method
    ).performance()
    return tuple(part.blocking.value for part in answer.classes)


def _compared_with_line(servers: int) -> list[Row]:
    """Solve the chain of two rigid classes with moldable and LINE, and by the recursion."""
    rate = 0.4 * servers
    ours = best_seconds(lambda: rigid_pair(servers, "chain"), 5)
    line = min(
        (with_line_chain.run(servers, (rate, rate), (1.0, 5.0)) for _ in range(2)),
        key=lambda found: found.seconds,
    )
    recursion = _pair(rigid_pair(servers, "closed-form"))
    times = line.seconds / ours
    goal = servers == 160
    return [
        Row(
            f"two rigid classes, n = {servers}, moldable's chain",
            f"{1e3 * ours:.3g} ms, blocking {_pair(rigid_pair(servers, 'chain'))}",
            f"blocking {recursion}",
        ),
        Row(
            f"two rigid classes, n = {servers}, LINE's chain",
            f"{1e3 * line.seconds:.3g} ms, blocking {_pair(line.blocking)}",
            f"blocking {recursion}",
        ),
        Row(
            f"two rigid classes, n = {servers}, times LINE",
            f"{times:.3g}",
            "20" if goal else "",
            times >= 20 if goal else None,
        ),
    ]


def _pair(blocking: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.10f}" for value in blocking)


def _paper() -> Row:
    """Evaluate the six settings of the paper's table with all threads, in wall-clock time."""
    servers = 4000

    def table() -> list[str]:
        return [
            evaluate(
                Scenario.single(curve, regime.load(servers), servers), precision=0.01, seed=1
            ).method
            for curve in (LINEAR, SUB_LINEAR)
            for regime in REGIMES
        ]

    table()
    started = time.perf_counter()
    methods = table()
    spent = time.perf_counter() - started
    what = f"evaluate the paper's table at n = 4,000 to 1 %: {', '.join(methods)}"
    return Row(what, f"{spent:.2f} s", "below 10 s", spent < 10)
