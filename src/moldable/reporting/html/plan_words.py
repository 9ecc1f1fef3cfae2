"""The decision of a plan in sentences."""

from __future__ import annotations

import math
from typing import Final

from moldable.model.units import duration, unit_name
from moldable.planning.alternatives import scaled
from moldable.planning.result import Plan
from moldable.planning.sizing import OVERLOADED, UNDECIDED
from moldable.reporting.html.document import Bullets
from moldable.reporting.plan_text import (
    edge_lines,
    growth_words,
    limited_figure,
    one_more_server,
    target_words,
)
from moldable.reporting.words import count, percent, short_figure
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance

MOST_CLASSES: Final = 8
COMMON: Final = 0.01
"""Widths of fewer jobs than this are not listed."""
SAME: Final = 0.005
"""Relative differences below this are called equal."""


def verdict(answer: Plan) -> str:
    """Return the decision in one or two sentences."""
    n, goal = count(answer.scenario.servers), answer.goal
    if not goal.limited:
        figure = _main_figure(answer, answer.performance)
        return f"With the recommended policy, {n} give {figure}."
    figure = limited_figure(answer, answer.performance)
    if answer.choice.kept:
        first = f"{n.capitalize()} meet the target, {target_words(answer)}: {figure} expected."
    else:
        first = (
            f"{n.capitalize()} do not meet the target, {target_words(answer)}: {figure} is the "
            f"best found."
        )
    sizes = [
        f"{count(size.servers)} {'now' if size.growth == 1.0 else f'with {growth_words(size)}'}"
        for size in answer.sizes
    ]
    return f"{first} Needed: {' and '.join(sizes)}." if sizes else first


def decision(answer: Plan) -> Bullets:
    """Return what to do, what will happen, what is needed, and how certain it is."""
    entries = [
        ("What to do", _policy(answer)),
        ("Widths that jobs will get", _widths(answer)),
        ("What to expect", _expected(answer)),
        ("Compared with the largest width that fits", _compared(answer)),
    ]
    if answer.sizes:
        entries.append(("Servers needed", _needed(answer)))
    more = one_more_server(answer).removeprefix("One more server").lstrip(", ")
    entries += [
        ("One more server", f"{more[:1].upper()}{more[1:]}"),
        ("How certain", _certainty(answer)),
    ]
    return Bullets(tuple((heading, text) for heading, text in entries if text))


def _policy(answer: Plan) -> str:
    by = "idle servers and waiting jobs" if answer.scenario.waiting else "idle servers"
    words = answer.choice.words
    return (
        f"When a job can start, give it the servers that the policy table below lists for its "
        f"class, by {by} ({words}). The width stays the same until the job ends. "
        f"--policy-out FILE.json writes the table for a scheduler."
    )


def _widths(answer: Plan) -> str:
    parts = []
    for found in answer.performance.classes[:MOST_CLASSES]:
        shares = {w: s for w, s in sorted(found.width_shares.items()) if s >= COMMON}
        if not shares:
            continue
        if len(shares) == 1:
            parts.append(f"{found.name}: always {count(*shares)}")
            continue
        listed = ", ".join(f"{w} ({100.0 * s:.0f} %)" for w, s in shares.items())
        parts.append(f"{found.name}: {listed}")
    left = len(answer.performance.classes) - MOST_CLASSES
    more = f"; {left} more classes are in the tables" if left > 0 else ""
    return f"{'; '.join(parts)}{more}. In brackets: share of the started jobs."


def _expected(answer: Plan) -> str:
    found, unit = answer.performance, answer.time_unit
    busy = f"{percent(float(f'{found.busy_fraction:.3g}'))} of the servers are busy on average"
    done = f"{short_figure(answer.throughput)} jobs per {unit_name(unit)} are completed"
    if found.queueing is None:
        time = duration(short_figure(found.mean_execution_time), unit)
        lost = short_figure(found.blocking)
        return f"Blocking probability {lost}; mean execution time {time}; {done}; {busy}."
    queueing = found.queueing
    lost = ""
    if math.isfinite(answer.scenario.waiting):
        lost = f"; blocking probability {short_figure(found.blocking)}"
    return (
        f"Mean response time {duration(short_figure(queueing.mean_response_time), unit)}, of which "
        f"{duration(short_figure(queueing.mean_wait), unit)} is waiting; "
        f"{percent(float(f'{queueing.wait_probability.value:.3g}'))} of the jobs wait{lost}; "
        f"{done}; {busy}."
    )


def _compared(answer: Plan) -> str:
    greedy = next((other for other in answer.alternatives if other.key == "greedy"), None)
    if greedy is None:
        return ""
    if greedy.performance is None:
        return f"Giving each job the largest width that fits does not work here: {greedy.problem}."
    changes = [
        f"{name.replace('_', ' ')} is {_change(gain)}" for name, gain in greedy.gains.items()
    ]
    return (
        f"Schedulers usually give a job the largest width that fits. Against that, "
        f"{' and '.join(changes)}."
    )


def _change(gain: Estimate) -> str:
    """Write a relative change, or that there is none beyond the error of the simulation."""
    ends = gain.interval or (gain.value, gain.value)
    if max(map(abs, ends)) < SAME:
        return "about the same"
    if ends[0] <= 0.0 <= ends[1]:
        return "the same within the error of the simulation"
    size = scaled(gain, 100.0 if gain.value > 0.0 else -100.0)
    return f"{short_figure(size)} % {'higher' if gain.value > 0.0 else 'lower'}"


def _needed(answer: Plan) -> str:
    parts = []
    for size in answer.sizes:
        when = "At the present load" if size.growth == 1.0 else f"With {growth_words(size)}"
        fewer = f"one fewer {_problem(size.problem)}"
        if size.fewer is not None:
            fewer = f"one fewer gives {limited_figure(answer, size.fewer.performance)}"
        parts.append(f"{when}, {count(size.servers)} meet the target; {fewer}.")
    parts.append(f"This holds for {answer.assumptions}; burstier arrivals usually need more.")
    return " ".join(parts)


def _problem(problem: str) -> str:
    """Say why there are no figures for one server fewer."""
    if problem == UNDECIDED:
        return "is nearly saturated, and simulations are too short to show whether it meets it"
    return "cannot carry the load" if problem == OVERLOADED else f"gives {problem}"


def _certainty(answer: Plan) -> str:
    exact = answer.performance.method != "simulate"
    how = (
        "The figures are exact for"
        if exact
        else "The figures are simulated, with 95 % confidence intervals, for"
    )
    lines = [f"{how} {answer.assumptions}.", *edge_lines(answer)]
    broken = [case.name for case in answer.sensitivity.cases if case.kept is False]
    if broken:
        lines.append(f"The target is missed in these cases: {', '.join(broken)}.")
    elif answer.goal.limited:
        lines.append("The target is met in every case of the sensitivity analysis.")
    return " ".join(lines)


def _main_figure(answer: Plan, found: Performance) -> str:
    unit = answer.time_unit
    if found.queueing is not None:
        response = duration(short_figure(found.queueing.mean_response_time), unit)
        return f"a mean response time of {response}"
    time = duration(short_figure(found.mean_execution_time), unit)
    return f"blocking {short_figure(found.blocking)} and a mean execution time of {time}"
