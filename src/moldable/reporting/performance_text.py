"""The performance of a policy as text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from moldable.model.units import SYMBOLS, duration, rate
from moldable.reporting.tables import boxed_table, print_table
from moldable.reporting.words import percent, times_are
from moldable.system.estimate import Estimate
from moldable.system.performance import ExactDetail, Performance, SimulationDetail
from moldable.system.queueing import Queueing


def show_performance(console: Console, answer: Performance) -> None:
    """Print the main results, the tables of widths and classes, and the method."""
    unit, queueing = answer.time_unit, answer.queueing
    if queueing is not None:
        _show_queueing(console, answer, queueing)
    if queueing is None or math.isfinite(answer.scenario.waiting):
        console.print(f"Blocking: {answer.blocking}{_sure(answer.blocking, answer)}")
    console.print(f"Mean execution time: {duration(answer.mean_execution_time, unit)}")
    if answer.quantiles:
        console.print(_levels("execution time", answer.quantiles, unit))
    throughput = float(f"{answer.departure_rate * answer.provenance['servers']:.5g}")
    console.print(
        f"Servers busy: {percent(answer.busy_fraction)}; throughput: "
        f"{rate(f'{throughput:,.15g}', unit)}"
    )
    if unit is None:
        console.print(times_are(answer))
    if answer.width_shares:
        print_table(console, _widths(answer))
    if len(answer.classes) > 1:
        print_table(console, _classes(answer))
    if isinstance(answer.detail, ExactDetail):
        console.print(_solution(answer, answer.detail))
    else:
        console.print(_run(answer, answer.detail))


def _show_queueing(console: Console, answer: Performance, queueing: Queueing) -> None:
    unit = answer.time_unit
    response = queueing.mean_response_time
    console.print(f"Mean response time: {duration(response, unit)}{_sure(response, answer)}")
    if answer.response_bound is not None:
        bound = duration(f"{answer.response_bound:.6g}", unit)
        above = percent(response.value / answer.response_bound - 1.0)
        console.print(
            f"No policy has a mean response time below {bound}; this one is {above} above."
        )
    console.print(
        f"Mean wait: {duration(queueing.mean_wait, unit)}; "
        f"jobs that wait: {_share(queueing.wait_probability)}; "
        f"mean queue length: {queueing.queue_length}"
    )
    for name, levels in (
        ("wait", queueing.wait_quantiles),
        ("response time", queueing.response_quantiles),
    ):
        if levels:
            console.print(_levels(name, levels, unit))
    if answer.method == "chain":
        console.print("Quantiles of the wait and the response time: see moldable simulate")
    if queueing.bounded_slowdown is not None:
        least = duration(f"{answer.slowdown_threshold:g}", unit)
        console.print(f"Mean bounded slowdown (threshold {least}): {queueing.bounded_slowdown}")
    if queueing.slowdown is not None:
        slowdown = queueing.slowdown
        text = str(slowdown) if math.isfinite(slowdown) else "infinite (sizes come close to 0)"
        console.print(f"Mean slowdown: {text}")


def _levels(what: str, levels: Mapping[float, float], unit: str | None) -> str:
    times = ", ".join(f"{100 * level:g} %: {float(time):.4g}" for level, time in levels.items())
    among = "" if unit is None else f" in {SYMBOLS[unit]}"
    return f"Quantiles of the {what}{among}: {times}"


def _solution(answer: Performance, detail: ExactDetail) -> str:
    return (
        f"Exact, {answer.method} under {answer.provenance['policy']}. {_sentence(answer.reason)} "
        f"{detail.states:,} states, error at most {detail.error_bound:.1g}, neglected mass "
        f"{detail.neglected_mass:.1g}."
    )


def _run(answer: Performance, detail: SimulationDetail) -> str:
    reason = "" if answer.reason == "asked for" else f"Simulated: {answer.reason}. "
    return (
        f"{reason}{detail.arrivals:,} arrivals in {answer.provenance['replications']} replications "
        f"under {answer.provenance['policy']}, kernel {detail.kernel}, start {detail.start}, "
        f"warm-up {detail.warmup:.3g} mean sizes, {detail.arrivals_per_second / 1e6:.3g} "
        f"million arrivals per second and core; seed {detail.seed}."
    )


def _share(estimate: Estimate) -> str:
    """Write a share, or its upper limit if the simulation saw none."""
    if estimate.value == 0.0 and estimate.interval is not None and estimate.interval[1] > 0.0:
        return f"none of those simulated, at most {100.0 * estimate.interval[1]:.2g} %"
    return percent(estimate.value)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _sure(estimate: Estimate, answer: Performance) -> str:
    if isinstance(answer.detail, ExactDetail):
        return "  (exact)"
    if estimate.interval is None or estimate.half_width == 0.0:
        return ""
    low, high = estimate.interval
    return f"  (95 % confidence interval {low:.4g} to {high:.4g})"


def _widths(answer: Performance) -> Table:
    table = boxed_table(
        "Widths granted", right=("width", "share of accepted jobs", "jobs per server")
    )
    for width, share in answer.width_shares.items():
        table.add_row(str(width), percent(share), f"{answer.mean_jobs[width]:.5g}")
    return table


def _classes(answer: Performance) -> Table:
    unit, waits = answer.time_unit, answer.queueing is not None
    more = ("mean response time", "mean wait") if waits else ()
    headings = ("blocking", "mean execution time", *more)
    table = boxed_table("By class", "class", right=headings)
    for part in answer.classes:
        own = part.queueing
        times = () if own is None else (own.mean_response_time, own.mean_wait)
        shown = (duration(time, unit) for time in (part.mean_execution_time, *times))
        table.add_row(part.name, str(part.blocking), *shown)
    return table
