"""The stationary distribution of a policy with a queue, and its performance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import ChainError
from moldable.exact.states import product_form
from moldable.optimal.policy_law import CONSERVED
from moldable.optimal.queue_iteration import QueuePolicy, QueueSolver
from moldable.optimal.queue_problem import QueueProblem
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance
from moldable.system.queueing import Queueing
from moldable.threads import interruptible

ROUNDS: Final = 12
STEPS: Final = 300
GAIN: Final = 1e-6
"""Factor by which each round improves the residual before the next starts afresh."""
ENOUGH: Final = 1e-13
"""Residual, relative to the probabilities, at which iterating stops."""
STALLED: Final = 0.5
"""Share of the residual left by a round above which iterating stops."""
ROWS: Final = 40
"""Rows of the table of decisions by waiting jobs; the last stands for all longer queues."""


@final
@dataclass(frozen=True, eq=False)
class QueueFigures:
    """Performance under a policy.

    Attributes:
        jobs: mean number of jobs in the system.
        queue_length: mean number of waiting jobs.
        blocking: probability that an arrival finds no waiting place.
        wait_probability: share of accepted jobs that wait.
        classes: performance of each class.
    """

    jobs: float
    queue_length: float
    blocking: float
    wait_probability: float
    classes: tuple[ClassPerformance, ...]


def queue_law(queue: QueueProblem, solver: QueueSolver) -> Floats:
    """Return the stationary probability of every state; zero for transient ones."""
    from moldable.kernels.queue_law import improve_queue_law

    better, best = _first_law(queue, solver.places), np.inf
    more: tuple[Any, ...] = (*solver.arguments, ENOUGH, GAIN, STEPS)
    for _ in range(ROUNDS):
        last = better.copy()
        residual = interruptible(improve_queue_law, better, *more)
        if not residual < STALLED * best:
            break
        law, best = last, residual
        if best <= ENOUGH:
            break
        better /= better.sum()
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


def _first_law(queue: QueueProblem, places: int) -> Floats:
    """Guess independent numbers of jobs, all kinds being equally likely, and a geometric queue."""
    pool = queue.pool
    kinds = np.bincount(pool.owner)[pool.owner]
    weights = product_form(pool.jobs(), pool.arrivals[pool.owner] * pool.times / kinds)
    ratio = min(queue.arrival_rate / queue.largest_throughput, 1.0)
    levels = ratio ** np.arange(1, places + 1)[:, np.newaxis]
    law = np.concatenate((weights, (weights[queue.full] * levels).ravel()))
    return np.asarray(law / law.sum())


def queue_figures(queue: QueueProblem, solver: QueueSolver, law: Floats) -> QueueFigures:
    """Return the performance of all classes, and check rate conservation."""
    pool, places = queue.pool, solver.places
    levels = law[pool.states :].reshape(places, queue.lines)
    running = pool.jobs().astype(float)
    # With waiting jobs, the running ones are those of the full states.
    weights = law[: pool.states].copy()
    weights[queue.full] += levels.sum(axis=0)
    by_kind = running @ weights
    in_queue = float(np.arange(1.0, places + 1.0) @ levels.sum(axis=1))
    full = float(weights[queue.full].sum())
    blocked = float(levels[-1].sum() if places else law[queue.full].sum())
    accepted = 1.0 - blocked
    if not accepted > 0.0:
        raise ChainError(
            f"the load is so high that the share of accepted jobs is lost in rounding: "
            f"blocking={blocked}; lower the arrival rates"
        )
    _check_conservation(queue, by_kind, accepted)
    wait = in_queue / (queue.arrival_rate * accepted)
    waits = min(max(full - blocked, 0.0) / accepted, 1.0)
    shared = (blocked, wait, waits)
    classes = tuple(_class_figures(queue, j, by_kind, shared) for j in range(queue.shares.size))
    return QueueFigures(float(by_kind.sum()) + in_queue, in_queue, blocked, waits, classes)


def _class_figures(
    queue: QueueProblem, j: int, by_kind: Floats, shared: tuple[float, float, float]
) -> ClassPerformance:
    """Return the figures of a class.

    Blocking, mean wait and the probability of waiting are the same for all classes: `shared`.
    """
    blocked, wait, waits = shared
    pool = queue.pool
    own = np.flatnonzero(pool.owner == j)
    granted = by_kind[own] / pool.times[own]
    time = float(by_kind[own].sum() / granted.sum())
    widths = pool.widths[own].tolist()
    length = wait * float(pool.arrivals[j]) * (1.0 - blocked)
    return ClassPerformance(
        pool.workload.classes[j].name,
        Estimate.exact(blocked),
        Estimate.exact(time),
        dict(zip(widths, (granted / granted.sum()).tolist(), strict=True)),
        dict(zip(widths, (by_kind[own] / pool.servers).tolist(), strict=True)),
        Queueing(
            mean_response_time=Estimate.exact(wait + time),
            mean_wait=Estimate.exact(wait),
            wait_probability=Estimate.exact(waits),
            queue_length=Estimate.exact(length),
        ),
    )


def _check_conservation(queue: QueueProblem, by_kind: Floats, accepted: float) -> None:
    pool = queue.pool
    ended = np.bincount(pool.owner, by_kind / pool.times)
    worst = float(np.abs(ended / (accepted * pool.arrivals) - 1.0).max())
    if not worst <= CONSERVED:
        raise ChainError(
            f"the best policy's distribution fails rate conservation by {worst:.2g}: the chain is "
            f"nearly decomposable; simulate instead"
        )


def queue_lengths(queue: QueueProblem, law: Floats, places: int) -> Floats:
    """Return the probability of each number of waiting jobs."""
    levels = law[queue.pool.states :].reshape(places, queue.lines).sum(axis=1)
    return np.concatenate((law[: queue.pool.states].sum(keepdims=True), levels))


def grant_rates(queue: QueueProblem, policy: QueuePolicy, law: Floats) -> Floats:
    """Return the rates of grants by class, jobs behind, idle servers and kind.

    The last row of jobs behind stands for all larger numbers.
    """
    from moldable.kernels.queue_law import head_grants

    pool = queue.pool
    rows = min(ROWS, max(1, policy.places))
    classes, kinds = queue.shares.size, pool.widths.size
    grants = np.zeros((classes, rows, pool.servers + 1, kinds))
    head_grants(
        law,
        pool.start,
        *pool.members,
        *(pool.arrivals, policy.goes, queue.node, queue.ends, queue.onto, queue.idle_at_nodes()),
        grants,
    )
    idle, weights = pool.idle(), law[: pool.states]
    for j, chosen in enumerate(policy.decisions):
        granted = chosen >= 0
        at = idle[granted] * kinds + chosen[granted]
        size = (pool.servers + 1) * kinds
        rates = np.bincount(at, pool.arrivals[j] * weights[granted], size)
        grants[j, 0] += rates.reshape(-1, kinds)
    return grants


def commonest(queue: QueueProblem, rates: Floats) -> tuple[int, ...]:
    """Return the width granted most often at each idle count, from rates by idle and kind; 0: none.

    Idle counts that do not occur repeat the width of the next smaller one.
    """
    chosen: list[int] = []
    for row in rates:
        met = bool(row.any())
        widest = int(queue.pool.widths[np.argmax(row)])
        chosen.append(widest if met else chosen[-1] if chosen else 0)
    return tuple(chosen)


def tail_ratio(lengths: Floats) -> float:
    """Return the ratio of the probabilities of successive long queues."""
    places: Ints = np.arange(lengths.size)
    middle = lengths.size // 2
    if lengths.size < 4 or not lengths[-2] > 0.0:  # noqa: PLR2004 - too short for a ratio
        return 0.5
    steps = float(places[-2] - places[middle])
    return float((lengths[-2] / lengths[middle]) ** (1.0 / steps)) if steps > 0.0 else 0.5
