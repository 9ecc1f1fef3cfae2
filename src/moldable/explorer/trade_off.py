"""The trade-off between two measures: what is gained in one and paid in the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from moldable.errors import MoldableError
from moldable.explorer.evaluating import evaluated
from moldable.explorer.measures import Effort, Measure, Value, measure, values
from moldable.explorer.named_policies import LATER, common_widths, computed_later, spellings
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.explorer.tuned_policy import exact_values
from moldable.policies.kinds import Kinds
from moldable.tuning.families import ValueTables
from moldable.tuning.reference import fits
from moldable.tuning.targets import Target
from moldable.tuning.tradeoff import value_tradeoff

AT_ONCE: Final = 1_000
"""States up to which the trade-off takes about 100 ms."""
MOST_STATES: Final = 20_000
"""States up to which the optimum is computed; beyond, ten costs take minutes."""
FEW_COSTS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
FIXED: Final = "fixed:"
MOST_WIDTHS: Final = 16
"""Fixed widths that are shown."""


@final
@dataclass(frozen=True)
class TradeOffPoint:
    """One policy.

    Attributes:
        label: of the point, such as "blocking cost 4".
        values: by the names of measures.
    """

    label: str
    values: Mapping[str, Value]


@final
@dataclass(frozen=True)
class TradeOffSeries:
    """Policies that belong together.

    Attributes:
        name: of the series.
        kind: "line" for a family with a parameter, "points" for single policies, "optimum".
        points: in the order of the parameter.
    """

    name: str
    kind: str
    points: tuple[TradeOffPoint, ...]


@final
@dataclass(frozen=True)
class TradeOffAnswer:
    """The trade-off between two measures.

    Attributes:
        question: that is answered.
        across: the measure of the horizontal axis.
        up: the measure of the vertical axis.
        series: of policies.
        edge: no policy lies below this line; empty where it is not known.
        problem: why a part is missing; empty if none is.
        refined: whether more effort gives the same numbers.
    """

    question: Question
    across: Measure
    up: Measure
    series: tuple[TradeOffSeries, ...]
    edge: tuple[tuple[float, float], ...]
    problem: str
    refined: bool

    @property
    def exact(self) -> bool:
        """Whether all values are exact."""
        return all(
            value.exact
            for series in self.series
            for point in series.points
            for value in point.values.values()
        )


def trade_off(question: Question, effort: Effort = "quick") -> TradeOffAnswer:
    """Return the trade-off of blocking and time, or where jobs wait of waiting and execution.

    Args:
        question: to answer; its target has no influence.
        effort: "quick", or "full" for the numbers of `moldable tradeoff`, where jobs wait of
            `moldable compare`.

    Examples:
        >>> asked = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), servers=8, load=0.8)
        >>> [series.name for series in trade_off(asked).series]
        ['true optimum', 'value policy', 'greedy-p', 'greedy']
    """
    key = replace(question, target=None)
    try:
        found = _waiting(key, effort) if question.waiting else _blocking(key, effort)
    except MoldableError as error:  # such as sizes too variable to be simulated
        found = _answer(key, [], [], str(error), refined=True)
    return replace(found, question=question)


def queue_policies(question: Question) -> tuple[str, ...]:
    """Return the policies whose waiting and execution are compared where jobs wait."""
    widths = common_widths(question)
    fixed = [f"{FIXED}{width}" for width in widths[:: math.ceil(len(widths) / MOST_WIDTHS) or 1]]
    return (*(name for name in spellings(question) if not name.startswith(FIXED)), *fixed)


def knows_optimum(question: Question) -> bool:
    """Return whether a full answer has the optimum, where jobs are lost."""
    return fits(question.scenario(), MOST_STATES)


@remembered(KEPT)
def _waiting(question: Question, effort: Effort) -> TradeOffAnswer:
    listed = queue_policies(question)
    found = evaluated(question, listed, effort)
    names = [name for name in listed if name.startswith(FIXED)]
    others = [name for name in listed if not name.startswith(FIXED)]
    known = {name: one.values for name, one in found.policies.items() if one.values}
    line = tuple(TradeOffPoint(name, known[name]) for name in names if name in known)
    series = [TradeOffSeries("fixed widths", "line", line)] if line else []
    series += [
        TradeOffSeries(name, "points", (TradeOffPoint(name, known[name]),))
        for name in others
        if name in known
    ]
    return TradeOffAnswer(
        question,
        measure(question, "mean_wait"),
        measure(question, "mean_execution_time"),
        tuple(series),
        (),
        "",
        found.refined,
    )


@remembered(KEPT)
def _blocking(question: Question, effort: Effort) -> TradeOffAnswer:
    scenario = question.scenario()
    full = effort == "full" or fits(scenario, AT_ONCE)
    if not full:
        return _preview(question)
    found = value_tradeoff(scenario, optimum=knows_optimum(question), seed=question.seed)
    series = []
    edge: list[tuple[float, float]] = []
    if found.optimum is not None:
        controls = [
            TradeOffPoint(_label(c.blocking_cost), exact_values(c)) for c in found.optimum.controls
        ]
        series.append(TradeOffSeries("true optimum", "optimum", tuple(controls)))
        edge = found.optimum.edge()
    points = [
        TradeOffPoint(_label(p.blocking_cost), values(p.performance)) for p in found.value_policy
    ]
    series.append(TradeOffSeries("value policy", "line", tuple(points)))
    for name, one in (("greedy-p", found.greedy_p), ("greedy", found.greedy)):
        if one is not None:
            series.append(TradeOffSeries(name, "points", (TradeOffPoint(name, values(one)),)))
    return _answer(question, series, edge, found.why_no_optimum, refined=True)


def _preview(question: Question) -> TradeOffAnswer:
    """Return the value policy at a few blocking costs, with tables that are not yet improved."""
    if computed_later(question):
        return _answer(question, [], [], LATER, refined=False)
    scenario = question.scenario()
    kinds = Kinds.of(scenario)
    tables = ValueTables(kinds, Target.of(kinds.mean_size, blocking_cost=1.0))
    policies = {_label(cost): tables.policy(tables.parameter(cost)) for cost in FEW_COSTS}
    found = evaluated(question, ("greedy-p", "greedy"), "quick", tuned=policies).policies
    # The full answer improves the tables, so none of these numbers is final.
    points = [
        TradeOffPoint(label, {k: replace(v, exact=False) for k, v in found[label].values.items()})
        for label in policies
    ]
    series = [TradeOffSeries("value policy", "line", tuple(points))]
    for name in ("greedy-p", "greedy"):
        if found[name].values:
            point = TradeOffPoint(name, found[name].values)
            series.append(TradeOffSeries(name, "points", (point,)))
    return _answer(question, series, [], "", refined=False)


def _answer(
    question: Question,
    series: list[TradeOffSeries],
    edge: list[tuple[float, float]],
    problem: str,
    *,
    refined: bool,
) -> TradeOffAnswer:
    return TradeOffAnswer(
        question,
        measure(question, "blocking"),
        measure(question, "mean_execution_time"),
        tuple(series),
        tuple(edge),
        problem,
        refined,
    )


def _label(cost: float) -> str:
    return f"blocking cost {cost:g}"
