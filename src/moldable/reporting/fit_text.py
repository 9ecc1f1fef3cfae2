"""A fit to measurements as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.errors import shortened
from moldable.fitting.decision import Decision
from moldable.fitting.fit import Fit
from moldable.fitting.model_selection import ACCEPTED
from moldable.fitting.models import ModelFit
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import advice, count, percent, short_figure
from moldable.system.performance import Performance

MOST_SUPPORTS: Final = 6
MOST_DIPS: Final = 8
MOST_ROWS: Final = 40
SMALL_ERROR: Final = 1e-4
SYMBOLS: Final = {
    "parallel_fraction": "fraction",
    "contention": "contention",
    "coherency": "coherency",
    "average_parallelism": "A",
    "variance": "sigma",
    "exponent": "exponent",
}
"""Short names of the parameters, as in the help of --speedup."""


def show_fit(console: Console, answer: Fit) -> None:
    """Print the speed-ups, the models, the recommendation and remarks."""
    runs = int(answer.measurements.counts.sum())
    console.print(f"{runs} runs at {answer.widths.size} widths; {_noise(answer)}.")
    print_table(console, _speedups(answer))
    print_table(console, _models(answer))
    if answer.reason == "requested":
        console.print(f"Requested: {_described(answer)}.")
    else:
        console.print(f"Recommended: {_described(answer)}, because {answer.reason}.")
    if answer.notation is not None:
        console.print(f"On the command line: --speedup {answer.notation}")
    for line in _remarks(answer):
        console.print(line)


def show_decision(
    console: Console, decision: Decision, predicted: Mapping[str, Performance | None]
) -> None:
    """Print the optimum, how often noise changes it, and what neighbouring widths cost."""
    best = decision.optimum
    on = f" on {count(best.servers)}" if best.servers else ""
    console.print(
        f"At load {best.load:g}{on}, {advice(best.mix)}: the mean execution time is "
        f"{best.mean_execution_time:.4g} mean sizes."
    )
    table = plain_table("optimal widths", right=("share of resamples",))
    shown = list(decision.supports.items())[:MOST_SUPPORTS]
    for widths, share in shown:
        table.add_row(" and ".join(map(str, widths)), percent(share))
    rest = sum(decision.supports.values()) - sum(share for _, share in shown)
    if rest > 0.0:
        table.add_row("others", percent(rest))
    if decision.infeasible > 0.0:
        table.add_row("none: the load is too high", percent(decision.infeasible))
    print_table(console, table)
    (low, high), (least, most) = decision.time_interval, decision.busy_interval
    console.print(
        f"If the true curve is one of {decision.resamples} resamples, these shares give a mean "
        f"time from {low:.4g} to {high:.4g} and keep {percent(least)} to {percent(most)} of the "
        f"servers busy (95 %)."
    )
    console.print("Cost of widths one step too narrow or too wide on the frontier:")
    print_table(console, _steps(decision, predicted))
    if any(step.busy_fraction > 1.0 + 1e-9 for step in decision.steps):
        console.print("More than 100 % busy: a large cluster would be overloaded.")
    if predicted and best.servers is not None:
        console.print(
            f"* on {count(best.servers)}: widths drawn from these shares, or narrower if fewer "
            f"servers are idle."
        )


def _noise(answer: Fit) -> str:
    noise = answer.noise
    spread = f"{100.0 * noise.typical:.2g} %"
    if noise.assumed:
        return f"noise of a run {spread} (assumed: no estimate from repeats)"
    if noise.common:
        return f"noise of a run {spread} (pooled, {noise.freedom[0]:.0f} degrees of freedom)"
    low, high = 100.0 * noise.deviation.min(), 100.0 * noise.deviation.max()
    return f"noise of a run {low:.2g} to {high:.2g} % (it differs between widths)"


def _speedups(answer: Fit) -> Table:
    fitted = () if answer.chosen == "measured" else (f"{answer.chosen} fit",)
    table = plain_table(right=("width", "runs", "speed-up", "95 % interval", *fitted))
    table.add_column("")
    slower = {dip.width for dip in answer.dips}
    rows = answer.table()
    for k, row in enumerate(rows):
        if len(rows) > MOST_ROWS and k == MOST_ROWS - 1:
            table.add_row("...")
        if len(rows) > MOST_ROWS and MOST_ROWS - 1 <= k < len(rows) - 1:
            continue
        exact = row["low"] == row["high"]
        marks = ["dip"] if row["width"] in slower else []
        marks += [] if row["on_frontier"] else ["off the frontier"]
        table.add_row(
            str(row["width"]),
            str(row["runs"]),
            f"{row['speedup']:.4g}",
            "-" if exact else f"{row['low']:.4g} to {row['high']:.4g}",
            *([f"{row['fitted']:.4g}"] if answer.chosen != "measured" else []),
            ", ".join(marks),
        )
    return table


def _models(answer: Fit) -> Table:
    table = plain_table("model", right=("error", "cross-validated"))
    for heading in ("within noise", "parameters"):
        table.add_column(heading)
    for part in answer.models:
        table.add_row(*_model(part), style="bold" if part.model == answer.chosen else None)
    return table


def _model(part: ModelFit) -> tuple[str, ...]:
    return (
        part.model,
        _error(None if part.model == "measured" else part.error),
        _error(part.cross_validated_error),
        ("yes" if part.p_value >= ACCEPTED else "no") if part.tested else "-",
        ", ".join(f"{SYMBOLS[name]} {value:.4g}" for name, value in part.parameters.items()),
    )


def _error(error: float | None) -> str:
    if error is None:
        return "-"
    return f"{100.0 * error:.2g} %" if error >= SMALL_ERROR else "< 0.01 %"


def _described(answer: Fit) -> str:
    return "the measured curve" if answer.chosen == "measured" else f"the {answer.chosen} fit"


def _remarks(answer: Fit) -> list[str]:
    remarks = []
    if answer.dips:
        listed = "; ".join(map(str, answer.dips[:MOST_DIPS]))
        more = f"; and {len(answer.dips) - MOST_DIPS} more" if len(answer.dips) > MOST_DIPS else ""
        remarks.append(f"Slower than a narrower width, beyond the noise: {listed}{more}.")
    remarks.append(f"Frontier, the widths worth using: {shortened(answer.frontier.widths)}.")
    baseline = answer.measured.baseline
    if baseline:
        remarks.append(f"{baseline[0].upper()}{baseline[1:]}. Loads depend on this.")
    if answer.extrapolated is not None:
        remarks.append(
            f"Continued to width 1, the {answer.chosen} fit would give width {answer.widths[0]} a "
            f"speed-up of {answer.extrapolated:.4g}."
        )
    return remarks


def _steps(decision: Decision, predicted: Mapping[str, Performance | None]) -> Table:
    more = ("blocking*", "mean time*") if predicted else ()
    table = plain_table("", "widths", right=("mean time", "busy servers", *more))
    for step in decision.steps:
        widths = ", ".join(
            str(width) if share == 1.0 else f"{width} ({percent(share)})"
            for width, share in step.widths.items()
        )
        found = predicted.get(step.name)
        own = (
            ["-", "-"]
            if found is None
            else [short_figure(found.blocking), short_figure(found.mean_execution_time)]
        )
        table.add_row(
            step.name.removeprefix("one step "),
            widths,
            f"{step.mean_execution_time:.4g}",
            percent(step.busy_fraction),
            *(own if predicted else []),
        )
    return table
