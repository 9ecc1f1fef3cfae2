"""Howard's policy iteration over all width policies of a cluster with a queue.

It proceeds as `policy_iteration`: values of the present policy, roughly while decisions still
change, then the best width in every state. The cost per unit of time is the number of jobs in the
system, plus the cost of arrivals that find all places taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import NearlyDecomposableError
from moldable.optimal.policy_iteration import COARSE, FINE, ROUGH_ROUNDS, ROUNDING, Decisions
from moldable.optimal.queue_problem import Index, QueueProblem
from moldable.threads import interruptible

ROUNDS: Final = 60
STEPS: Final = 300
"""Limits on rounds of improvement, and on steps of the solver in each."""
WORST: Final = 0.01
"""Relative distance of bounds above which rounding errors leave no answer."""
SLACK: Final = 0.05
"""Least share of the throughput by which the first guess takes it to exceed the arrivals."""


@final
@dataclass(frozen=True, eq=False)
class QueuePolicy:
    """What is done in every state, and the values by which it is chosen.

    Attributes:
        places: waiting places.
        overflow: cost of an arrival that finds them taken.
        target: state after an arrival of each class (row) in states without waiting jobs.
        decisions: kind granted to that arrival; -1 for none.
        goes: node to which the head of the queue leads, see `kernels.queue_control`.
        values: relative values of all states.
        lower: lower bound of the least cost per arrival with these places.
        upper: upper bound of this policy's cost per arrival with these places.
        rounds: improvements of the policy.
    """

    places: int
    overflow: float
    target: Index
    decisions: Decisions
    goes: Index
    values: Floats
    lower: float
    upper: float
    rounds: int


@final
class QueueSolver:
    """Arrays of one problem with a number of waiting places, as the kernels take them."""

    def __init__(self, queue: QueueProblem, places: int, overflow: float) -> None:
        pool, lines = queue.pool, queue.lines
        self.queue, self.places, self.overflow = queue, places, overflow
        classes = len(pool.workload.classes)
        self.target = np.zeros((classes, pool.states), dtype=np.int32)
        self.decisions = np.full((classes, pool.states), -1, dtype=np.int8)
        self.goes = np.zeros((places, classes, queue.depth, lines), dtype=np.int32)
        self.out = queue.rates_out(places)
        self.jobs = queue.jobs(places)
        # Relative rounding error of a change, per unit of the values' range.
        self.finest = ROUNDING * float(self.out.max())

    def improve(self, values: Floats, keep: float) -> tuple[int, float, float]:
        """Choose the best widths; return the changes, and bounds of the cost per unit of time."""
        from moldable.kernels.queue_control import improve_queue

        pool, queue = self.queue.pool, self.queue
        changed, least, most = improve_queue(
            values,
            *(pool.start, pool.counts, pool.before, pool.after, pool.room, pool.rates),
            *pool.members,
            *(pool.arrivals, queue.node, queue.ends, queue.onto),
            pool.jobs().sum(axis=0)[queue.full],
            *(self.overflow, keep, self.target, self.decisions, self.goes),
        )
        return changed, least, most

    def evaluate(self, values: Floats, cost: Floats, accuracy: float) -> float:
        """Improve the values of the present policy in place; the first is the cost per time.

        Return the factor by which the residual has decreased, which is above `accuracy` if all
        steps were needed.
        """
        from moldable.kernels.queue_control import queue_values

        rest: tuple[Any, ...] = (*self.arguments, accuracy, STEPS)
        _, left = interruptible(queue_values, values, cost, *rest)
        return float(left)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the solvers for values and distributions."""
        pool, queue = self.queue.pool, self.queue
        return (
            *(pool.start, pool.counts, pool.before, pool.rates, pool.arrivals),
            *(self.target, self.goes, queue.node, queue.ends, self.out),
        )

    def cost(self) -> Floats:
        """Return the cost per unit of time in each state."""
        cost = self.jobs.copy()
        cost[self.queue.overflowing(self.places)] += self.queue.arrival_rate * self.overflow
        return cost

    def noise(self, values: Floats) -> float:
        """Return the rounding error of the bounds."""
        return self.finest * float(np.ptp(values))


