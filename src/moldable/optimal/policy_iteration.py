"""Howard's policy iteration over all width policies.

Each round computes the relative values of the present policy and lets every state choose the best
width by these values. Values are computed roughly while decisions still change, and accurately at
the end. Whatever the values are, the least and the largest rate at which they change under the best
widths enclose the least cost; iteration stops when the two meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from moldable.arrays import Floats
from moldable.errors import ChainError
from moldable.optimal.problem import ControlProblem
from moldable.threads import interruptible

Decisions = NDArray[np.int8]

ROUNDS: Final = 60
STEPS: Final = 300
"""Limits on rounds of improvement, and on steps of the solver in each."""
COARSE: Final = 1e-2
FINE: Final = 1e-11
"""Share of the residual left by a round: while decisions still change, and at the least. With five
times COARSE, decisions alternate."""
ROUGH_ROUNDS: Final = 30
"""Rounds after which values are always computed accurately."""
ROUNDING: Final = 1e-14
"""Rounding error of a change of value, relative to the largest rates and values."""


@final
@dataclass(frozen=True, eq=False)
class BestPolicy:
    """A policy with bounds on its cost.

    Attributes:
        decisions: kind granted to each class (row) in each state; -1 for none.
        target: the next state; the state itself for none.
        values: relative values of the states.
        lower: lower bound of the least cost per arrival.
        upper: upper bound of this policy's cost per arrival.
        rounds: improvements of the policy.
    """

    decisions: Decisions
    target: NDArray[np.int32]
    values: Floats
    lower: float
    upper: float
    rounds: int


def best_policy(
    problem: ControlProblem, times: Floats, blocked: Floats, tolerance: float, values: Floats | None
) -> BestPolicy:
    """Return the policy of the least cost per arrival.

    Args:
        problem: the states.
        times: cost of granting each kind.
        blocked: cost of blocking a job of each class.
        tolerance: relative distance of the bounds at which to stop.
        values: a first guess of the states' values.
    """
    from moldable.kernels.value_iteration import improve, policy_values

    values = _first_values(problem, times) if values is None else values.copy()
    classes, arrivals = len(problem.workload.classes), problem.arrivals
    decisions = np.full((classes, problem.states), -1, dtype=np.int8)
    target = np.empty((classes, problem.states), dtype=np.int32)
    lines = (problem.start, problem.counts, problem.before)
    choices = (problem.after, problem.room, problem.rates, times, *problem.members)
    keep = ROUNDING * max(float(times.max()), float(blocked.max()))
    total = float(arrivals.sum())
    finest, closely = _finest(problem), False
    for done in range(1, ROUNDS + 1):
        changed, least, most = improve(
            values, *lines, *choices, arrivals, blocked, keep, decisions, target
        )
        noise = finest * float(np.ptp(values))
        alike = most - least <= noise
        # Bounds that are equal up to rounding after a rough round may differ after an accurate one.
        if most - least <= tolerance * most or (alike and closely):
            values -= values[0]
            lower = max((least - noise) / total, 0.0)
            return BestPolicy(decisions, target, values, lower, (most + noise) / total, done)
        cost = cost_rates(decisions, times, blocked, arrivals)
        values += 0.5 * (least + most) - values[0]
        closely = alike or not changed or done > ROUGH_ROUNDS
        needed = min(COARSE, max(FINE, 0.1 * tolerance * most / (most - least)))
        accuracy = needed if closely else COARSE
        rest: tuple[Any, ...] = (*lines, problem.rates, arrivals, target, accuracy, STEPS)
        interruptible(policy_values, values, cost, *rest)
    raise ChainError(
        f"after {ROUNDS} rounds the least cost is known only to lie between {least / total:.6g} "
        f"and {most / total:.6g}; ask for a larger tolerance than {tolerance:g}"
    )


def _first_values(problem: ControlProblem, times: Floats) -> Floats:
    """Guess that every running job adds its cost again, in proportion to its width."""
    charges = times * problem.widths / float(problem.widths[-1])
    values = np.zeros(problem.states)
    for charge, jobs in zip(charges.tolist(), problem.jobs(), strict=True):
        values += charge * jobs
    return values


def _finest(problem: ControlProblem) -> float:
    """Return the rounding error of a change, per unit of the values' range."""
    fastest = float((problem.rates / problem.widths).max()) * problem.servers
    return ROUNDING * (fastest + float(problem.arrivals.sum()))


def cost_rates(decisions: Decisions, times: Floats, blocked: Floats, arrivals: Floats) -> Floats:
    """Return the cost of arrivals per unit of time in each state."""
    cost = np.zeros(decisions.shape[1])
    for chosen, charge, rate in zip(decisions, blocked, arrivals, strict=True):
        # The last entry stands for -1, a blocked job.
        cost += rate * np.append(times, charge)[chosen]
    return cost
