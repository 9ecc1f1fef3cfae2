"""Blocking against time: the value policy at several blocking costs, beside the optimum's curve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from moldable.errors import ChainError
from moldable.evaluation.evaluate import check_request
from moldable.model.scenario import Scenario
from moldable.optimal.tradeoff import (
    BLOCKING_COSTS,
    TradeoffCurve,
    checked_blocking_costs,
    tradeoff,
)
from moldable.policies.greedy import Greedy
from moldable.policies.kinds import Kinds
from moldable.policies.thresholds import Thresholds
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.system.performance import Performance
from moldable.tuning.evaluator import Evaluator
from moldable.tuning.polish import Polish
from moldable.tuning.static import optimal_shares
from moldable.tuning.targets import Target
from moldable.tuning.tuning import ProgressCallback, no_progress, weights_are_not_counted
from moldable.tuning.value_tables import ValueTables


@final
@dataclass(frozen=True)
class ValuePoint:
    """The value policy at one blocking cost.

    Attributes:
        blocking_cost: in mean sizes.
        policy: its table.
        performance: how it performs.
    """

    blocking_cost: float
    policy: Thresholds
    performance: Performance

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "blocking_cost": self.blocking_cost,
            "thresholds": self.policy.describe(),
            **self.performance.figures(),
        }


@final
@dataclass(frozen=True)
class ValueTradeoff:
    """What less blocking costs in time.

    Attributes:
        optimum: over all policies; None where there are too many states.
        why_no_optimum: the reason then.
        value_policy: at every blocking cost.
        greedy_p: greedy(p*); None if the cluster cannot carry the load.
        greedy: the widest that fits.
        seed: with which the same is found again; None if nothing was drawn at random.
        warnings: what a reader should know.
    """

    optimum: TradeoffCurve | None
    why_no_optimum: str
    value_policy: tuple[ValuePoint, ...]
    greedy_p: Performance | None
    greedy: Performance
    seed: int | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "why_no_optimum": self.why_no_optimum or None,
            "value_policy": [part.to_dict() for part in self.value_policy],
            "greedy_p": None if self.greedy_p is None else self.greedy_p.to_dict(),
            "greedy": self.greedy.to_dict(),
            "seed": self.seed,
            "warnings": list(self.warnings),
        }


def value_tradeoff(
    scenario: Scenario,
    blocking_costs: Iterable[float] = BLOCKING_COSTS,
    *,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> ValueTradeoff:
    """Evaluate the value policy at several blocking costs, beside the optimum over all policies.

    Args:
        scenario: classes that share one pool, and their arrivals.
        blocking_costs: of a blocked job, in mean sizes.
        precision: target relative half-width of the 95 % confidence intervals of simulations.
        seed: of simulations; a fresh one if not given.
        threads: all cores by default.
        progress: called with the step that begins, in words.
    """
    say = progress or no_progress
    check_request("auto", precision)
    check_seed_and_threads(seed, threads)
    costs, kinds = checked_blocking_costs(blocking_costs), Kinds.of(scenario)
    target = Target.of(None, max(costs[0], 1.0), None, kinds.mean_size)
    seed = fresh_seed() if seed is None else seed
    evaluate = Evaluator(scenario, target, precision=precision, seed=seed, threads=threads)
    say("computing the true optimum")
    curve, why = None, ""
    try:
        curve = tradeoff(scenario, costs, threads=threads)
    except ChainError as error:
        why = str(error)
    say("evaluating the value policy")
    tables = ValueTables(kinds, target, Polish.of(kinds))
    policies = [tables.policy(tables.knob(cost)) for cost in costs]
    points = (
        ValuePoint(cost, policy, evaluate(policy, 1))
        for cost, policy in zip(costs, policies, strict=True)
    )
    shares = optimal_shares(scenario)
    return ValueTradeoff(
        optimum=curve,
        why_no_optimum=why,
        value_policy=tuple(points),
        greedy_p=None if shares is None else evaluate(shares, 1),
        greedy=evaluate(Greedy(), 1),
        seed=seed if evaluate.simulated else None,
        warnings=tuple(weights_are_not_counted(scenario)),
    )