def best_queue_policy(
    queue: QueueProblem, places: int, overflow: float, tolerance: float, values: Floats | None
) -> tuple[QueuePolicy, QueueSolver]:
    """Return the policy of the least cost per arrival.

    Args:
        queue: the states.
        places: waiting places.
        overflow: cost of an arrival that finds them taken.
        tolerance: relative distance of the bounds at which to stop.
        values: a first guess of the states' values.
    """
    solver = QueueSolver(queue, places, overflow)
    values = first_values(queue, places) if values is None else values.copy()
    cost, total = solver.cost(), queue.arrival_rate
    closely, last = False, (0.0, 0.0)
    for done in range(1, ROUNDS + 1):
        keep = ROUNDING * float(np.ptp(values))
        changed, least, most = solver.improve(values, keep)
        noise = solver.noise(values)
        alike = most - least <= noise
        # Bounds that are equal up to rounding after a rough round may differ after an accurate one.
        if most - least <= tolerance * most or (alike and closely):
            values -= values[0]
            lower, upper = max((least - noise) / total, 0.0), (most + noise) / total
            if upper - lower > WORST * upper:
                break
            arrays = (solver.target, solver.decisions, solver.goes)
            return QueuePolicy(places, overflow, *arrays, values, lower, upper, done), solver
        if (least, most) == last:  # the solver makes no progress
            break
        last = least, most
        values += 0.5 * (least + most) - values[0]
        closely = alike or not changed or done > ROUGH_ROUNDS
        needed = min(COARSE, max(FINE, 0.1 * tolerance * most / (most - least)))
        solver.evaluate(values, cost, needed if closely else COARSE)
    lower, upper = max((least - noise) / total, 0.0), (most + noise) / total
    raise NearlyDecomposableError(
        f"after {done} rounds the least cost is known only to lie between {lower:.6g} and "
        f"{upper:.6g}, as values of states differ by up to {np.ptp(values):.2g}: some states are "
        f"left very "
        f"rarely; ask for a larger tolerance than {tolerance:g}, fewer waiting places or "
        f"another load"
    )


def first_values(queue: QueueProblem, places: int) -> Floats:
    """Guess values as if every waiting job were served on the fewest server-time.

    A long queue empties at a constant rate, so its cost is quadratic: each job behind waits for the
    work of all running and waiting jobs.
    """
    pool, times = queue.pool, queue.server_times
    jobs = pool.jobs()
    fastest = queue.largest_throughput
    load = min(queue.arrival_rate / fastest, 1.0)
    values = (pool.times + load * times / float(pool.widths[-1])) @ jobs
    if places == 0:
        return values
    pace = 1.0 / max(fastest - queue.arrival_rate, SLACK * fastest)
    ahead = (times @ jobs[:, queue.full]) * fastest / pool.servers
    waiting = np.arange(1.0, places + 1.0)[:, np.newaxis]
    levels = values[queue.full] + pace * waiting * (ahead + 0.5 * (waiting + 1.0))
    return np.concatenate((values, levels.ravel()))


def longer_queue(queue: QueueProblem, policy: QueuePolicy, places: int) -> Floats:
    """Guess the values for more waiting places from those of a policy.

    Where its own queue is nearly full, the values are distorted by the end of the queue; from the
    middle on they continue like the first guess.
    """
    states, middle = queue.pool.states, policy.places // 2
    guess = first_values(queue, places)
    levels = guess[states:].reshape(places, queue.lines)
    known = policy.values[states:].reshape(policy.places, queue.lines)
    levels[middle:] += known[middle] - levels[middle]
    levels[:middle] = known[:middle]
    guess[:states] = policy.values[:states]
    return guess
