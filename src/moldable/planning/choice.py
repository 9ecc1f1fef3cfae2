"""Choose a policy for a goal, and check whether it is reached."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.errors import ControlError, UnstableError
from moldable.evaluation.evaluate import Unsolved, solve_exactly
from moldable.files.policy_file import policy_data
from moldable.model.scenario import Scenario
from moldable.planning.goal import Goal
from moldable.planning.least_figures import least_busy
from moldable.planning.predictor import (
    CHOSEN_STATES,
    MOST_WARMUP,
    REPLICATIONS,
    Predictor,
    loss_warmup,
)
from moldable.policies.greedy import GreedyP
from moldable.policies.kinds import Kinds
from moldable.policies.policy import Policy
from moldable.policies.thresholds import Thresholds
from moldable.simulation.plan import CERTIFY, child_seed
from moldable.simulation.simulate import RunOptions, simulate_system
from moldable.system.loss_system import build_system
from moldable.system.performance import Performance
from moldable.tuning.evaluator import RARE, Evaluator, LossEvaluator, QueueEvaluator
from moldable.tuning.queue_tuning import QueueSearch
from moldable.tuning.tuned_queue import certified_policy
from moldable.tuning.tuning import Tuning

EFFORT, QUEUE_EFFORT = 0.05, 0.25
"""Length of simulations, as a share of those of `tune`, without and with waiting places."""
ROUGH: Final = 0.4
"""Length of simulations without waiting places where a search is not thorough, as a share."""
FINE: Final = 0.004
"""Precision of a policy whose estimate keeps the limit while its interval does not."""
MOST_FINE_JOBS: Final = 50_000_000
"""Most arrivals of that evaluation: variable sizes near saturation would need billions."""
PROBES: Final = (63.0, 4.0, 1023.0)
"""Charges for waiting at which a limit is tried first."""
STEADY: Final = 0.5
"""Squared coefficient of variation of sizes below which feedback on idle servers may oscillate."""
ProgressCallback = Callable[[str], None]


@final
@dataclass(frozen=True, eq=False)
class Options:
    """How a plan is computed.

    Attributes:
        precision: target relative half-width of simulated 95 % intervals.
        seed: random seed.
        threads: of simulations; all cores by default.
        report: called with a description of each step.
        thorough: whether to search around the first guesses of policies with waiting places, which
            are within a few per cent of the best; without waiting places, whether simulations
            are long.
        any_kept: whether any policy that keeps the limit will do, with waiting places.
    """

    precision: float
    seed: int
    threads: int | None
    report: ProgressCallback
    thorough: bool = True
    any_kept: bool = False

    def during(self, what: str) -> Options:
        """Return these options, with descriptions of steps that begin with these words."""
        return dataclasses.replace(self, report=lambda text: self.report(f"{what}: {text}"))

    @property
    def predict(self) -> Predictor:
        """Predicts the performance of policies."""
        return Predictor(self.precision, self.seed, self.threads)


@final
@dataclass(frozen=True, eq=False)
class Choice:
    """The best policy found for a goal on one cluster.

    Attributes:
        policy: the policy.
        words: its decisions, or its kind, in words.
        performance: with intervals.
        kept: whether it keeps the limit, exactly or at the upper end of the 95 % interval; True if
            there is none.
        blocking_cost: of its table, in mean sizes; None for other policies.
    """

    policy: Policy
    words: str
    performance: Performance
    kept: bool
    blocking_cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        answer = self.performance
        return {
            "words": self.words,
            "policy": policy_data(self.policy),
            "kept": self.kept,
            "blocking_cost": self.blocking_cost,
            "performance": answer.figures() | {"utilisation": answer.busy_fraction},
            "method": answer.method,
        }


def choose(scenario: Scenario, goal: Goal, options: Options) -> Choice:
    """Return the best policy found; if no policy keeps the limit, the one that comes closest.

    Raises:
        UnstableError: if the queue grows without limit under every policy.
    """
    if math.isinf(scenario.waiting) and least_busy(scenario) >= scenario.servers:
        raise UnstableError(
            f"jobs keep {least_busy(scenario):.6g} servers busy even on their most efficient "
            f"widths, but there are {scenario.servers}: add servers, or lower the load",
            "servers",
        )
    only = only_policy(scenario)
    if only is not None:
        return _without_choice(scenario, goal, only, options)
    found = (_with_queue if scenario.waiting else _without_queue)(scenario, goal, options)
    policy = found.policy.with_classes(scenario)
    return dataclasses.replace(found, policy=policy, kept=goal.kept(found.performance))


def decided(choice: Choice, goal: Goal, options: Options) -> Choice:
    """Evaluate a policy more precisely if only the upper end of its interval breaks the limit.

    Limits that need importance splitting are left as they are.
    """
    rare = goal.name == "max_blocking" and goal.value < RARE
    if choice.kept or rare or not goal.met(choice.performance):
        return choice
    scenario = choice.performance.scenario
    options.report(f"evaluating {scenario.servers} servers more precisely")
    system = build_system(scenario, choice.policy)
    answer = solve_exactly(system, "auto")
    if isinstance(answer, Unsolved):
        fine = RunOptions(
            max_jobs=MOST_FINE_JOBS,
            precision=min(FINE, options.precision),
            seed=child_seed(options.seed, CERTIFY, 0),
            threads=options.threads,
        )
        answer = answer.warn(simulate_system(system, fine, answer.reason).whole())
    return dataclasses.replace(choice, performance=answer, kept=goal.kept(answer))


def only_policy(scenario: Scenario) -> GreedyP | None:
    """Return the only policy there is if every class has one width, otherwise None."""
    classes = scenario.workload.classes
    curves = [job_class.speedup.up_to(scenario.servers) for job_class in classes]
    if any(len(curve) > 1 for curve in curves):
        return None
    widths = [int(curve.widths[0]) for curve in curves]
    shares = {c.name: {width: 1.0} for c, width in zip(classes, widths, strict=True)}
    return GreedyP(shares, "only width").with_classes(scenario)


def _without_choice(scenario: Scenario, goal: Goal, only: GreedyP, options: Options) -> Choice:
    evaluate: Evaluator = (
        _queue_evaluator(scenario, options)
        if scenario.waiting
        else _loss_evaluator(scenario, goal, options)
    )
    answer = evaluate(only, 1)
    return Choice(only, only.describe(), answer, goal.kept(answer))


def _without_queue(scenario: Scenario, goal: Goal, options: Options) -> Choice:
    evaluate = _loss_evaluator(scenario, goal, options)
    kinds, static = Kinds.of(scenario), _hardly_varies(scenario)
    tuning = Tuning(kinds, evaluate.target, evaluate, options.report, static=static)
    try:
        found = tuning.run(states=0)
    except ControlError:
        point = tuning.closest
        if point is None:
            raise
        policy = point.policy
        assert isinstance(policy, Thresholds | GreedyP)  # noqa: S101 - nothing else is tuned
        return Choice(policy, policy.describe(), evaluate(policy, 1), kept=False)
    return Choice(
        found.policy, found.thresholds, found.performance, found.certified, found.blocking_cost
    )


def _with_queue(scenario: Scenario, goal: Goal, options: Options) -> Choice:
    evaluate, target = _queue_evaluator(scenario, options), goal.queue_target(scenario)
    moves = 1 if options.thorough else 0
    any_kept = options.any_kept
    search = QueueSearch(scenario, target, evaluate, moves, PROBES, any_kept=any_kept)
    try:
        chosen, answer, certified, _ = certified_policy(search, options.report)
    except ControlError:
        if not search.found:
            raise
        closest = min(search.found, key=lambda one: goal.figure(one.answer).value)
        answer = evaluate(closest.policy, 1)
        return Choice(closest.policy, closest.label, answer, kept=False)
    return Choice(chosen.policy, chosen.label, answer, certified)


def _loss_evaluator(scenario: Scenario, goal: Goal, options: Options) -> LossEvaluator:
    return LossEvaluator(
        scenario,
        goal.loss_target(scenario.workload.mean_size),
        precision=options.precision,
        seed=options.seed,
        threads=options.threads,
        effort=EFFORT if options.thorough else ROUGH * EFFORT,
        warmup=loss_warmup(scenario),
    )


def _hardly_varies(scenario: Scenario) -> bool:
    """Return whether sizes vary so little that static widths may be better than tables."""
    return all(c.size.variance < STEADY for c in scenario.workload.classes)


def _queue_evaluator(scenario: Scenario, options: Options) -> QueueEvaluator:
    return QueueEvaluator(
        scenario,
        precision=options.precision,
        seed=options.seed,
        threads=options.threads,
        effort=QUEUE_EFFORT,
        replications=REPLICATIONS,
        states=CHOSEN_STATES,
        most_warmup=MOST_WARMUP,
    )
