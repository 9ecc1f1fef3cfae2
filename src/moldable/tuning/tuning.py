"""Find a policy for a target by turning one knob, the blocking cost of the value policy.

The model of the value function says where to evaluate next; evaluations are exact where possible.
What the nearest two tables leave of a limit is used up by drawing between them, and the policy that
is chosen among simulated ones is certified on random numbers of its own.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from moldable.evaluation.evaluate import check_request
from moldable.exact.states import MOST_STATES
from moldable.model.scenario import Scenario, checked_scenario
from moldable.policies.greedy import GreedyP
from moldable.policies.kinds import Kinds
from moldable.policies.policy_table import Policy
from moldable.policies.thresholds import Thresholds
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.system.performance import Performance
from moldable.tuning.evaluator import Evaluator
from moldable.tuning.polish import Polish
from moldable.tuning.reference import AT_ONCE, best, fits
from moldable.tuning.refusals import refuse_less_than_fastest, unreached
from moldable.tuning.search import Family, LimitSearch, Point, least_cost
from moldable.tuning.static import DesignLoads, Static, optimal_shares
from moldable.tuning.targets import Target
from moldable.tuning.tuned import Tuned
from moldable.tuning.value_tables import ValueTables

ProgressCallback = Callable[[str], None]
"""Called with the step that begins, in words."""

ATTEMPTS: Final = 4
"""To certify a simulated policy."""
SAFETY: Final = 0.01
"""Logarithm by which the aim is lowered further after a failed attempt."""
SWINGS: Final = math.log(2.0)
"""Logarithm of true over modelled blocking from which feedback is taken to oscillate."""
NO_OPTIMUM: Final = (
    f"the true optimum is not known here: it needs exponential sizes, Poisson arrivals and at most "
    f"{MOST_STATES:,} states"
)
NOT_CLOSELY: Final = (
    "the true optimum is not known here: the dynamic programme did not converge; it needs "
    "differences above floating-point precision and classes whose sizes do not differ a millionfold"
)


def tune(
    scenario: Scenario,
    *,
    max_blocking: float | None = None,
    max_time: float | None = None,
    blocking_cost: float | None = None,
    optimum: bool = False,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Tuned:
    """Find a policy that reaches a target; give exactly one.

    Args:
        scenario: classes that share one pool of servers, and their arrivals.
        max_blocking: least mean execution time with at most this blocking.
        max_time: least blocking with at most this mean execution time.
        blocking_cost: least (1 - blocking) x mean execution time + cost x blocking, in mean sizes.
        optimum: whether the optimum over all policies is computed where that takes minutes, too: up
            to five million states.
        precision: target relative half-width of the 95 % confidence intervals of simulations.
        seed: of simulations; a fresh one if not given.
        threads: of simulations; all cores by default.
        progress: called with the step that begins, in words.
    """
    say = progress or no_progress
    check_request("auto", precision)
    check_seed_and_threads(seed, threads)
    scenario = _one_pool(scenario)
    kinds = Kinds.of(scenario)
    target = Target.of(max_blocking, blocking_cost, max_time, kinds.mean_size)
    refuse_less_than_fastest(scenario, target)
    evaluator = Evaluator(
        scenario,
        target,
        precision=precision,
        seed=fresh_seed() if seed is None else seed,
        threads=threads,
    )
    states = MOST_STATES if optimum else AT_ONCE
    chosen = _Tuning(kinds, target, evaluator, say).run(states)
    say("computing the true optimum")
    known = best(scenario, target, states)
    notes = list(chosen.warnings)
    if known is None and (optimum or fits(scenario, states)):
        notes.append(NOT_CLOSELY if fits(scenario, states) else NO_OPTIMUM)
    shares = optimal_shares(scenario)
    answer = chosen.answer
    return Tuned(
        blocking_cost=chosen.blocking_cost,
        policy=chosen.policy,
        thresholds=_in_words(chosen.policy),
        performance=dataclasses.replace(answer, warnings=(*answer.warnings, *notes)),
        greedy_p=None if shares is None else evaluator(shares),
        static=chosen.static,
        optimum=known,
        target={target.name: target.value},
        precision=precision,
        seed=evaluator.seed if evaluator.simulated else None,
        certified=chosen.certified,
    )


def no_progress(step: str) -> None:
    """Report nothing."""


@final
@dataclass(frozen=True)
class _Chosen:
    policy: Policy
    answer: Performance
    blocking_cost: float | None
    static: Static | None
    certified: bool
    warnings: tuple[str, ...]


@final
class _Tuning:
    """Searches the families of policies, and certifies the best of them."""

    def __init__(
        self, kinds: Kinds, target: Target, evaluate: Evaluator, say: ProgressCallback
    ) -> None:
        self.kinds, self.target, self.evaluate, self.say = kinds, target, evaluate, say
        self.scenario = kinds.scenario
        self.tables = ValueTables(kinds, target, Polish.of(kinds))

    def run(self, states: int) -> _Chosen:
        """Return the best policy; the optimum of so many states may explain a refusal."""
        aim, warnings = 0.0, weights_are_not_counted(self.scenario)
        for attempt in range(1, ATTEMPTS + 1):
            candidates, static = self._candidates(aim)
            if not candidates:
                raise unreached(self.scenario, self.target, self._nearest, states)
            order = self.target.objective
            policy, cost = min(candidates, key=lambda one: order(one[0].answer))
            self.say("certifying the best policy")
            answer = self.evaluate(policy.policy, attempt)
            certified = self.target.kept(answer)
            if certified or answer.blocking.value == 0.0:
                break
            aim -= self.target.used(answer) + SAFETY
        if not certified:
            warnings.append("the limit is met, but not at the upper end of the 95 % interval")
        return _Chosen(policy.policy, answer, cost, static, certified, tuple(warnings))

    def _candidates(self, aim: float) -> tuple[list[tuple[Point, float | None]], Static | None]:
        """Return the policies that keep the limit with their blocking costs, and the static one."""
        self.say("tuning the blocking cost")
        found: list[tuple[Point, float | None]] = [
            (point, math.exp(point.knob)) for point in self._found(self.tables, aim)
        ]
        begin = self._begin(aim)
        plain = self.tables.kinds.policy(self.tables.at(begin).table)
        if self._swings(begin, plain):
            self.say("drawing narrower widths, as blocking oscillates")
            capped = self._found(DesignLoads(self.scenario, plain), aim)
            found += [(point, math.exp(begin)) for point in capped]
        if self.evaluate.simulated and self.evaluate.rare and self.evaluate.can_split:
            return found, None  # splitting is slow where servers are hardly ever short
        self.say("trying greedy(p*) for other loads")
        drawn = self._static(aim)
        order = self.target.objective
        best_drawn = min(drawn, key=lambda point: order(point.answer), default=None)
        if best_drawn is None:
            return found, None
        return [*found, (best_drawn, None)], Static(best_drawn.knob, best_drawn.answer)

    def _static(self, aim: float) -> list[Point]:
        """Return the design loads that keep the limit; those of single widths where exact."""
        loads = DesignLoads(self.scenario)
        found = self._found(loads, aim)
        for load in [] if self.evaluate.simulated else loads.pure():
            answer = self.evaluate(loads.policy(load))
            used = self.target.used(answer) - aim if self.target.limited else 0.0
            if used <= 0.0:
                found.append(Point(load, loads.policy(load), answer, used))
        return found

    def _found(self, family: Family, aim: float) -> list[Point]:
        """Return what a family offers: policies that keep the limit, or the one of least cost."""
        if self.target.limited:
            search = LimitSearch(family, self.evaluate, self.target, aim)
            found = search.run()
            if isinstance(family, ValueTables):
                self._nearest = math.exp(search.nearest.used + aim) * self.target.value
            return found
        if isinstance(family, ValueTables):
            policy = family.policy(self._begin(aim))
            return [Point(self._begin(aim), policy, self.evaluate(policy), 0.0)]
        return [least_cost(family, self.evaluate, self.target)]

    def _begin(self, aim: float) -> float:
        """Return the knob that the model would choose."""
        if self.target.limited:
            return self.tables.first(aim)
        return self.tables.knob(self.target.value)

    def _swings(self, knob: float, policy: Thresholds) -> bool:
        """Is blocking far above the model's? Jobs that end together make feedback oscillate."""
        seen = self.evaluate(policy).blocking.value
        expected = max(self.tables.at(knob).blocking, math.exp(-self.kinds.servers))
        return seen > 0.0 and math.log(seen / expected) > SWINGS


