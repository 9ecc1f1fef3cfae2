"""How is a simulated performance told to a person?"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from moldable.performance import Estimate, Performance
from moldable.reporting.words import percent


def show_performance(console: Console, answer: Performance) -> None:
    """Print what matters first, then the table of classes, then how it was found."""
    console.print(f"Blocking: {answer.blocking}{_sure(answer.blocking)}")
    console.print(f"Mean execution time: {answer.mean_execution_time}")
    times = ", ".join(f"{100 * level:g} %: {time:.4g}" for level, time in answer.quantiles.items())
    console.print(f"Jobs done within (quantiles of the execution time): {times}")
    console.print(
        f"Servers busy: {percent(answer.busy_fraction)}; departures per server and time: "
        f"{answer.departure_rate:.5g}"
    )
    console.print(_widths(answer))
    if len(answer.classes) > 1:
        console.print(_classes(answer))
    console.print(
        f"{answer.arrivals:,} arrivals in {answer.provenance['replications']} replications under "
        f"{answer.provenance['policy']}, kernel {answer.kernel}, start {answer.start}, warm-up "
        f"{answer.warmup:.3g} mean sizes, {answer.arrivals_per_second / 1e6:.3g} million a second "
        f"and core; seed {answer.seed}."
    )


def _sure(estimate: Estimate) -> str:
    if estimate.interval is None:
        return ""
    low, high = estimate.interval
    return f"  (95 % interval {low:.4g} to {high:.4g})"


def _widths(answer: Performance) -> Table:
    table = Table(title="What jobs were granted", title_justify="left")
    for heading in ("width", "share of accepted jobs", "jobs per server"):
        table.add_column(heading, justify="right")
    for width, share in answer.width_shares.items():
        table.add_row(str(width), percent(share), f"{answer.mean_jobs[width]:.5g}")
    return table


def _classes(answer: Performance) -> Table:
    table = Table(title="By class", title_justify="left")
    table.add_column("class")
    for heading in ("blocking", "mean execution time"):
        table.add_column(heading, justify="right")
    for part in answer.classes:
        table.add_row(part.name, str(part.blocking), str(part.mean_execution_time))
    return table
