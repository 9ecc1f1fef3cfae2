"""Bounds on the measures of a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from moldable.errors import MoldableError
from moldable.explorer.frontier import frontier
from moldable.explorer.measures import Value
from moldable.explorer.question import Question
from moldable.system.performance import Performance
from moldable.theory.stein import bounds as stein_bounds

BOUND: Final = "bound"


@final
@dataclass(frozen=True)
class Bound:
    """A bound on a measure.

    Attributes:
        name: what it is, in words.
        measure: that is bounded.
        value: of the bound.
        lower: whether it is a lower bound.
        policy: of which it is a bound; empty: of all policies.
    """

    name: str
    measure: str
    value: Value
    lower: bool
    policy: str = ""


def bounds(question: Question, answers: Sequence[Performance]) -> tuple[Bound, ...]:
    """Return the bounds that are known, given the performance of policies."""
    capacity = capacity_bound(question)
    found = [capacity if capacity and capacity.value.value > 0.0 else None]
    if math.isinf(question.waiting):
        best = frontier(question).mean_execution_time
        if best is not None and all(part.weight == 1.0 for part in question.classes):
            name = "least mean execution time of any stable policy (D*)"
            found.append(Bound(name, "mean_execution_time", best, lower=True))
        responses = [one.response_bound for one in answers if one.response_bound is not None]
        if responses:
            value = Value.known(max(responses), BOUND)
            name = "least mean response time of any policy"
            found.append(Bound(name, "mean_response_time", value, lower=True))
    elif not question.waiting:
        found.append(_of_the_paper(question))
    return tuple(one for one in found if one is not None)


def capacity_bound(question: Question) -> Bound | None:
    """Return the least blocking at which the accepted jobs fit on the servers.

    Each needs at least the server-time of its most efficient width. With several classes a policy
    may block those that need most, so nothing is said.
    """
    if len(question.classes) > 1 or math.isinf(question.waiting):
        return None
    carried = frontier(question).largest_load
    value = Value.known(max(0.0, 1.0 - carried / question.load), BOUND)
    return Bound(
        "blocking of any policy, as the servers carry no more", "blocking", value, lower=True
    )


def _of_the_paper(question: Question) -> Bound | None:
    """Return the paper's bound on the blocking of greedy(p*) if it is below 1."""
    first, *others = question.classes
    laws = {first.size or question.size, question.arrivals}
    if others or laws != {"exponential", "poisson"}:
        return None
    try:
        found = stein_bounds(first.curve, question.load, question.servers)
    except MoldableError:
        return None
    if found.vacuous:
        return None
    name = "the paper's bound on greedy(p*)" + ("" if found.proof == "complete" else ", not proved")
    value = Value.known(found.blocking, BOUND)
    return Bound(name, "blocking", value, lower=False, policy="greedy-p")
