"""Measures of all policies against the load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from moldable.errors import ChainError
from moldable.evaluation.evaluate import Unsolved
from moldable.explorer.bounds import BOUND, capacity_bound
from moldable.explorer.evaluating import evaluated, exact_performances
from moldable.explorer.frontier import frontier
from moldable.explorer.measures import Effort, Measure, Value, measures, values
from moldable.explorer.named_policies import (
    EQUI,
    VALUE,
    computed_later,
    curve_cost,
    figure_text,
    spellings,
)
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.explorer.tuned_policy import exact_values, optimum_values
from moldable.optimal.curve import tradeoff
from moldable.system.performance import Performance
from moldable.system.response_bound import response_bound
from moldable.tuning.queue_reference import STATES, queue_fits
from moldable.tuning.reference import fits

SHARES: Final = {
    False: (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2),
    True: (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
}
"""Loads of the curves as shares of the largest load, with jobs that are lost and without; a quick
answer has every second one."""
PRECISION: Final = 0.05
"""Of the simulations of a full answer; figures need no more."""
GREEDY_P: Final = "greedy-p"
MAIN: Final = ("greedy-p", "even-price")
"""The policy that is simulated quickly where it has no exact answer."""
OPTIMUM: Final[Mapping[Effort, int]] = {"quick": 600, "full": 20_000}
"""States up to which the optimum is computed at every load."""


@final
@dataclass(frozen=True)
class LoadCurve:
    """One policy, the optimum or a bound along the load.

    Attributes:
        name: as on the command line, or in words.
        kind: "policy", "reference" (preemptive), "optimum" or "bound".
        points: the measures at each load by name; None where there are none, as of a queue that
            grows without limit.
    """

    name: str
    kind: str
    points: tuple[Mapping[str, Value] | None, ...]

    @property
    def exact(self) -> bool:
        """Whether all values are exact."""
        return all(value.exact for point in self.points for value in (point or {}).values())


@final
@dataclass(frozen=True)
class LoadCurvesAnswer:
    """Measures against the load.

    Attributes:
        question: that is answered; its load is marked in the figure.
        measures: that the curves have.
        loads: at which they were computed.
        curves: of policies, the optimum and bounds.
        largest_load: that the cluster can carry.
        refined: whether more effort gives the same numbers.
    """

    question: Question
    measures: tuple[Measure, ...]
    loads: tuple[float, ...]
    curves: tuple[LoadCurve, ...]
    largest_load: float
    refined: bool

    @property
    def exact(self) -> bool:
        """Whether all values are exact."""
        return all(curve.exact for curve in self.curves)


def load_curves(question: Question, effort: Effort = "quick") -> LoadCurvesAnswer:
    """Return the measures of all policies against the load.

    The loads depend on the curves only, so an answer is kept while the visitor moves the load.

    Args:
        question: to answer; its target matters as far as it is a blocking cost.
        effort: "quick" for fewer loads, and only exact answers of all policies but one; "full" for
            the numbers of `moldable compare` with a precision of 5 %.

    Examples:
        >>> asked = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), servers=8, load=0.8)
        >>> answer = load_curves(asked)
        >>> answer.loads, answer.curves[0].name
        ((0.2, 0.4, 0.6, 0.8, 1.0, 1.2), 'value:10')
    """
    target = None if question.waiting else ("blocking_cost", curve_cost(question))
    key = replace(question, load=1.0, target=target)
    return replace(_load_curves(key, effort), question=question)


def loads(question: Question, effort: Effort = "full") -> tuple[float, ...]:
    """Return the loads of the curves: shares of the largest load, with three digits."""
    largest = frontier(question).largest_load
    shares = SHARES[math.isinf(question.waiting)]
    chosen = shares[effort == "quick" :: 1 + (effort == "quick")]
    return tuple(float(f"{largest * share:.3g}") for share in chosen)


def curve_policies(question: Question) -> tuple[str, ...]:
    """Return the policies of the curves, as on the command line."""
    if question.waiting:
        return spellings(question)
    return (f"value:{figure_text(curve_cost(question))}", *spellings(question))


def possible(question: Question) -> list[tuple[tuple[float, ...], tuple[str, ...]]]:
    """Return the loads with the policies that exist there: greedy(p*) ends at the largest load."""
    names, largest = curve_policies(question), frontier(question).largest_load
    others = tuple(name for name in names if name != GREEDY_P)
    below = tuple(load for load in loads(question) if load <= largest)
    beyond = tuple(load for load in loads(question) if load > largest)
    return [each for each in ((below, names), (beyond, others)) if each[0]]


def has_optimum(question: Question) -> bool:
    """Return whether a full answer has the optimum over all policies, at some loads at least."""
    if not question.waiting:
        return fits(question.scenario(), OPTIMUM["full"])
    least = replace(question, load=loads(question)[0]).scenario()
    return queue_fits(least, STATES[False])


@remembered(KEPT)
def _load_curves(question: Question, effort: Effort) -> LoadCurvesAnswer:
    names, found = curve_policies(question), loads(question, effort)
    points = [_at_load(question, load, effort) for load in found]
    curves = [
        LoadCurve(
            name,
            "reference" if name == EQUI else "policy",
            tuple(point.get(name) for point in points),
        )
        for name in names
    ]
    best = tuple(_optimum(replace(question, load=load), effort) or None for load in found)
    if any(best):
        curves.append(LoadCurve("optimum", "optimum", best))
    curves += _bounds(question, found)
    return LoadCurvesAnswer(
        question,
        measures(question),
        found,
        tuple(curves),
        frontier(question).largest_load,
        effort == "full",
    )


def _at_load(question: Question, load: float, effort: Effort) -> dict[str, Mapping[str, Value]]:
    """Return the measures of all policies at a load."""
    names = curve_policies(question)
    asked = replace(question, load=load)
    if effort == "full":
        answer = evaluated(asked, names, "full", precision=PRECISION)
        return {n: one.values for n, one in answer.policies.items() if one.values}
    # The tables of value policies take long to compute at every load.
    names = tuple(name for name in names if name != VALUE and not _later(asked, name))
    exact = exact_performances(asked, names)
    known = {name: values(one) for name, one in exact.items() if isinstance(one, Performance)}
    main = next(name for name in names if name in MAIN)
    if isinstance(exact[main], Unsolved):
        known[main] = evaluated(asked, (main,), "quick").policies[main].values
    return known


def _later(question: Question, name: str) -> bool:
    return name.startswith(f"{VALUE}:") and computed_later(question)


def _optimum(question: Question, effort: Effort) -> Mapping[str, Value]:
    """Return the optimum at the blocking cost of the curves, or of the mean response time."""
    scenario, cost = question.scenario(), curve_cost(question)
    if not question.waiting:
        if not fits(scenario, OPTIMUM[effort]):
            return {}
        try:
            return exact_values(tradeoff(scenario, [cost]).controls[0])
        except ChainError:
            return {}
    if effort == "quick":
        return {}
    asked = None if math.isinf(question.waiting) else ("blocking_cost", cost)
    return optimum_values(replace(question, target=asked), "full")


def _bounds(question: Question, found: tuple[float, ...]) -> list[LoadCurve]:
    """Return lower bounds of the first measure, for all policies."""
    asked = [replace(question, load=load) for load in found]
    if not math.isinf(question.waiting):
        limits = [capacity_bound(each) for each in asked]
        points = tuple({"blocking": one.value} if one else None for one in limits)
        name = "lower bound: the servers carry no more"
    else:
        responses = [response_bound(each.scenario()) for each in asked]
        points = tuple(
            None if one is None else {"mean_response_time": Value.known(one, BOUND)}
            for one in responses
        )
        name = "lower bound of all policies"
    return [LoadCurve(name, "bound", points)] if any(points) else []
