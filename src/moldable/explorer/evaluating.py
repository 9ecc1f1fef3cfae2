"""Evaluations of policies: quick ones, and those with the numbers of `moldable compare`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from moldable.errors import MoldableError
from moldable.evaluation.compare import compare
from moldable.evaluation.evaluate import Unsolved, solve_equi, solve_exactly
from moldable.explorer.measures import Effort, Value, values
from moldable.explorer.named_policies import EQUI, LATER, VALUE, computed_later
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.model.scenario import Scenario
from moldable.planning.predictor import Predictor
from moldable.policies.equi import Equi
from moldable.policies.greedy import greedy_p
from moldable.policies.policy import Policy
from moldable.policies.registry import build_policy
from moldable.simulation.replications import count_workers
from moldable.system.loss_system import build_system
from moldable.system.performance import Performance
from moldable.threads import on_threads

EVALUATIONS: Final = 64
"""Exact evaluations that are remembered: those of all loads of one question."""
QUICK_STATES: Final = {False: 10_000, True: 22_000}
"""States of a chain that is solved within 100 ms, without waiting places and with them."""
QUICK_SERVERS: Final = 100_000
"""Servers up to which a simulation comes near equilibrium in a second or two."""
QUICK_PRECISION, QUICK_JOBS = 0.1, 100_000
"""Relative half-width at which short simulations end, and arrivals after which they end anyway."""
FULL_PRECISION: Final = 0.01
"""The default of the commands."""
EQUAL: Final = 1e-12

Rule = Policy | Equi


@final
@dataclass(frozen=True, eq=False)
class Evaluated:
    """A policy's performance, or why there is none.

    Attributes:
        performance: all figures.
        problem: why there are none, such as a queue that grows without limit.
        pareto_optimal: see `moldable.results.Compared`.
    """

    performance: Performance | None
    problem: str = ""
    pareto_optimal: bool = False

    @property
    def values(self) -> Mapping[str, Value]:
        """The measures by name; empty if there are none."""
        return {} if self.performance is None else values(self.performance)


@final
@dataclass(frozen=True, eq=False)
class Evaluations:
    """Policies side by side.

    Attributes:
        policies: by name.
        refined: whether more effort gives the same numbers.
    """

    policies: Mapping[str, Evaluated] = field(default_factory=dict)
    refined: bool = True


def evaluated(
    question: Question,
    names: Sequence[str],
    effort: Effort,
    *,
    tuned: Mapping[str, Policy] | None = None,
    precision: float = FULL_PRECISION,
) -> Evaluations:
    """Evaluate policies side by side.

    Args:
        question: the scenario and the seed.
        names: of the policies, as on the command line.
        effort: "quick" or "full".
        tuned: further policies, which come first.
        precision: of simulations with full effort.
    """
    plain = replace(question, target=None)
    if effort == "full":
        return _full(plain, tuple(names), tuned or {}, precision)
    return _quick(plain, tuple(names), tuned or {})


def built_policy(question: Question, name: str) -> Rule | str:
    """Return a policy from its spelling, or why it does not exist here."""
    built = _built(replace(question, target=None, seed=0), name)
    return built if isinstance(built, str) else built[0]


def exact_performances(
    question: Question, names: Sequence[str]
) -> dict[str, Performance | Unsolved | str]:
    """Return the exact answers that take a moment; a text says why a policy has none at all."""
    # They do not depend on the seed, nor on other policies.
    key = replace(question, target=None, seed=0)
    answers = on_threads(lambda name: _exact(key, name), names, count_workers(None, None))
    return dict(zip(names, answers, strict=True))


def _full(
    question: Question, names: tuple[str, ...], tuned: Mapping[str, Policy], precision: float
) -> Evaluations:
    rules: dict[str, Rule] = dict(tuned)
    problems: dict[str, Evaluated] = {}
    for name in names:
        built = _built(replace(question, seed=0), name)
        if isinstance(built, str):
            problems[name] = Evaluated(None, built)
        else:
            rules[name] = built[0]
    found: dict[str, Evaluated] = {}
    if rules:
        try:
            answer = compare(question.scenario(), rules, precision=precision, seed=question.seed)
        except MoldableError as error:
            return Evaluations(problems | {name: Evaluated(None, str(error)) for name in rules})
        found = {name: Evaluated(None, reason) for name, reason in answer.unstable.items()}
        found |= {
            part.name: Evaluated(part.performance, "", part.pareto_optimal)
            for part in answer.policies
        }
    found |= problems
    return Evaluations({name: found[name] for name in (*tuned, *names)})


def _quick(question: Question, names: tuple[str, ...], tuned: Mapping[str, Policy]) -> Evaluations:
    found = exact_performances(question, names)
    scenario = question.scenario()
    found |= {name: solved(scenario, policy) for name, policy in tuned.items()}
    rough = {name: answer for name, answer in found.items() if isinstance(answer, Unsolved)}
    rules: dict[str, Rule] = {}
    for name in rough:
        built = tuned[name] if name in tuned else built_policy(question, name)
        assert not isinstance(built, str)  # noqa: S101 - it has been solved for
        rules[name] = built
    done = {name: answer for name, answer in found.items() if not isinstance(answer, Unsolved)}
    done |= _simulated(scenario, rules, rough, question.seed)
    evaluations = {
        name: Evaluated(None, answer) if isinstance(answer, str) else Evaluated(answer)
        for name, answer in ((name, done[name]) for name in (*tuned, *names))
    }
    return Evaluations(_marked(evaluations), not rough and LATER not in done.values())


def _simulated(
    scenario: Scenario, rules: Mapping[str, Rule], rough: Mapping[str, Unsolved], seed: int
) -> dict[str, Performance | str]:
    """Return short simulations with common random numbers."""
    if scenario.servers > QUICK_SERVERS:
        return dict.fromkeys(rules, LATER)
    predict = Predictor(QUICK_PRECISION, seed, None, QUICK_JOBS)
    try:
        paired = predict.together({name: (scenario, each) for name, each in rules.items()})
    except MoldableError as error:
        return dict.fromkeys(rules, str(error))
    return {
        name: one if isinstance(one, str) else rough[name].warn(one.performance)
        for name, one in paired.items()
    }


@remembered(EVALUATIONS)
def _exact(question: Question, name: str) -> Performance | Unsolved | str:
    """Return an exact performance if it takes a moment; a text says why there is none at all."""
    if name == VALUE and computed_later(question):
        return LATER
    built = _built(question, name)
    return built if isinstance(built, str) else solved(built[1], built[0])


@remembered(KEPT)
def _built(question: Question, name: str) -> tuple[Rule, Scenario] | str:
    """Return a policy and its scenario, or why the policy does not exist here."""
    scenario = question.scenario()
    try:
        built = build_policy(name, scenario)
        return (greedy_p(scenario) if built is None else built), scenario
    except MoldableError as error:
        return str(error)


def solved(scenario: Scenario, policy: Rule) -> Performance | Unsolved | str:
    """Return the exact performance of a policy if it takes a moment; see `_exact`."""
    try:
        if isinstance(policy, Equi):
            return solve_equi(scenario, "auto")
        system = build_system(scenario, policy)
        return solve_exactly(system, "auto", QUICK_STATES[scenario.waiting > 0])
    except MoldableError as error:
        return str(error)


def _marked(found: Mapping[str, Evaluated]) -> dict[str, Evaluated]:
    """Mark policies that no other one beats, as `compare` does, by their own intervals."""
    ranges = {
        name: _ranges(one.performance)
        for name, one in found.items()
        if one.performance is not None and name != EQUI
    }
    best = {
        name
        for name, own in ranges.items()
        if not any(_beats(other, own) for each, other in ranges.items() if each != name)
    }
    return {name: replace(one, pareto_optimal=name in best) for name, one in found.items()}


def _ranges(answer: Performance) -> list[tuple[float, float]]:
    """Return the intervals of the blocking and of the time that is minimised."""
    time = answer.mean_execution_time
    if answer.queueing is not None:
        time = answer.queueing.mean_response_time
    return [each.interval or (-math.inf, math.inf) for each in (answer.blocking, time)]


def _beats(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    """Return whether one is surely better in a measure, and better or equal in the other."""
    signs = [
        0 if _same(a, b) else -1 if a[1] < b[0] else 1 for a, b in zip(one, other, strict=True)
    ]
    return min(signs) < 0 and max(signs) <= 0


def _same(one: tuple[float, float], other: tuple[float, float]) -> bool:
    wide = max(one[1] - one[0], other[1] - other[0])
    return wide <= EQUAL and abs(one[0] - other[0]) <= EQUAL * max(abs(other[0]), EQUAL)
