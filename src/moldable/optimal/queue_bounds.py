"""Bounds of the least cost of an unlimited queue, from the values of one that is cut off.

The programme is solved for Q waiting places and a cost for each arrival that finds them taken. With
a cost that is certainly too small, its optimum is a lower bound for the unlimited queue; with one
that is certainly too large, an upper bound. Both are proved by values for all queue lengths, whose
rate of change, costs included, is nowhere below the lower bound, or nowhere above the upper one.

*Lower bound.* Beyond Q the values continue linearly, with the overflow cost as their slope. From
Q + d waiting jobs on, d being the most grants after one completion, all values reached by one
completion lie on the line, so the change rises by exactly 1 with each further waiting job. It
remains to check d levels.

*Upper bound.* Beyond Q every head gets its narrowest width. The expected server-time F of all jobs
then falls at the rate of busy servers, whatever runs, so the change of
H = kappa F^2 / 2 + eta F + constant is explicit, and falls with the queue length. Take the values h
of a larger overflow cost up to Q waiting jobs, H beyond, and the smaller of the two between Q / 2
and Q. The change of a minimum is at most that of the function that attains it. It remains to check
that h is the smaller one on the levels just below Q / 2, and that H at Q + 1 is at most h at Q plus
its overflow cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.optimal.queue_iteration import QueuePolicy, QueueSolver
from moldable.optimal.queue_problem import QueueProblem

OVERFLOWS: Final = 1e-11
"""Relative residual of the numbers of overflows."""
RESTARTS: Final = 4
TRIES: Final = 30
MARGIN: Final = 1.02
"""Factor by which the overflow cost exceeds what is needed."""


def lower_bound(queue: QueueProblem, policy: QueuePolicy) -> float:
    """Return a lower bound of the cost per arrival of every policy with an unlimited queue."""
    levels = np.arange(1.0, queue.depth + 1.0)[:, np.newaxis]
    beyond = policy.values[-queue.lines :] + policy.overflow * levels
    solver = QueueSolver(queue, policy.places + queue.depth, policy.overflow)
    values = np.concatenate((policy.values, beyond.ravel()))
    _, least, _ = solver.improve(values, 0.0)
    return max((least - solver.noise(values)) / queue.arrival_rate, 0.0)


def upper_bound(queue: QueueProblem, policy: QueuePolicy, solver: QueueSolver) -> float | None:
    """Return an upper bound of the least cost per arrival of an unlimited queue.

    None if the narrowest widths alone cannot keep up with the arrivals.
    """
    switch = max(2 * queue.depth, policy.places // 2)
    if switch > policy.places:
        return None
    narrow = _narrow_values(queue, switch, policy.lower * queue.arrival_rate)
    if narrow is None:
        return None
    overflows = _overflows(queue, solver)
    extra = _extra_cost(queue, policy, overflows, narrow, switch)
    if extra is None:
        return None
    costly = QueueSolver(queue, policy.places, policy.overflow + extra)
    values = policy.values + extra * overflows
    _, _, most = costly.improve(values, 0.0)
    return (most + costly.noise(values)) / queue.arrival_rate


@final
@dataclass(frozen=True, eq=False)
class _NarrowValues:
    """Values of long queues if every head gets its narrowest width.

    Attributes:
        kappa: factor of half the squared server-time.
        eta: factor of the server-time.
        queued: mean server-time of a waiting job.
        running: mean server-time of the running jobs in the full state of each line.
    """

    kappa: float
    eta: float
    queued: float
    running: Floats

    def at(self, waiting: Floats | float) -> Floats:
        """Return the value of each line with this many waiting jobs."""
        time = self.queued * waiting + self.running
        return np.asarray((0.5 * self.kappa * time + self.eta) * time)


def _narrow_values(queue: QueueProblem, switch: int, cost: float) -> _NarrowValues | None:
    """Return values whose change is at most `cost` from `switch` waiting jobs on."""
    pool, rate, times = queue.pool, queue.arrival_rate, queue.server_times
    jobs = pool.jobs()[:, queue.full]
    narrowest = times[pool.members[1][pool.members[0][:-1]]]
    queued = float(queue.shares @ narrowest)
    spread = float(queue.shares @ (narrowest - queued) ** 2)
    drift = rate * queued - pool.widths @ jobs
    if not drift.max() < 0.0:
        return None
    grants = queue.node // queue.lines
    squares = rate * queued**2 + np.sum(
        queue.ends * ((times**2)[:, np.newaxis] + grants * spread), axis=0
    )
    kappa = -1.0 / (queued * float(drift.max()))
    running = times @ jobs
    # With this kappa, one more waiting job lowers the change, or leaves it.
    time = queued * switch + running
    change = jobs.sum(axis=0) + switch + kappa * (time * drift + 0.5 * squares) - cost
    return _NarrowValues(kappa, float((change / -drift).max()), queued, running)


def _overflows(queue: QueueProblem, solver: QueueSolver) -> Floats:
    """Return the expected number of overflows from each state, relative to the empty one."""
    cost = np.zeros(solver.jobs.size)
    cost[queue.overflowing(solver.places)] = queue.arrival_rate
    found = np.zeros(cost.size)
    left = 1.0
    for _ in range(RESTARTS):
        left *= solver.evaluate(found, cost, OVERFLOWS / left)
        if left <= OVERFLOWS:
            break
    found -= found[0]
    return found


def _extra_cost(
    queue: QueueProblem, policy: QueuePolicy, overflows: Floats, narrow: _NarrowValues, switch: int
) -> float | None:
    """Return how much larger the overflow cost must be for the upper bound."""
    shape = (policy.places, queue.lines)
    values = policy.values[queue.pool.states :].reshape(shape)
    counted = overflows[queue.pool.states :].reshape(shape)
    below = np.arange(switch - queue.depth, switch)
    heads = narrow.at(below[:, np.newaxis].astype(float))
    near, few = values[below - 1], counted[below - 1]
    beyond = narrow.at(policy.places + 1.0) - values[-1] - policy.overflow
    extra = 0.0
    for _ in range(TRIES):
        constant = float((near + extra * few - heads).max())
        needed = float(((beyond + constant) / (1.0 + counted[-1])).max())
        if needed <= extra:
            return extra
        extra = MARGIN * needed
    return None
