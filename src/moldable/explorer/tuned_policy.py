"""The tuned policy and the optimum over all policies for the target of a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, final

from moldable.errors import MoldableError
from moldable.explorer.measures import LABELS, Effort, Value
from moldable.explorer.named_policies import LATER, computed_later, target_of
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.model.scenario import Scenario
from moldable.policies.kinds import Kinds
from moldable.policies.policy import Policy
from moldable.policies.queue_value import queue_value_policy
from moldable.tuning.evaluator import LossEvaluator, QueueEvaluator
from moldable.tuning.families import ValueTables
from moldable.tuning.queue_reference import STATES as QUEUE_STATES
from moldable.tuning.queue_reference import known_optimum, queue_fits
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.queue_tuning import QueueSearch
from moldable.tuning.reference import AT_ONCE, best, fits, refuse_less_than_fastest
from moldable.tuning.targets import Target
from moldable.tuning.tuned_queue import certified_policy
from moldable.tuning.tuning import Tuning, no_progress

PRECISION: Final = 0.01
"""The default of `tune`."""
SEARCHED_AT_ONCE: Final = {True: 1_000, False: 7_000}
"""States up to which a search takes about 100 ms, with a limit to keep and without one."""
OPTIMUM_AT_ONCE: Final = {True: 2_000, False: 7_000}
QUEUE_OPTIMUM_AT_ONCE: Final = 10_000
"""The same for the optimum over all policies."""
PROGRAMMED: Final = "dynamic programming"


@final
@dataclass(frozen=True, eq=False)
class TunedPolicy:
    """A policy for the target of a question.

    Attributes:
        policy: None if the target cannot be reached.
        words: its decisions or its kind in words.
        provisional: whether it is a first guess, which a search may improve.
        problem: why there is no policy.
        warnings: what a reader should know.
    """

    policy: Policy | None
    words: str
    provisional: bool
    problem: str = ""
    warnings: tuple[str, ...] = field(default=())

    @property
    def possible(self) -> bool:
        """Whether there is a policy, as far as is known."""
        return self.policy is not None or self.provisional


def tuned_policy(question: Question, effort: Effort) -> TunedPolicy:
    """Return the policy of `moldable tune`; quickly a first guess where its search takes long."""
    if effort == "full" or _searched_at_once(question):
        return _searched(question)
    return _guessed(replace(question, seed=0))


@remembered(KEPT)
def optimum_values(question: Question, effort: Effort) -> Mapping[str, Value]:
    """Return the measures of the optimum over all policies; empty where it is not known."""
    scenario, quick = question.scenario(), effort == "quick"
    try:
        if question.waiting:
            wanted = QueueTarget.of(scenario, **target_of(question))
            states = QUEUE_OPTIMUM_AT_ONCE if quick else QUEUE_STATES[False]
            return exact_values(known_optimum(scenario, wanted, states))
        target = _loss_target(question, scenario)
        states = OPTIMUM_AT_ONCE[target.limited] if quick else AT_ONCE
        return exact_values(best(scenario, target, states))
    except MoldableError:  # such as a queue that grows under every policy
        return {}


def optimum_pending(question: Question, effort: Effort) -> bool:
    """Return whether only a full answer may have the optimum."""
    if effort == "full" or optimum_values(question, effort):
        return False
    scenario = question.scenario()
    if not question.waiting:
        return fits(scenario, AT_ONCE)
    wanted = QueueTarget.of(scenario, **target_of(question))
    return not wanted.limits_waiting and queue_fits(scenario, QUEUE_STATES[False])


def exact_values(found: object) -> dict[str, Value]:
    """Return the measures among the attributes of an optimum."""
    named = {name: getattr(found, name, None) for name in LABELS}
    return {name: Value.known(v, PROGRAMMED) for name, v in named.items() if v is not None}


def _loss_target(question: Question, scenario: Scenario) -> Target:
    return Target.of(scenario.workload.mean_size, **target_of(question))


def _searched_at_once(question: Question) -> bool:
    if question.waiting:
        return False
    limited = "blocking_cost" not in target_of(question)
    return fits(question.scenario(), SEARCHED_AT_ONCE[limited])


@remembered(KEPT)
def _searched(question: Question) -> TunedPolicy:
    return _or_problem(_search, question)


@remembered(KEPT)
def _guessed(question: Question) -> TunedPolicy:
    return _or_problem(_guess, question)


def _or_problem(run: Callable[[Question], TunedPolicy], question: Question) -> TunedPolicy:
    try:
        return run(question)
    except MoldableError as error:
        return TunedPolicy(None, "", provisional=False, problem=str(error))


def _search(question: Question) -> TunedPolicy:
    """Return the policy of `tune`, without the further cases that `tune` evaluates."""
    scenario = question.scenario()
    if question.waiting:
        wanted = QueueTarget.of(scenario, **target_of(question))
        searched = QueueEvaluator(scenario, precision=PRECISION, seed=question.seed, threads=None)
        chosen, answer, _, _ = certified_policy(
            QueueSearch(scenario, wanted, searched), no_progress
        )
        policy = chosen.policy.with_classes(scenario)
        return TunedPolicy(policy, chosen.label, provisional=False, warnings=answer.warnings)
    target = _loss_target(question, scenario)
    evaluator = LossEvaluator(
        scenario, target, precision=PRECISION, seed=question.seed, threads=None
    )
    refuse_less_than_fastest(scenario, target)
    found = Tuning(Kinds.of(scenario), target, evaluator, no_progress).run(AT_ONCE)
    return TunedPolicy(
        found.policy, found.thresholds, provisional=False, warnings=found.performance.warnings
    )


def _guess(question: Question) -> TunedPolicy:
    """Return the value policy at the blocking cost at which its own model reaches the target."""
    if computed_later(question):
        return TunedPolicy(None, "", provisional=True, problem=LATER)
    scenario = question.scenario()
    if question.waiting:
        costs = {k: v for k, v in target_of(question).items() if k == "blocking_cost"}
        policy: Policy = queue_value_policy(scenario, **costs)
        return TunedPolicy(policy, "value policy", provisional=True)
    target = _loss_target(question, scenario)
    refuse_less_than_fastest(scenario, target)
    tables = ValueTables(Kinds.of(scenario), target)
    at = tables.first(0.0) if target.limited else tables.parameter(target.value)
    table = tables.policy(at).with_classes(scenario)
    return TunedPolicy(table, table.describe(), provisional=True)
