"""A plan as text: the decision first, then what it is based on."""

from __future__ import annotations

import math
from typing import Final

from rich.console import Console
from rich.table import Table

from moldable.model.units import SYMBOLS, duration, unit_in_heading, unit_name
from moldable.planning.goal import TIMES
from moldable.planning.result import Plan, throughput
from moldable.planning.sensitivity import HIGHEST
from moldable.planning.sizing import UNDECIDED, ClusterSize
from moldable.reporting.actions_text import actions_table
from moldable.reporting.noise_text import (
    SUPPORTS,
    UNCERTAIN,
    noise_lines,
    supports_table,
    uncertain_table,
)
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import short_figure, times_are
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance

EDGE: Final = 1.02
"""Largest load, relative to the present one, at which a policy uses its target up."""
UNCHANGED: Final = 1e-3
"""Relative change of the blocking that is not worth a number."""


def show_plan(console: Console, answer: Plan) -> None:
    """Print the decision, the expected performance, the sizes and the sensitivity."""
    for line in _decision(answer):
        console.print(line)
    for part in answer.actions:
        of = f" to {part.job_class}" if len(answer.actions) > 1 else ""
        by = "idle servers (rows) and jobs waiting behind" if waits(answer) else "idle servers"
        console.print(f"Servers given{of}, by {by}:")
        print_table(console, actions_table(part, waits=waits(answer)))
    console.print("Expected performance (times are means):")
    print_table(console, comparison_table(answer))
    if math.isinf(answer.scenario.waiting):
        per = unit_name(answer.time_unit)
        console.print(f"Throughput: {answer.throughput.value:.4g} jobs per {per}; none is lost.")
    for line in (*problems(answer), one_more_server(answer)):
        console.print(line)
    if answer.sizes:
        console.print(
            f"Smallest cluster with {target_words(answer)}, and the least on one server fewer:"
        )
        print_table(console, sizes_table(answer))
    for size in answer.sizes:
        if size.problem == UNDECIDED:
            console.print(
                f"{size.servers - 1} servers are nearly saturated"
                f"{'' if size.growth == 1.0 else f' with {growth_words(size)}'}: simulations of a "
                f"plan are too short to show whether they meet the target."
            )
    console.print("If the assumptions fail or widths differ, with the same policy unless re-tuned:")
    print_table(console, cases_table(answer))
    for line in edge_lines(answer):
        console.print(line)
    _show_noise(console, answer)
    if answer.time_unit is None:
        console.print(times_are(answer.performance))
    sure = "95 % confidence" if answer.performance.method == "simulate" else "exact"
    console.print(f"The expected performance holds for {answer.assumptions} ({sure}).")
    console.print(f"Random seed: {answer.seed}.")


def _show_noise(console: Console, answer: Plan) -> None:
    noise = answer.curve_noise
    if noise is not None:
        console.print(f"{SUPPORTS.format(noise.resamples)}:")
        print_table(console, supports_table(noise))
        uncertain = uncertain_table(noise)
        if uncertain.row_count:
            console.print(f"{UNCERTAIN.format(noise.tables)}:")
            print_table(console, uncertain)
    for line in noise_lines(answer):
        console.print(line)


def waits(answer: Plan) -> bool:
    """Return whether there are waiting places."""
    return answer.scenario.waiting > 0


def target_words(answer: Plan) -> str:
    """Return the target in words."""
    goal = answer.goal
    value = f"{goal.value:.6g}"
    return (
        f"{goal.words} at most {duration(value, answer.time_unit) if goal.name in TIMES else value}"
    )


def _decision(answer: Plan) -> list[str]:
    goal, n = answer.goal, answer.scenario.servers
    servers = "1 server" if n == 1 else f"{n} servers"
    lines = [f"Plan for {servers} at load {answer.scenario.load:.4g}."]
    if goal.limited:
        figure = limited_figure(answer, answer.performance)
        if answer.choice.kept:
            lines.append(
                f"The cluster meets the target, {target_words(answer)}: {figure} expected."
            )
        else:
            lines.append(
                f"The cluster does not meet the target, {target_words(answer)}; the best found is "
                f"{figure}."
            )
    elif goal.blocking_cost is not None:
        cost = f"{goal.blocking_cost:g}"
        lines.append(f"Objective: least cost per arrival; a blocked job costs {cost} mean sizes.")
    else:
        lines.append("Objective: least mean response time.")
    for size in answer.sizes:
        when = "now" if size.growth == 1.0 else f"with {growth_words(size)}"
        lines.append(f"Servers needed {when}: {size.servers}.")
    lines.append(f"Recommended policy: {answer.choice.words}.")
    return lines


def growth_words(size: ClusterSize) -> str:
    """Return the growth of the arrival rates in words."""
    percent = 100.0 * (size.growth - 1.0)
    return f"{abs(percent):.4g} % {'more' if percent > 0.0 else 'fewer'} jobs"


def limited_figure(answer: Plan, found: Performance) -> str:
    """Return the limited figure with its unit."""
    figure = answer.goal.figure(found)
    return duration(figure, answer.time_unit) if answer.goal.name in TIMES else str(figure)


def _columns(first: str, answer: Plan, *more: str) -> Table:
    return plain_table(first, right=(*headings(answer), *more))


def headings(answer: Plan) -> tuple[str, ...]:
    """Return the headings of the main figures."""
    unit = unit_in_heading(answer.time_unit)
    if not waits(answer):
        return ("blocking", f"execution{unit}")
    lost = ("blocking",) if math.isfinite(answer.scenario.waiting) else ()
    return (f"response{unit}", f"wait{unit}", "P(wait)", *lost)


