"""Blocking against time: the value policy at several blocking costs, and the optimum's curve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.base_result import Result, Row
from moldable.errors import ChainError
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.optimal.curve import (
    BLOCKING_COSTS,
    TradeoffCurve,
    checked_blocking_costs,
    tradeoff,
)
from moldable.policies.greedy import Greedy
from moldable.policies.kinds import Kinds
from moldable.policies.thresholds import Thresholds
from moldable.system.performance import Performance
from moldable.tuning.evaluator import LossEvaluator
from moldable.tuning.families import ValueTables, optimal_shares
from moldable.tuning.polish import Polish
from moldable.tuning.targets import Target
from moldable.tuning.tuning import ProgressCallback, no_progress, weights_are_not_counted

NOT_ASKED: Final = "the optimum over all policies was not asked for"


@final
@dataclass(frozen=True)
class ValuePoint:
    """The value policy at one blocking cost.

    Attributes:
        blocking_cost: in mean sizes.
        policy: its table.
        performance: its performance.
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
@dataclass(frozen=True, repr=False)
class ValueTradeoff(Result):
    """The trade-off between blocking and mean execution time.

    Attributes:
        optimum: over all policies; None where there are too many states.
        why_no_optimum: the reason if it is None.
        value_policy: the value policy at every blocking cost.
        greedy_p: greedy(p*); None if the cluster cannot carry the load.
        greedy: the widest width that fits.
        seed: that reproduces the result; None if nothing was simulated.
        warnings: what a reader should know.

    Examples:
        >>> value_tradeoff(Scenario.single([1, 1.8], 0.8, 8), [2, 8]).to_frame()["policy"].tolist()
        ['true optimum', 'true optimum', 'value policy', 'value policy', 'greedy(p*)', 'greedy']
    """

    optimum: TradeoffCurve | None
    why_no_optimum: str
    value_policy: tuple[ValuePoint, ...]
    greedy_p: Performance | None
    greedy: Performance
    seed: int | None = None
    warnings: tuple[str, ...] = ()

    @property
    def time_unit(self) -> str | None:
        """The scenario's unit of time; None if it has none."""
        return self.greedy.time_unit

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "time_unit": self.time_unit,
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "why_no_optimum": self.why_no_optimum or None,
            "value_policy": [part.to_dict() for part in self.value_policy],
            "greedy_p": None if self.greedy_p is None else self.greedy_p.to_dict(),
            "greedy": self.greedy.to_dict(),
            "seed": self.seed,
            "warnings": list(self.warnings),
            "inputs": {"scenario": self.greedy.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return a row for each policy and blocking cost."""
        rows = [] if self.optimum is None else self.optimum.table()
        names = ("blocking_cost", "blocking", "mean_execution_time")
        found: list[Row] = [
            {"policy": "true optimum"} | {name: row[name] for name in names} for row in rows
        ]
        points = [("value policy", p.blocking_cost, p.performance) for p in self.value_policy]
        others = [("greedy(p*)", None, self.greedy_p), ("greedy", None, self.greedy)]
        for name, cost, performance in (*points, *others):
            if performance is not None:
                figures = performance.blocking.value, performance.mean_execution_time.value
                own = dict(zip(names, (cost, *figures), strict=True))
                found.append({"policy": name} | own)
        return found

    def __repr__(self) -> str:
        ends = (self.value_policy[0].performance, self.value_policy[-1].performance)
        points = " to ".join(f"({e.blocking:.4g}, {e.mean_execution_time:.4g})" for e in ends)
        return (
            f"ValueTradeoff({len(self.value_policy)} blocking costs, (blocking, time) of the value "
            f"policy from {points})"
        )


def value_tradeoff(
    scenario: ScenarioOrFile,
    blocking_costs: Iterable[float] = BLOCKING_COSTS,
    *,
    optimum: bool = True,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> ValueTradeoff:
    """Evaluate the value policy at several blocking costs, and the optimum over all policies.

    Args:
        scenario: classes that share one pool, and their arrivals.
        blocking_costs: costs of a blocked job, in mean sizes.
        optimum: whether to compute the optimum over all policies, which may take minutes.
        precision: target relative half-width of the 95 % confidence intervals of simulations.
        seed: random seed of simulations; a fresh one if not given.
        threads: threads of simulations; all cores by default.
        progress: called with a description of each step when it begins.

    Examples:
        >>> value_tradeoff(Scenario.single([1, 1.8], 0.8, 8), [2, 8]).value_policy[0].blocking_cost
        2.0
    """
    scenario, report = checked_scenario(scenario), progress or no_progress
    costs, kinds = checked_blocking_costs(blocking_costs), Kinds.of(scenario)
    target = Target.of(kinds.mean_size, blocking_cost=max(costs[0], 1.0))
    evaluate = LossEvaluator(scenario, target, precision=precision, seed=seed, threads=threads)
    curve, why = None, NOT_ASKED
    if optimum:
        report("computing the true optimum")
        try:
            curve, why = tradeoff(scenario, costs, threads=threads), ""
        except ChainError as error:
            why = str(error)
    report("evaluating the value policy")
    tables = ValueTables(kinds, target, Polish.of(kinds))
    policies = [tables.policy(tables.parameter(cost)) for cost in costs]
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
        seed=evaluate.seed if evaluate.simulated else None,
        warnings=tuple(weights_are_not_counted(scenario)),
    )
