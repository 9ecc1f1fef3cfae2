"""The exact stationary distribution of a cluster whose jobs wait, first come, first served."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import ChainError
from moldable.exact.pool import refuse_imbalance
from moldable.exact.queue_chain import QueueChain, first_chain, refuse_too_many
from moldable.exact.queue_model import queue_model
from moldable.exact.queue_tail import TailBound, tail_bound
from moldable.exact.states import MOST_STATES, product_form
from moldable.exact.stationary import GOOD, solve_stationary
from moldable.system.loss_system import System

TRUNCATION: Final = 1e-11
"""Error of the distribution by the neglected levels that is aimed at."""


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class QueueLaw:
    """The stationary distribution of classes that share servers and one queue.

    Arrivals are Poisson, so they find the system in this distribution. Arrays by class or by kind
    are in the order of the system's classes and kinds.

    Attributes:
        system: the system.
        blocking: probability that a job of each class is blocked.
        arrivals_waiting: probability that an arriving job of each class waits.
        waiting_jobs: mean number of waiting jobs of each class.
        mean_jobs: running jobs of each kind.
        granted: jobs of each kind granted servers per unit of time.
        queue_length: probabilities of 0, 1, ... waiting jobs.
        busy: probabilities of 0, 1, ... busy servers.
        states: number of states solved for.
        error_bound: on the probabilities and, relatively, on the blocking (with a limited queue) or
            on the mean queue (with an unlimited one).
        neglected_mass: bound on the probability of longer queues that were left out.
        how: the method, in words.
        formula: whether the method is a closed form.
    """

    system: System
    blocking: Floats
    arrivals_waiting: Floats
    waiting_jobs: Floats
    mean_jobs: Floats
    granted: Floats
    queue_length: Floats
    busy: Floats
    states: int
    error_bound: float
    neglected_mass: float
    how: str
    formula: bool = False

    @cached_property
    def accepted(self) -> Floats:
        """Jobs of each class accepted per unit of time."""
        return np.asarray(self.system.workload.rates * (1.0 - self.blocking))

    @property
    def waiting_probability(self) -> Floats:
        """Probability that an accepted job of each class waits."""
        return _ratio(self.arrivals_waiting, 1.0 - self.blocking)

    @property
    def mean_wait(self) -> Floats:
        """Mean waiting time of accepted jobs of each class, zeros included: Little's law."""
        return _ratio(self.waiting_jobs, self.accepted)

    @property
    def mean_execution_time(self) -> Floats:
        """Mean execution time of the jobs of each class."""
        return _ratio(
            self._by_class(self.granted * self.system.kind_scale), self._by_class(self.granted)
        )

    @property
    def mean_response(self) -> Floats:
        """Mean response time, waiting and execution, of accepted jobs of each class."""
        return np.asarray(self.mean_wait + self.mean_execution_time)

    @property
    def mean_queue(self) -> float:
        """Mean number of waiting jobs."""
        return float(self.waiting_jobs.sum())

    @property
    def utilisation(self) -> float:
        """Fraction of busy servers."""
        return float(self.mean_jobs @ self.system.kind_width) / self.system.servers

    def overall(self, by_class: Floats, *, accepted: bool = True) -> float:
        """Return the mean over all jobs of a quantity of each class.

        Args:
            by_class: the quantity, such as `mean_response`.
            accepted: whether it is one of accepted jobs, or of all arriving ones.
        """
        weights = self.accepted if accepted else self.system.workload.rates
        met = weights > 0.0
        return float(weights[met] @ by_class[met] / weights.sum()) if met.any() else math.nan

    def _by_class(self, values: Floats) -> Floats:
        classes = len(self.system.workload.classes)
        return np.bincount(self.system.kind_class, values, classes).astype(np.float64)

    def checked(self) -> QueueLaw:
        """Return the distribution, or raise an error if it violates flow balance."""
        flow = float(self.system.workload.rates.sum())
        leaving = self.mean_jobs / self.system.kind_scale
        present = self.mean_queue + float(self.mean_jobs.sum())
        spent = float(self.accepted.sum()) * self.overall(self.mean_response)
        gaps = {
            "rate conservation": np.abs(self._by_class(leaving) - self.accepted).max() / flow,
            "Little's law for execution": float(np.abs(leaving - self.granted).max()) / flow,
            "Little's law for responses": abs(present - spent) / max(present, 1.0)
            if present > 0.0 and spent == spent  # noqa: PLR0124 - no accepted job: not a number
            else 0.0,
        }
        refuse_imbalance(gaps)
        return self


def _ratio(part: Floats, whole: Floats) -> Floats:
    some = whole > 0.0
    return np.where(some, part / np.where(some, whole, 1.0), math.nan)


def solve_queue(system: System, most: int = MOST_STATES) -> QueueLaw:
    """Solve the chain of a shared pool with a queue, or refuse.

    Args:
        system: the system; sizes are exponential or phase-type, arrivals Poisson.
        most: largest number of states.
    """
    model = queue_model(system)
    first = first_chain(model, min(most, MOST_STATES))
    tail: TailBound | None = None
    top = model.places
    if math.isinf(model.places) and first.top > 0:
        top, tail = _enough_levels(first)
    elif first.top == 0:
        top = 0
    levels = first.states + (top - first.top) * int((first.queue == first.top).sum())
    refuse_too_many(levels, model, min(most, MOST_STATES))
    queue = first.extended(int(top))
    blocked = _blocked(queue)
    rare = queue.queue.astype(np.float64) if tail else blocked
    solution = solve_stationary(
        queue.chain, _guess(queue), rare if rare.any() else None, queue.groups
    )
    neglected, error = 0.0, solution.error
    if tail is not None:
        neglected, effect = truncation(queue, tail, solution.hitting_times)
        error += effect
        _refuse_inaccurate(error, queue.top)
    return _law(queue, solution.law, neglected, error).checked()


