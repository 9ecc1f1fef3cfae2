"""A tuned policy as text."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from moldable.model.units import duration
from moldable.policies.decisions import Decisions
from moldable.reporting.decisions_text import show_decisions
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.words import times_are
from moldable.tuning.tuned import Tuned


def show_tuned(console: Console, answer: Tuned, decided: tuple[Decisions, ...]) -> None:
    """Print the decisions of the tuned policy and of others, then the performance of all."""
    console.print(f"Give each job, by idle servers: {answer.thresholds}.")
    if answer.blocking_cost is not None:
        cost = f"{answer.blocking_cost:.4g}"
        console.print(f"It is the value policy at a blocking cost of {cost} mean sizes.")
    headings = {"tuned": "tuned"}
    if answer.greedy_p is not None:
        headings["greedy_p"] = "greedy(p*)"
    if answer.static is not None:
        headings["static"] = f"for load {answer.static.design_load:.4g}"
    show_decisions(console, decided, {**headings, "greedy": "greedy"})
    console.print("Expected performance:")
    print_table(console, _performance_table(answer))
    if answer.time_unit is None:
        console.print(times_are(answer.performance))
    if answer.limited:
        console.print(_kept(answer))
    if answer.stresses:
        console.print("If the assumptions fail:")
        print_table(console, _stresses(answer))
    if answer.seed is not None:
        console.print(f"Random seed: {answer.seed}.")


def _kept(answer: Tuned) -> str:
    assumed = answer.performance.scenario.assumptions
    if not answer.certified:
        return f"Not certified: the limit lies within the 95 % confidence interval ({assumed})."
    figure = "Mean execution time" if "max_time" in answer.target else "Blocking"
    sure = "95 % confidence" if answer.performance.method == "simulate" else "exact"
    return f"{figure} stays within the limit ({sure}, {assumed})."


def _stresses(answer: Tuned) -> Table:
    table = plain_table("case", right=("blocking", "mean execution time"))
    for stress in answer.stresses:
        found = stress.performance
        time = duration(found.mean_execution_time, answer.time_unit)
        table.add_row(stress.case, str(found.blocking), time)
    return table


def _performance_table(answer: Tuned) -> Table:
    table = plain_table("policy", right=("blocking", "mean execution time"))
    unit = answer.time_unit
    rows = [("tuned", answer.performance)]
    if answer.greedy_p is not None:
        rows.append(("greedy(p*)", answer.greedy_p))
    if answer.static is not None:
        load = f"greedy(p*) for load {answer.static.design_load:.4g}"
        rows.append((load, answer.static.performance))
    for name, part in rows:
        table.add_row(name, str(part.blocking), duration(part.mean_execution_time, unit))
    if answer.greedy_p is None:
        table.add_row("greedy(p*)", "overloaded", "")
    if answer.static is None:
        table.add_row("greedy(p*) for another load", "none found", "")
    if answer.optimum is not None:
        best = answer.optimum
        # It is computed to about 1e-4.
        time = duration(f"{best.mean_execution_time:.4g}", unit)
        table.add_row("true optimum", f"{best.blocking:.4g}", time)
    return table
