"""The best of all width policies, for a given blocking cost.

The cost per arrival, (1 - P_b) E[D] + blocking cost x P_b, is minimised over every policy that sees
all running jobs and blocks a job only if none of its widths fits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.base_result import Result, Row
from moldable.checks import within
from moldable.errors import ChainError
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.workload import JobClass
from moldable.optimal.policy_iteration import Decisions, best_policy
from moldable.optimal.policy_law import class_figures, commonest_widths, policy_law
from moldable.optimal.problem import ControlProblem, control_problem
from moldable.policies.observation import Observation, observed
from moldable.system.performance import ClassPerformance
from moldable.system.provenance import provenance

TOLERANCE: Final = 1e-6
FINEST: Final = 1e-11
LARGEST_COST: Final = 1e12
"""Blocking costs beyond which the time of accepted jobs is below rounding errors."""


@final
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OptimalControl(Result):
    """The best policy for one blocking cost.

    Attributes:
        blocking_cost: in mean sizes; infinite if only blocking is minimised.
        cost: per arrival under the policy, in units of time; blocking if `blocking_cost` is
            infinite.
        lower_bound: of the cost of every policy.
        upper_bound: of the cost of this policy, from its values alone.
        blocking: the probability that an arriving job is blocked.
        mean_execution_time: of accepted jobs, in units of time.
        classes: blocking, time and widths of each class.
        widths_by_idle: for each class the width granted most often at each idle count from 0; 0
            where jobs are blocked.
        idle_only: share of arrivals for which that table decides as the policy does.
        iterations: improvements of the policy.
        decisions: kind granted to each class (row) in each state, -1 for none; see `problem`.
        law: the stationary probability of each state.
        values: of the states relative to the empty one, in the units of `cost`.
        problem: the states, and the kinds of jobs.
        provenance: versions, parameters and machine.

    Examples:
        >>> best = optimal_control(Scenario.single([1, 1.8, 2.5], 0.8, 8), blocking_cost=4)
        >>> best.grant("jobs", Observation(idle=8, running={})), best.widths_by_idle["jobs"]
        (3, (0, 1, 1, 2, 2, 2, 2, 3, 3))
    """

    blocking_cost: float
    cost: float
    lower_bound: float
    upper_bound: float
    blocking: float
    mean_execution_time: float
    classes: tuple[ClassPerformance, ...]
    widths_by_idle: dict[str, tuple[int, ...]]
    idle_only: float
    iterations: int
    decisions: Decisions
    law: Floats
    values: Floats
    problem: ControlProblem
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Largest possible distance from the optimal cost, as a share of the cost."""
        return max(0.0, self.cost - self.lower_bound) / self.cost if self.cost > 0.0 else 0.0

    @property
    def states(self) -> int:
        """Number of states."""
        return self.problem.states

    @property
    def accepted_time(self) -> float:
        """Execution time per arrival, blocked jobs counting 0: (1 - P_b) E[D]."""
        return (1.0 - self.blocking) * self.mean_execution_time

    def grant(
        self,
        job_class: JobClass | str,
        observation: Observation | None = None,
        u: float | None = None,  # noqa: ARG002
        *,
        idle: int | None = None,
    ) -> int:
        """Return the width granted to an arriving job; 0 if it is blocked.

        Args:
            job_class: its class, or the name of its class.
            observation: idle servers and running jobs at its arrival.
            u: not used, as the policy is deterministic.
            idle: is not enough for this policy.
        """
        name = job_class.name if isinstance(job_class, JobClass) else job_class
        number = self.problem.class_number(name)
        state = self.problem.state_seen(observed(observation, idle))
        kind = int(self.decisions[number, state])
        return int(self.problem.widths[kind]) if kind >= 0 else 0

    def __repr__(self) -> str:
        return (
            f"OptimalControl(blocking_cost={self.blocking_cost:g}, cost={self.cost:.6g}, "
            f"gap={self.gap:.1e}, blocking={self.blocking:.6g}, "
            f"mean_execution_time={self.mean_execution_time:.6g}, states={self.states})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; an infinite blocking cost is null."""
        return {
            "blocking_cost": self.blocking_cost if math.isfinite(self.blocking_cost) else None,
            "cost": self.cost,
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "gap": self.gap,
            "blocking": self.blocking,
            "mean_execution_time": self.mean_execution_time,
            "classes": [part.to_dict() for part in self.classes],
            "widths_by_idle": {name: list(row) for name, row in self.widths_by_idle.items()},
            "idle_only": self.idle_only,
            "states": self.states,
            "iterations": self.iterations,
            "provenance": self.provenance,
            "inputs": {"scenario": self.problem.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return, for each idle count, the width granted most often to each class."""
        return rows_by_idle(self.widths_by_idle)


def rows_by_idle(widths: Mapping[str, Sequence[int]]) -> list[Row]:
    """Return a row for each idle count, with the width of each class."""
    return [
        {"idle": idle, **dict(zip(widths, row, strict=True))}
        for idle, row in enumerate(zip(*widths.values(), strict=True))
    ]


def optimal_control(
    scenario: ScenarioOrFile,
    blocking_cost: float,
    *,
    tolerance: float = TOLERANCE,
    start: OptimalControl | None = None,
) -> OptimalControl:
    """Return the best of all width policies on a shared pool, with exponential sizes.

    Args:
        scenario: the cluster and the classes; their weights are not used.
        blocking_cost: cost of a blocked job, in mean sizes of the workload's jobs.
        tolerance: largest relative distance between the bounds of the optimal cost.
        start: the optimum of the same scenario at another blocking cost, from whose values to
            start.

    Examples:
        >>> optimal_control(Scenario.single([1, 1.8, 2.5], 0.8, 8), blocking_cost=4).states
        41
    """
    scenario, blocking_cost = checked_scenario(scenario), checked_blocking_cost(blocking_cost)
    if start is None:
        return solve(control_problem(scenario), blocking_cost, tolerance, None)
    if start.problem.scenario != scenario:
        raise ChainError(
            f"start is the optimum of another scenario (of {start.problem.servers} servers); pass "
            f"one of this scenario, or none"
        )
    return solve(start.problem, blocking_cost, tolerance, start.values)


def checked_blocking_cost(blocking_cost: float) -> float:
    """Return a blocking cost, or raise an error if it is out of range."""
    hint = "it is in mean sizes; for the least blocking of all, use least_blocking"
    return within(blocking_cost, "blocking_cost", ChainError, 0.0, LARGEST_COST, hint)


def solve(
    problem: ControlProblem, blocking_cost: float, tolerance: float, values: Floats | None
) -> OptimalControl:
    """Find the best policy and its performance; an infinite cost minimises blocking alone.

    `values` are a first guess of the states' values.
    """
    if not FINEST <= tolerance < 1.0:
        raise ChainError(f"tolerance={tolerance} must lie between {FINEST:g} and 1, such as 1e-6")
    only_blocking = math.isinf(blocking_cost)
    times = np.zeros(problem.times.size) if only_blocking else problem.times
    charge = 1.0 if only_blocking else blocking_cost * problem.mean_size
    blocked = np.full(len(problem.workload.classes), charge)
    best = best_policy(problem, times, blocked, tolerance, values)
    law = policy_law(problem, best)
    classes = class_figures(problem, best.decisions, law)
    shares = problem.arrivals / problem.arrivals.sum()
    lost = np.array([part.blocking.value for part in classes])
    spent = np.array([part.mean_execution_time.value for part in classes]) * (1.0 - lost)
    blocking, accepted_time = float(shares @ lost), float(shares @ spent)
    if not blocking < 1.0:
        raise ChainError(
            f"the load is so high that the share of accepted jobs is lost in rounding: "
            f"blocking={blocking}; lower the arrival rates"
        )
    table, idle_only = commonest_widths(problem, best.decisions, law)
    return OptimalControl(
        blocking_cost=blocking_cost,
        cost=blocking if only_blocking else accepted_time + charge * blocking,
        lower_bound=best.lower,
        upper_bound=best.upper,
        blocking=blocking,
        mean_execution_time=accepted_time / (1.0 - blocking),
        classes=classes,
        widths_by_idle=table,
        idle_only=idle_only,
        iterations=best.rounds,
        decisions=best.decisions,
        law=law,
        values=best.values,
        problem=problem,
        provenance=provenance(problem.scenario, "optimal", tolerance=tolerance),
    )
