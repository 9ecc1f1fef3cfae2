"""Find a policy for a target by one parameter, the blocking cost of the value policy.

The model of the value function predicts where to evaluate next; evaluations are exact where
possible. What the closest two tables leave of a limit is used up by drawing between them, and the
best of simulated policies is certified on random numbers of its own.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Final, final

from moldable.errors import ControlError
from moldable.exact.states import MOST_STATES
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.units import parse_duration
from moldable.policies.greedy import GreedyP
from moldable.policies.kinds import Kinds
from moldable.policies.thresholds import Thresholds
from moldable.tuning.evaluator import LossEvaluator
from moldable.tuning.families import DesignLoads, Family, Static, ValueTables, optimal_shares
from moldable.tuning.polish import Polish
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.reference import AT_ONCE, best, fits, not_reached, refuse_less_than_fastest
from moldable.tuning.robustness import PRECISION, UNSEEDED, stresses
from moldable.tuning.search import LimitSearch, Point, least_cost
from moldable.tuning.targets import Target
from moldable.tuning.tuned import Tuned
from moldable.tuning.tuned_queue import TunedQueue, tune_queue

ProgressCallback = Callable[[str], None]
"""Called with a description of the step that begins."""
Candidate = tuple[Point, float | None]
"""A policy that keeps the limit, and the blocking cost of its table."""

ATTEMPTS: Final = 4
"""To certify a simulated policy."""
SAFETY: Final = 0.01
"""Logarithm by which the aim is lowered further after a failed attempt."""
OSCILLATES: Final = math.log(2.0)
"""Logarithm of true over modelled blocking above which feedback is taken to oscillate."""
NO_OPTIMUM: Final = (
    f"the true optimum is not known here: it needs exponential sizes, Poisson arrivals and at most "
    f"{MOST_STATES:,} states"
)
NOT_CLOSELY: Final = (
    "the true optimum is not known here: the dynamic programme did not converge; it needs "
    "differences above floating-point precision and classes whose sizes do not differ a millionfold"
)


def tune(
    scenario: ScenarioOrFile,
    *,
    max_blocking: float | None = None,
    max_time: float | str | None = None,
    blocking_cost: float | None = None,
    max_wait_probability: float | None = None,
    max_mean_wait: float | str | None = None,
    optimum: bool = False,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Tuned | TunedQueue:
    """Find a policy that reaches a target.

    Without waiting places give exactly one of the first three targets. With waiting places the mean
    response time is minimised, subject to at most one limit, and the result is a `TunedQueue`.

    Args:
        scenario: classes that share one pool of servers, and their arrivals.
        max_blocking: least mean execution time with at most this blocking.
        max_time: least blocking with at most this mean execution time: a number in the scenario's
            unit of time, or text such as "90 min".
        blocking_cost: least (1 - blocking) x mean execution time + cost x blocking, in mean sizes.
        max_wait_probability: with waiting places, at most this share of the jobs may wait.
        max_mean_wait: with waiting places, largest mean wait: a number in the scenario's unit of
            time, or text such as "5 min".
        optimum: also compute the optimum over all policies where that takes minutes: up to five
            million states.
        precision: target relative half-width of the 95 % confidence intervals of simulations.
        seed: random seed of simulations; a fresh one if not given.
        threads: threads of simulations; all cores by default.
        progress: called with a description of each step when it begins.

    Examples:
        >>> tune(Scenario.single([1, 1.8, 2.5], 0.8, 8), max_blocking=0.2).thresholds
        '1 server from 1 idle, 1 (73.8 %) or 2 (26.2 %) from 2, 2 from 3, 3 from 6'
    """
    scenario = checked_scenario(scenario)
    if len(scenario.workload.classes) == 1:  # it always shares with itself
        workload = dataclasses.replace(scenario.workload, sharing="pool")
        scenario = dataclasses.replace(scenario, workload=workload)
    report = progress or no_progress
    waits = {"max_wait_probability": max_wait_probability, "max_mean_wait": max_mean_wait}
    if scenario.waiting:
        others = {"max_blocking": max_blocking, "blocking_cost": blocking_cost}
        wanted = QueueTarget.of(scenario, **waits, **others, max_time=max_time)
        return tune_queue(
            scenario,
            wanted,
            optimum=optimum,
            precision=precision,
            seed=seed,
            threads=threads,
            report=report,
        )
    for name, value in waits.items():
        if value is not None:
            raise ControlError(
                f"{value} has no effect: without waiting places no job waits; add some, such as "
                f"waiting='unlimited', or leave it out",
                name,
            )
    kinds = Kinds.of(scenario)
    if max_time is not None:
        max_time = parse_duration(max_time, scenario.time_unit, "max_time", ControlError)
    target = Target.of(
        kinds.mean_size, max_blocking=max_blocking, blocking_cost=blocking_cost, max_time=max_time
    )
    evaluate = LossEvaluator(scenario, target, precision=precision, seed=seed, threads=threads)
    refuse_less_than_fastest(scenario, target)
    states = MOST_STATES if optimum else AT_ONCE
    tuned = Tuning(kinds, target, evaluate, report).run(states)
    report("computing the true optimum")
    known = best(scenario, target, states)
    notes: list[str] = []
    if known is None and (optimum or fits(scenario, states)):
        notes.append(NOT_CLOSELY if fits(scenario, states) else NO_OPTIMUM)
    answer = tuned.performance
    answer = dataclasses.replace(answer, warnings=(*answer.warnings, *notes))
    report("evaluating burstier arrivals and more load")
    fixed = evaluate.seed if seed is not None or evaluate.simulated else UNSEEDED
    evaluator = partial(
        LossEvaluator, target=target, precision=PRECISION, seed=fixed, threads=threads
    )
    stressed, _ = stresses(scenario, tuned.policy, evaluator)
    return dataclasses.replace(tuned, performance=answer, optimum=known, stresses=stressed)


def no_progress(step: str) -> None:
    """Report nothing."""


@final
class Tuning:
    """Searches the families of policies, and certifies the best of them.

    Attributes:
        closest: the table that comes closest to a limit; None before the search.
        static: whether to also try static widths.
    """

    def __init__(
        self,
        kinds: Kinds,
        target: Target,
        evaluate: LossEvaluator,
        report: ProgressCallback,
        *,
        static: bool = True,
    ) -> None:
        self.target, self.evaluate, self.report, self.static = target, evaluate, report, static
        self.scenario, self.servers = kinds.scenario, kinds.servers
        self.tables = ValueTables(kinds, target, Polish.of(kinds))
        self.closest: Point | None = None

    def run(self, states: int) -> Tuned:
        """Return the best policy; `states` limits the optimum that explains a refusal."""
        aim, warnings = 0.0, weights_are_not_counted(self.scenario)
        for attempt in range(1, ATTEMPTS + 1):
            candidates, static = self._candidates(aim)
            candidates = candidates or self._uncertain(aim)
            if not candidates:
                assert self.closest is not None  # noqa: S101 - limits are searched for
                raise not_reached(self.scenario, self.target, self.closest.answer, states)
            point, cost = min(candidates, key=lambda one: self.target.objective(one[0].answer))
            self.report("certifying the best policy")
            answer = self.evaluate(point.policy, attempt)
            certified = self.target.kept(answer)
            if certified or answer.blocking.value == 0.0:
                break
            aim -= self.target.used(answer) + SAFETY
        if not certified:
            warnings.append("the limit is met, but not at the upper end of the 95 % interval")
        assert isinstance(point.policy, Thresholds | GreedyP)  # noqa: S101 - nothing else is tuned
        shares = optimal_shares(self.scenario)
        return Tuned(
            blocking_cost=cost,
            policy=point.policy.with_classes(self.scenario),
            thresholds=point.policy.describe(),
            performance=dataclasses.replace(answer, warnings=(*answer.warnings, *warnings)),
            greedy_p=None if shares is None or not self.static else self.evaluate(shares),
            static=static,
            optimum=None,
            target={self.target.name: self.target.value},
            precision=self.evaluate.precision,
            seed=self.evaluate.seed if self.evaluate.simulated else None,
            certified=certified,
        )

    def _candidates(self, aim: float) -> tuple[list[Candidate], Static | None]:
        """Return the policies that keep the limit, and the best static one."""
        tables = self.tables
        self.report("tuning the blocking cost")
        if self.target.limited:
            begin = tables.first(aim)
            search = LimitSearch(tables, self.evaluate, self.target, aim)
            points = search.run()
            self.closest = search.closest
        else:
            begin = tables.parameter(self.target.value)
            policy = tables.policy(begin)
            points = [Point(begin, policy, self.evaluate(policy), 0.0)]
        found: list[Candidate] = [(point, math.exp(point.parameter)) for point in points]
        plain = tables.at(begin).policy
        if self._oscillates(plain, tables.at(begin).blocking):
            self.report("drawing narrower widths, as blocking is far above the model's")
            capped = self._searched(DesignLoads(self.scenario, plain), aim)
            found += [(point, math.exp(begin)) for point in capped]
        rare = self.evaluate.simulated and self.evaluate.rare and self.evaluate.can_split
        if rare or not self.static:
            return found, None  # importance splitting is slow where servers are hardly ever short
        self.report("trying greedy(p*) for other loads")
        points = self._static(aim)
        if not points:
            return found, None
        static = min(points, key=lambda point: self.target.objective(point.answer))
        return [*found, (static, None)], Static(static.parameter, static.answer)

    def _uncertain(self, aim: float) -> list[Candidate]:
        """Return the closest table if its estimate keeps the limit, though not its whole interval.

        The run that certifies it is longer than those of the search.
        """
        point = self.closest
        if point is None or self.target.estimated(point.answer) > aim:
            return []
        return [(point, math.exp(point.parameter))]

    def _static(self, aim: float) -> list[Point]:
        """Return design loads that keep the limit; where exact, also those of single widths."""
        loads = DesignLoads(self.scenario)
        found = self._searched(loads, aim)
        for load in [] if self.evaluate.simulated else loads.pure():
            answer = self.evaluate(loads.policy(load))
            used = self.target.used(answer) - aim if self.target.limited else 0.0
            if used <= 0.0:
                found.append(Point(load, loads.policy(load), answer, used))
        return found

    def _searched(self, family: Family, aim: float) -> list[Point]:
        """Return the policies of a family that keep the limit, or the one of least cost."""
        if self.target.limited:
            return LimitSearch(family, self.evaluate, self.target, aim).run()
        return [least_cost(family, self.evaluate, self.target)]

    def _oscillates(self, policy: Thresholds, modelled: float) -> bool:
        """Return whether blocking is far above the model's, as where jobs end together."""
        found = self.evaluate(policy).blocking.value
        return found > 0.0 and math.log(found / max(modelled, math.exp(-self.servers))) > OSCILLATES


def weights_are_not_counted(scenario: Scenario) -> list[str]:
    """Return a warning where classes have weights, which limits and costs do not count."""
    weights = {part.name: part.weight for part in scenario.workload.classes}
    if len(set(weights.values())) == 1:
        return []
    listed = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    warning = (
        f"weights ({listed}) make the value policy and greedy(p*) favour classes, but limits, "
        f"costs and the true optimum count the time of all jobs alike; leave them out to come "
        f"closest to it"
    )
    return [warning]
