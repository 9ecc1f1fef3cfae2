"""The optimum of one class as text."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from moldable.allocation.optimum import Optimum
from moldable.errors import shortened
from moldable.model.regime import Regime
from moldable.model.units import duration
from moldable.reporting.tables import boxed_table, print_table
from moldable.reporting.words import advice, count, percent
from moldable.system.performance import Performance

ASSUMPTIONS: Final = {
    "increasing": "increasing",
    "efficiency_non_increasing": "non-increasing efficiency",
    "concave": "concave",
}
SHOW_ALL: Final = 16
AROUND: Final = 3
NEGLIGIBLE: Final = 1e-6
"""Blocking that needs no advice."""


def show_optimum(console: Console, solution: Optimum, regime: Regime | None) -> None:
    """Print the table of widths, the recommendation and remarks."""
    named = f", {regime.name} regime" if regime else ""
    on = f" on {count(solution.servers)}" if solution.servers else ""
    print_table(console, _table(solution, f"Optimal widths at load {solution.load:.6g}{on}{named}"))
    faster = 1.0 / solution.mean_execution_time
    console.print(
        f"{advice(solution.mix).capitalize()}: the mean execution time is "
        f"{solution.mean_execution_time:.6g} mean sizes (1 is the mean time on one server), "
        f"{faster:.4g} times faster than one server each, with "
        f"{percent(solution.busy_fraction)} of the servers busy."
    )
    for line in _remarks(solution):
        console.print(line)


def _table(solution: Optimum, title: str) -> Table:
    table = boxed_table(title, right=("width", "speed-up", "share of jobs", "jobs per server"))
    dominated = set(solution.dominated_widths.tolist())
    if dominated:
        table.add_column("")
    previous = -1
    for k in _shown(solution):
        if k > previous + 1:
            table.add_row("...")
        previous = k
        width, share = int(solution.widths[k]), float(solution.probabilities[k])
        table.add_row(
            str(width),
            f"{solution.frontier.speedup.speedups[k]:.6g}",
            percent(share) if share else "-",
            f"{solution.scaled_jobs[k]:.6g}" if share else "-",
            *(["off the frontier"] if width in dominated else []),
            style="bold" if share else None,
        )
    if previous < len(solution.widths) - 1:
        table.add_row("...")
    return table


def _shown(solution: Optimum) -> list[int]:
    """All widths of a short curve; of a long one those around the ones used."""
    if len(solution.widths) <= SHOW_ALL:
        return list(range(len(solution.widths)))
    used = np.flatnonzero(solution.probabilities)
    return list(range(max(0, used[0] - AROUND), min(len(solution.widths), used[-1] + AROUND + 1)))


def show_prediction(console: Console, answer: Performance | None, servers: int | None) -> None:
    """Print how greedy(p*) performs on this number of servers."""
    if servers is None or answer is None:
        hint = "; add --servers N to predict blocking and execution time on yours"
        hint = "" if servers is not None else hint
        console.print(f"These shares are optimal for large clusters{hint}.")
        return
    found = "exact" if answer.method != "simulate" else "simulated, 95 % confidence intervals"
    console.print(
        f"On {count(servers)}, greedy(p*), which draws a width from these shares and grants a "
        f"narrower one if fewer servers are idle, has blocking probability {answer.blocking} and "
        f"mean execution time {duration(answer.mean_execution_time, answer.time_unit)} ({found})."
        + (" For fewer refusals use `moldable tune`." if answer.blocking > NEGLIGIBLE else "")
    )


def _optimality(violation: float) -> str:
    """Return how well the optimality conditions hold, as a power of ten."""
    power = math.ceil(math.log10(max(violation, 1e-15)))
    return f"The linear program is solved: its optimality conditions hold within 1e{power}."


def _remarks(solution: Optimum) -> list[str]:
    remarks = []
    if solution.shadow_price:
        remarks.append(
            f"Shadow price: {solution.shadow_price:.6g} mean sizes saved per unit of server-time."
        )
    else:
        remarks.append("On a large cluster, more servers would not make jobs faster.")
    if solution.time_saved_by_one_server:
        remarks.append(
            f"One more server saves {solution.time_saved_by_one_server:.4g} mean sizes a job."
        )
    if solution.why_not_unique:
        remarks.append(f"Other shares are as good: {solution.why_not_unique}.")
    if solution.dominated_widths.size:
        remarks.append(
            f"Off the frontier, not needed on large clusters: widths "
            f"{shortened(solution.dominated_widths)}."
        )
    violations = solution.frontier.speedup.violations()
    broken = sorted({ASSUMPTIONS[violation.assumption] for violation in violations})
    if broken:
        remarks.append(
            f"The curve violates assumptions of the paper ({shortened(broken)}); the answer is "
            f"still exact."
        )
    remarks.append(_optimality(solution.certificate.max_violation))
    return remarks
