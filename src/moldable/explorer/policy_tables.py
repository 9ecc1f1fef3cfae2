"""Policies as pictures: the width granted by idle servers and waiting jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from moldable.errors import MoldableError
from moldable.explorer.evaluating import Rule, built_policy
from moldable.explorer.measures import Effort
from moldable.explorer.named_policies import TUNED, VALUE, computed_later
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.explorer.tuned_policy import tuned_policy
from moldable.planning.actions import Actions, actions
from moldable.policies.policy import Policy

LOST: Final[tuple[str, ...]] = ("greedy-p", "greedy")
QUEUED: Final[tuple[str, ...]] = ("value", "even-price", "idle-share")
"""Policies shown with the tuned one, without waiting places and with them."""


@final
@dataclass(frozen=True)
class PolicyTable:
    """One policy as a table.

    Attributes:
        name: as on the command line, or "tuned".
        words: its decisions in words.
        classes: the decisions for each class, by idle servers and waiting jobs.
        provisional: whether the full answer will show another table.
    """

    name: str
    words: str
    classes: tuple[Actions, ...]
    provisional: bool = False


@final
@dataclass(frozen=True)
class PoliciesAnswer:
    """The tuned policy and others as tables.

    Attributes:
        question: that is answered.
        tables: the tuned policy first, if there is one.
        problem: why a table is missing; empty if none is.
        refined: whether more effort gives the same tables.
        method: how the tuned policy was found.
    """

    question: Question
    tables: tuple[PolicyTable, ...]
    problem: str
    refined: bool
    method: str

    @property
    def exact(self) -> bool:
        """Whether the tuned policy is that of `moldable tune`."""
        return not any(table.provisional for table in self.tables)


def policies(question: Question, effort: Effort = "quick") -> PoliciesAnswer:
    """Return the tuned policy and others as tables.

    Args:
        question: to answer.
        effort: "quick" for a first guess of the tuned policy where its search takes long; "full"
            for that of `moldable tune`.

    Examples:
        >>> asked = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), servers=8, load=0.8)
        >>> policies(asked).tables[0].words
        '1 server from 1 idle, 2 from 5, 3 from 8'
    """
    return _policies(question, effort)


@remembered(KEPT)
def _policies(question: Question, effort: Effort) -> PoliciesAnswer:
    scenario = question.scenario()
    tuned = tuned_policy(question, effort)
    others = QUEUED if question.waiting else LOST
    if effort == "quick" and computed_later(question):
        others = tuple(name for name in others if name != VALUE)
    named: dict[str, Rule | str | None] = {TUNED: tuned.policy}
    named |= {name: built_policy(question, name) for name in others}
    tables, problem = [], tuned.problem
    for name, policy in named.items():
        if isinstance(policy, Policy):  # not a reason why there is none
            own = name == TUNED
            try:
                listed = actions(scenario, policy)
            except MoldableError as error:  # such as tables beyond the memory
                problem = problem or str(error)
                continue
            words, provisional = (tuned.words, tuned.provisional) if own else ("", False)
            tables.append(PolicyTable(name, words, listed, provisional))
    method = "first guess by the value function" if tuned.provisional else "search"
    return PoliciesAnswer(question, tuple(tables), problem, not tuned.provisional, method)
