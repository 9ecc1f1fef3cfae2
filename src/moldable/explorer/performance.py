"""All policies side by side, with the optimum where it is known and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from moldable.explorer.bounds import Bound, bounds
from moldable.explorer.evaluating import Evaluated, evaluated
from moldable.explorer.measures import Effort, Measure, Value, measures
from moldable.explorer.named_policies import EQUI, OPTIMUM, TUNED, spellings
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.explorer.tuned_policy import (
    TunedPolicy,
    optimum_pending,
    optimum_values,
    tuned_policy,
)


@final
@dataclass(frozen=True)
class PolicyRow:
    """A policy, or the optimum over all policies.

    Attributes:
        name: as on the command line, or "tuned" or "optimum".
        kind: "tuned", "policy", "reference" (preemptive) or "optimum".
        values: by the names of measures; empty if there are none.
        pareto_optimal: whether no policy is better in one measure and as good in the other.
        problem: why there are no values, such as a queue that grows without limit.
        provisional: whether the full answer will be about another policy: the tuned one before it
            has been searched for.
        utilisation: share of the servers that are busy; None if it is not known.
    """

    name: str
    kind: str
    values: Mapping[str, Value]
    pareto_optimal: bool
    problem: str = ""
    provisional: bool = False
    utilisation: float | None = None

    @property
    def exact(self) -> bool:
        """Whether all values are exact."""
        return all(value.exact for value in self.values.values())

    @property
    def method(self) -> str:
        """How the values were found."""
        return next((value.method for value in self.values.values()), "")


@final
@dataclass(frozen=True)
class PerformanceAnswer:
    """All policies side by side.

    Attributes:
        question: that is answered.
        measures: the columns, the most important first.
        rows: the tuned policy first, the optimum last.
        bounds: on measures.
        refined: whether more effort gives the same numbers.
        warnings: what a reader should know.
    """

    question: Question
    measures: tuple[Measure, ...]
    rows: tuple[PolicyRow, ...]
    bounds: tuple[Bound, ...]
    refined: bool
    warnings: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether all values are exact."""
        return all(row.exact for row in self.rows)

    @property
    def method(self) -> str:
        """The methods of all values."""
        return ", ".join(dict.fromkeys(row.method for row in self.rows if row.values))

    def row(self, name: str) -> PolicyRow | None:
        """Return the row of a policy."""
        return next((row for row in self.rows if row.name == name), None)


def performance(question: Question, effort: Effort = "quick") -> PerformanceAnswer:
    """Return all policies side by side.

    Args:
        question: to answer.
        effort: "quick" for an answer in a moment; "full" for the numbers of `moldable compare`.

    Examples:
        >>> asked = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), servers=8, load=0.8)
        >>> round(performance(asked).row("greedy").values["blocking"].value, 4)
        0.3215
    """
    return _performance(question, effort)


@remembered(KEPT)
def _performance(question: Question, effort: Effort) -> PerformanceAnswer:
    tuned = tuned_policy(question, effort)
    first = {} if tuned.policy is None else {TUNED: tuned.policy}
    found = evaluated(question, spellings(question), effort, tuned=first)
    rows = [_row(name, one, tuned) for name, one in found.policies.items()]
    if tuned.policy is None:
        rows.insert(0, PolicyRow(TUNED, "tuned", {}, pareto_optimal=False, problem=tuned.problem))
    best = optimum_values(question, effort)
    if best:
        rows.append(PolicyRow(OPTIMUM, "optimum", best, pareto_optimal=False))
    answers = [one.performance for one in found.policies.values() if one.performance]
    warnings = [warning for one in answers for warning in one.warnings]
    return PerformanceAnswer(
        question,
        measures(question),
        tuple(rows),
        bounds(question, answers),
        found.refined and not tuned.provisional and not optimum_pending(question, effort),
        tuple(dict.fromkeys((*tuned.warnings, *warnings))),
    )


def _row(name: str, one: Evaluated, tuned: TunedPolicy) -> PolicyRow:
    return PolicyRow(
        name,
        {TUNED: "tuned", EQUI: "reference"}.get(name, "policy"),
        one.values,
        one.pareto_optimal,
        one.problem,
        name == TUNED and tuned.provisional,
        None if one.performance is None else one.performance.busy_fraction,
    )
