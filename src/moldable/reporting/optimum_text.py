"""How is the optimum of one class told to a person?"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from moldable.allocation.optimum import Optimum
from moldable.errors import shortened
from moldable.model.regime import Regime
from moldable.reporting.words import advice, count, percent

SHOW_ALL: Final = 16
AROUND: Final = 3


def show_optimum(console: Console, solution: Optimum, regime: Regime | None) -> None:
    """Print the table of widths, then what to do in a sentence, then what else is worth knowing."""
    named = f", {regime.name} regime" if regime else ""
    on = f" on {count(solution.servers)}" if solution.servers else ""
    console.print(_table(solution, f"Optimal widths at load {solution.load:.6g}{on}{named}"))
    faster = 1.0 / solution.mean_execution_time
    console.print(
        f"{advice(solution.mix).capitalize()}: the mean execution time is "
        f"{solution.mean_execution_time:.6g} mean sizes ({faster:.4g} times faster than one server "
        f"each), with {percent(solution.busy_fraction)} of the servers busy."
    )
    for line in _remarks(solution):
        console.print(line)


def _table(solution: Optimum, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("width", "speed-up", "share of jobs", "jobs per server"):
        table.add_column(heading, justify="right")
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
            *(["never needed"] if width in dominated else []),
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


def _proof(violation: float) -> str:
    """Say how well the certificate holds, in powers of ten above the noise of rounding."""
    power = math.ceil(math.log10(max(violation, 1e-15)))
    return f"every optimality condition holds within 1e{power}"


def _remarks(solution: Optimum) -> list[str]:
    remarks = []
    if solution.shadow_price:
        remarks.append(f"Shadow price: {solution.shadow_price:.6g} of time per server-time.")
    else:
        remarks.append(
            "Capacity is slack: at these widths more servers would not make jobs faster."
        )
    if solution.time_saved_by_one_server:
        remarks.append(
            f"One more server saves {solution.time_saved_by_one_server:.4g} mean sizes a job."
        )
    if solution.why_not_unique:
        remarks.append(f"Other shares are as good: {solution.why_not_unique}.")
    if solution.dominated_widths.size:
        remarks.append(f"Never needed: widths {shortened(solution.dominated_widths)}.")
    broken = sorted({violation.assumption for violation in solution.frontier.speedup.violations()})
    if broken:
        words = shortened(word.replace("_", " ") for word in broken)
        remarks.append(f"The curve leaves the paper's assumptions (not {words}); no harm here.")
    remarks.append(f"Proof: {_proof(solution.certificate.max_violation)}.")
    return remarks
