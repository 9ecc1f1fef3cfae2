"""What is the best that any width policy can do, and which policy does it?

The cost per arrival is the time of accepted jobs plus a price for blocked ones,
(1 - P_b) E[D] + price P_b. It is minimised over every policy that sees all running jobs and blocks
a job only if none of its widths fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import number
from moldable.errors import ChainError, nearest
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass
from moldable.optimal.policy_iteration import Decisions, best_policy
from moldable.optimal.policy_law import class_figures, commonest_widths, policy_law
from moldable.optimal.problem import ControlProblem, control_problem
from moldable.policies.observation import Observation, held_servers
from moldable.system.performance import ClassPerformance
from moldable.system.provenance import provenance

TOLERANCE: Final = 1e-6
FINEST: Final = 1e-11
DEAREST: Final = 1e12
"""Prices beyond which the time of accepted jobs would drown in rounding."""


@final
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OptimalControl:
    """The best policy for one price of a blocked job.

    Attributes:
        price: of a blocked job, in mean sizes; infinite if only blocking was to be least.
        cost: per arrival under the policy found, in units of time; at an infinite price, blocking.
        lower_bound: below which no policy's cost can be.
        upper_bound: of the cost of this policy, from its values alone.
        blocking: the probability that an arriving job is blocked.
        mean_execution_time: of accepted jobs, in units of time.
        classes: the same for every class.
        widths_by_idle: for each class the width granted most often at each idle count from 0; 0
            where jobs are blocked.
        idle_only: share of arrivals for which that table decides as the policy does.
        iterations: improvements of the policy.
        decisions: kind granted to each class (row) in each state, -1 for none; see `problem`.
        law: the stationary probability of each state.
        values: of the states relative to the empty one, in the units of `cost`.
        problem: the states, and the kinds of jobs.
        provenance: versions, parameters and machine.
    """

    price: float
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
        """How far above the optimum the policy's cost may be, as a share of its cost."""
        return max(0.0, self.cost - self.lower_bound) / self.cost if self.cost > 0.0 else 0.0

    @property
    def states(self) -> int:
        """How many states there are."""
        return self.problem.states

    @property
    def accepted_time(self) -> float:
        """Execution time per arrival, blocked jobs counting 0: (1 - P_b) E[D]."""
        return (1.0 - self.blocking) * self.mean_execution_time

    def grant(self, job_class: JobClass, observation: Observation, u: float = 0.0) -> int:  # noqa: ARG002
        """Return the servers that an arriving job gets; 0: it is blocked.

        Args:
            job_class: its class.
            observation: what it finds, with the running jobs.
            u: not used: nothing is drawn at random.
        """
        names, name = [part.name for part in self.problem.workload.classes], job_class.name
        if name not in names:
            raise ChainError(f"class {name!r} is unknown; {nearest(name, names)}")
        if observation.running is None:
            raise ChainError(
                "the optimal policy looks at the running jobs; pass Observation(idle, running=...)"
            )
        state = self.problem.state_of(observation.running)
        idle = self.problem.servers - held_servers(observation.running)
        if observation.idle != idle:
            raise ChainError(
                f"idle={observation.idle}, but the running jobs leave {idle} of "
                f"{self.problem.servers} servers idle; correct one of the two"
            )
        kind = int(self.decisions[names.index(name), state])
        return int(self.problem.widths[kind]) if kind >= 0 else 0

    def __repr__(self) -> str:
        return (
            f"OptimalControl(price={self.price:g}, cost={self.cost:.6g}, gap={self.gap:.1e}, "
            f"blocking={self.blocking:.6g}, "
            f"mean_execution_time={self.mean_execution_time:.6g}, states={self.states})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; an infinite price is null."""
        return {
            "price": self.price if math.isfinite(self.price) else None,
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
        }


def optimal_control(
    scenario: Scenario,
    price: float,
    *,
    tolerance: float = TOLERANCE,
    start: OptimalControl | None = None,
) -> OptimalControl:
    """Return the best of all width policies on a shared pool, with exponential sizes.

    Args:
        scenario: the cluster and the classes; their weights are not used.
        price: of a blocked job, in mean sizes of the workload's jobs.
        tolerance: largest relative distance between the bounds of the optimal cost.
        start: the optimum at another price on the same system, whose values are a good start.
    """
    charge = checked_price(price)
    if start is None:
        return solve(control_problem(scenario), charge, tolerance, None)
    if start.problem.scenario != scenario:
        raise ChainError(
            f"start is the optimum of another scenario (of {start.problem.servers} servers); pass "
            f"one of this scenario, or none"
        )
    return solve(start.problem, charge, tolerance, start.values)


def checked_price(price: float) -> float:
    """Return the price of a blocked job, or say what it should be."""
    checked = number(price, "price", ChainError)
    if not 0.0 <= checked < DEAREST:
        raise ChainError(
            f"{checked:g} must be at least 0 and below {DEAREST:g}: what a blocked job "
            f"costs, in mean sizes; for the least blocking of all, use least_blocking",
            "price",
        )
    return checked


def solve(
    problem: ControlProblem, price: float, tolerance: float, values: Floats | None
) -> OptimalControl:
    """Find the best policy, its law and its figures; at an infinite price only blocking counts.

    `values` are a first guess of the states' values.
    """
    if not FINEST <= tolerance < 1.0:
        raise ChainError(f"tolerance={tolerance} must lie between {FINEST:g} and 1, such as 1e-6")
    only_blocking = math.isinf(price)
    times = np.zeros(problem.times.size) if only_blocking else problem.times
    charge = 1.0 if only_blocking else price * problem.mean_size
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
            f"the load is so high that the share of accepted jobs is lost in rounding beside "
            f"blocking={blocking}; lower the arrival rates"
        )
    table, idle_only = commonest_widths(problem, best.decisions, law)
    return OptimalControl(
        price=price,
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