def _refuse_inaccurate(error: float, top: int) -> None:
    if not error <= GOOD:
        raise ChainError(
            f"the error from neglecting queues of more than {top:,} jobs is bounded by {error:.2g} "
            f"only, more than {GOOD:g}; simulate instead, or give the queue a number of places"
        )


def _enough_levels(first: QueueChain) -> tuple[int, TailBound]:
    """Return the number of waiting jobs beyond which probabilities may be neglected."""
    model, repeated = first.model, first.repeated
    bound = tail_bound(repeated, model.arrival_rate, TRUNCATION)
    levels = bound.levels(TRUNCATION)
    # The effect of a job refused at the top lasts until the queue is empty.
    time = (levels + model.servers) / (model.arrival_rate * (bound.theta - 1.0))
    target = TRUNCATION / (1.0 + 4.0 * model.arrival_rate * time)
    bound = tail_bound(repeated, model.arrival_rate, target)
    return max(first.top, model.level + bound.levels(target)), bound


def truncation(queue: QueueChain, tail: TailBound, hitting_times: Floats) -> tuple[float, float]:
    """Bound the neglected probability, and the error of the distribution that it causes (in l1).

    The true distribution, conditioned on the listed states, violates their balance equations by
    what passes through the top level: arrivals there, and the same flow where it returns.

    Args:
        queue: the listed states.
        tail: bound on long queues.
        hitting_times: bounds on the mean times from each listed state to one of them.
    """
    levels = queue.top - queue.model.level
    beyond, at_top = tail.beyond(levels + 1), tail.beyond(levels)
    effect = 4.0 * queue.model.arrival_rate * at_top * float(hitting_times.max())
    return beyond, 2.0 * beyond + effect


def _guess(queue: QueueChain) -> Floats:
    """Return weights of about the right size: of independent jobs, and of a geometric queue."""
    model, kinds = queue.model, queue.model.system
    entering = model.arrival_rate * model.chances[0, -1, : model.slots]
    by_kind = entering.reshape(-1, model.model.phases).sum(axis=1) * kinds.kind_scale
    offered = (by_kind[:, None] * model.model.residual[kinds.kind_class]).ravel()
    configs = product_form(queue.configurations.counts, offered)
    load = min(0.95, kinds.scenario.load)
    weights: Floats = configs[queue.config] * np.maximum(load**queue.queue, 1e-200)
    return weights


def _blocked(queue: QueueChain) -> Floats:
    """Return the probability that an arrival is blocked, in each state."""
    model = queue.model
    if math.isinf(model.places):
        return np.zeros(queue.states)
    if model.places > 0:
        return np.where(queue.queue >= model.places, 1.0, 0.0)
    refused = model.chances[0, :, model.slots :].sum(axis=1)
    idle = queue.configurations.idle[queue.config]
    return np.asarray(refused[np.minimum(idle, refused.size - 1)])


def _law(queue: QueueChain, law: Floats, neglected: float, error: float) -> QueueLaw:
    model = queue.model
    listed, classes = queue.configurations, model.shares.size
    empty = queue.queue == 0
    idle = listed.idle[queue.config]
    lengths = np.bincount(queue.queue, law, queue.top + 1).astype(np.float64)
    # What arrivals of each class meet, by idle servers, while no job waits.
    row = np.minimum(idle, model.holding.shape[1] - 1)[empty]
    met = np.bincount(row, law[empty]).astype(np.float64)
    held = met @ model.holding[0, : met.size]
    full = 0.0 if math.isinf(model.places) else float(lengths[int(model.places)])
    if model.places > 0:
        blocking = np.full(classes, full)
        waits = held + float(lengths[1:].sum()) - full
    else:
        blocking, waits = held, np.zeros(classes)
    mean_queue = float(lengths @ np.arange(lengths.size))
    heads = np.zeros(classes)
    if model.heads > 1:
        heads = np.bincount(queue.head[~empty], law[~empty], classes).astype(np.float64)
    behind = mean_queue - float(heads.sum())
    by_config = np.bincount(queue.config, law, listed.idle.size)
    jobs = listed.counts @ by_config
    return QueueLaw(
        system=model.system,
        blocking=blocking,
        arrivals_waiting=waits,
        waiting_jobs=heads + model.shares * behind,
        mean_jobs=jobs.reshape(-1, model.model.phases).sum(axis=1),
        granted=_granted(queue, law, met),
        queue_length=lengths,
        busy=np.bincount(model.servers - idle, law, model.servers + 1).astype(np.float64),
        states=law.size,
        error_bound=error,
        neglected_mass=neglected,
        how=f"the chain of {law.size:,} states with queues of up to {queue.top:,} jobs",
    )


def _granted(queue: QueueChain, law: Floats, met: Floats) -> Floats:
    """Return the rates at which jobs are granted each kind, on arrival or as heads."""
    from moldable.kernels.queue_states import granted_to_heads

    model, listed = queue.model, queue.configurations
    slots = model.arrival_rate * (met @ model.chances[0, : met.size, : model.slots])
    waiting = queue.queue > 0
    # Levels that are alike are taken together.
    level = np.minimum(queue.queue[waiting], model.level)
    key = level * (listed.idle.size * model.heads) + queue.node[waiting]
    keys, place = np.unique(key, return_inverse=True)
    if keys.size:
        size = listed.idle.size * model.heads
        granted_to_heads(
            keys % size, keys // size, np.bincount(place, law[waiting]), *listed,
            model.model.rates, model.moves, model.chances, model.shares, model.owner,
            model.heads, slots,
        )  # fmt: skip
    return np.asarray(slots.reshape(-1, model.model.phases).sum(axis=1))
