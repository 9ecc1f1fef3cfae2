"""The policies that the explorer compares, and the target of the tuned one."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.allocation.division import fitting_frontiers
from moldable.explorer.question import Question
from moldable.planning.goal import BLOCKING_COST

TUNED = "tuned"
OPTIMUM = "optimum"
"""Names of the tuned policy and of the optimum over all policies."""
EQUI: Final = "equi"
VALUE: Final = "value"
MOST_FIXED: Final = 3
TABLE_WORK: Final = 5e7
"""Servers x widest width^2 up to which a table takes a moment: it solves a banded system."""
LATER: Final = "this takes more than a moment"
"""Why a quick answer has no numbers that a full one has."""


def spellings(question: Question) -> tuple[str, ...]:
    """Return the policies to compare, as on the command line; the list does not depend on the load.

    Examples:
        >>> spellings(Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), 16, 0.8))
        ('greedy-p', 'greedy', 'fixed:1', 'fixed:2', 'equi')
    """
    first = ("value", "even-price", "idle-share") if question.waiting else ("greedy-p", "greedy")
    fixed = tuple(f"fixed:{width}" for width in fixed_widths(question))
    preemptive = len(question.classes) == 1 and question.arrivals == "poisson"
    return (*first, *fixed, *((EQUI,) if preemptive else ()))


def fixed_widths(question: Question) -> tuple[int, ...]:
    """Return a few widths that all classes allow, spread over their frontiers.

    The widest is left out where there are others: granting it is what greedy does.
    """
    common = common_widths(question)
    kept = common[:-1] or common
    places = np.unique(np.linspace(0, len(kept) - 1, MOST_FIXED).round().astype(int))
    return tuple(kept[place] for place in places) if kept else ()


def common_widths(question: Question) -> list[int]:
    """Return the widths that are on the frontier of every class."""
    fronts = [set(front.widths.tolist()) for front in fitting_frontiers(question.scenario())]
    return sorted(set.intersection(*fronts))


def computed_later(question: Question) -> bool:
    """Return whether tables of a value policy take more than a moment: curves are too wide."""
    widest = max(int(part.curve.widths[-1]) for part in question.classes)
    return question.servers * min(widest, question.servers) ** 2 > TABLE_WORK


def target_of(question: Question) -> dict[str, float]:
    """Return the target as `tune` takes it; empty for the least mean response time."""
    if question.target is not None:
        name, value = question.target
        return {name: value}
    return {} if math.isinf(question.waiting) else {"blocking_cost": BLOCKING_COST}


def figure_text(number: float) -> str:
    """Write a number so that reading it back loses no digit."""
    return repr(number).removesuffix(".0")


def curve_text(question: Question) -> str:
    """Write the curve of the first class as on the command line."""
    first = question.classes[0]
    figures = map(figure_text, first.speedup)
    if first.widths is None:
        return ",".join(figures)
    return ",".join(f"{w}={s}" for w, s in zip(first.widths, figures, strict=True))


def curve_cost(question: Question) -> float:
    """Return the blocking cost of the value policy and the optimum along the load."""
    given = target_of(question)
    return given.get("blocking_cost", BLOCKING_COST)