def figure_cells(answer: Plan, found: Performance) -> tuple[str, ...]:
    """Return the main figures."""
    queueing = found.queueing
    if queueing is None:
        return (short_figure(found.blocking), short_figure(found.mean_execution_time))
    return (
        short_figure(queueing.mean_response_time),
        short_figure(queueing.mean_wait),
        short_figure(queueing.wait_probability),
        *((short_figure(found.blocking),) if math.isfinite(answer.scenario.waiting) else ()),
    )


def comparison_table(answer: Plan) -> Table:
    """Return the performance of the recommended policy and of the others."""
    unit = answer.time_unit
    per = "jobs/time" if unit is None else f"jobs/{SYMBOLS[unit]}"
    lossy = math.isfinite(answer.scenario.waiting)
    more = (per, "busy") if lossy else ("busy",)
    table = _columns("policy", answer, *more)
    blank = ("",) * (len(headings(answer)) + len(more))

    def row(name: str, found: Performance) -> None:
        done = (short_figure(throughput(found)),) if lossy else ()
        busy = f"{100.0 * found.busy_fraction:.1f} %"
        table.add_row(name, *figure_cells(answer, found), *done, busy)

    row("recommended", answer.performance)
    for other in answer.alternatives:
        if other.performance is None:
            problem = "queue grows" if waits(answer) else "overloaded"
            table.add_row(other.name, problem, *blank[1:])
        else:
            row(other.name, other.performance)
    best = answer.optimum
    if best is not None:
        known = (best.blocking, best.mean_execution_time)
        if best.mean_response_time is not None:
            known = best.mean_response_time, best.mean_wait
        figures = tuple("" if figure is None else f"{figure:.4g}" for figure in known)
        table.add_row("best of all policies", *figures, *blank[len(figures) :])
    return table


def problems(answer: Plan) -> list[str]:
    """Return why policies have no figures."""
    return [
        f"{other.name[:1].upper()}{other.name[1:]}: {other.problem.partition(';')[0]}."
        for other in answer.alternatives
        if other.problem
    ]


def one_more_server(answer: Plan) -> str:
    """Say what one more server changes."""
    value, unit = answer.server_value, answer.time_unit
    if value.mean_response_time is None and value.blocking == value.mean_execution_time == 0.0:
        return "One more server does not improve these figures: no better policy was found for it."
    changes = []
    if math.isfinite(answer.scenario.waiting):
        small = abs(value.blocking) < UNCHANGED * answer.performance.blocking
        changes.append("blocking unchanged" if small else f"blocking {_change(value.blocking)}")
    if value.mean_response_time is not None:
        changes.append(f"mean response {duration(_change(value.mean_response_time), unit)}")
    else:
        changes.append(f"mean execution time {duration(_change(value.mean_execution_time), unit)}")
    response, queueing = value.mean_response_time, answer.performance.queueing
    if response is not None and queueing and response > -UNCHANGED * queueing.mean_response_time:
        sure = response.half_width < UNCHANGED * queueing.mean_response_time
        error = "" if sure else f" measurably ({duration(_change(response), unit)})"
        return f"One more server does not shorten the mean response time{error}."
    line = f"One more server, with a policy for it: {', '.join(changes)}."
    if value.time_saved_on_large_clusters:
        saved = duration(f"{value.time_saved_on_large_clusters:.3g}", unit)
        line += f" Shadow price: {saved} of mean execution time per server on a large cluster."
    return line


def _change(figure: Estimate) -> str:
    exact = figure.half_width <= 1e-9 * abs(figure.value)
    return f"{figure.value:+.3g}" if exact else f"{'+' if figure.value > 0 else ''}{figure}"


def sizes_table(answer: Plan) -> Table:
    """Return the smallest clusters."""
    table = _columns("arrivals", answer, "on one fewer")
    for size in answer.sizes:
        when = "now" if size.growth == 1.0 else growth_words(size)
        fewer = size.problem
        if size.fewer is not None:
            fewer = short_figure(answer.goal.figure(size.fewer.performance))
        name = f"{when}: {size.servers} servers"
        table.add_row(name, *figure_cells(answer, size.choice.performance), fewer)
    return table


def cases_table(answer: Plan) -> Table:
    """Return the cases of the sensitivity analysis."""
    limited = answer.goal.limited
    table = _columns("case", answer, *(("target",) if limited else ()))
    blank = ("",) * (len(headings(answer)) - 1)

    def row(name: str, found: Performance | None, problem: str) -> None:
        figures = (problem, *blank) if found is None else figure_cells(answer, found)
        kept = found is not None and answer.goal.met(found)
        table.add_row(name, *figures, *((("met" if kept else "missed"),) if limited else ()))

    for case in answer.sensitivity.cases:
        row(case.name, case.performance, case.problem)
        if case.kind == "load":
            row(f"{case.name}, re-tuned", case.retuned, case.retuned_problem)
    return table


def edge_lines(answer: Plan) -> list[str]:
    """Say how far the load may grow."""
    found = answer.sensitivity
    if not answer.goal.limited:
        return []
    ends = []
    for who, factor in (
        ("This policy", found.policy_holds_to),
        ("A policy tuned to the load", found.cluster_holds_to),
    ):
        if factor is None:
            ends.append(f"{who} does not meet the target at the present load.")
        elif factor >= HIGHEST:
            ends.append(f"{who} meets the target up to twice the present load and more.")
        else:
            ends.append(f"{who} meets the target up to {100.0 * factor:.0f} % of the present load.")
    own, tuned = found.policy_holds_to, found.cluster_holds_to
    if own is not None and tuned is not None and own < EDGE < tuned:
        ends.append("The recommended policy leaves no margin: tune it again when the load grows.")
    return ends