def _one_pool(scenario: Scenario) -> Scenario:
    """Return the scenario with a shared pool, as that of a single class always is."""
    if len(checked_scenario(scenario).workload.classes) > 1:
        return scenario
    workload = dataclasses.replace(scenario.workload, sharing="pool")
    return dataclasses.replace(scenario, workload=workload)


def _in_words(policy: Policy) -> str:
    if isinstance(policy, Thresholds):
        return policy.describe()
    assert isinstance(policy, GreedyP)  # noqa: S101 - nothing else is tuned
    parts = [
        (name, " or ".join(f"{w} ({100.0 * p:.3g} %)" for w, p in shares.items() if p > 0.0))
        for name, shares in policy.shares.items()
    ]
    if len(parts) == 1:
        return f"{parts[0][1]} servers, or as many as are idle"
    return "; ".join(f"{name}: {words} servers, or as many as are idle" for name, words in parts)


def weights_are_not_counted(scenario: Scenario) -> list[str]:
    """Say so where classes have weights: they change decisions, but no figure that is tuned."""
    weights = {part.name: part.weight for part in scenario.workload.classes}
    if len(set(weights.values())) == 1:
        return []
    told = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    note = (
        f"weights ({told}) make the value policy and greedy(p*) favour classes, but limits, costs "
        f"and the true optimum count the time of all jobs alike; leave them out to come closest to "
        f"it"
    )
    return [note]
