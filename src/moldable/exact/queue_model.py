"""A system whose jobs wait, first come, first served, in the arrays of its chain.

A job that finds no job waiting is offered the idle servers at once; a head is offered them again at
every departure. It is granted a kind, or *holds*: it waits for more idle servers. The class of a
waiting job is independent of everything before it is the head, because arrivals are Poisson and
the order is that of arrivals. If in every situation either all classes hold or none does, it can
even be drawn when the job is granted servers, and states need not contain it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from moldable.arrays import Floats, Ints, Mask
from moldable.errors import ChainError
from moldable.model.assumptions import ROUNDING
from moldable.system.count_model import ChainModel, chain_model, outcomes
from moldable.system.loss_system import System


@final
@dataclass(frozen=True, eq=False)
class QueueModel:
    """The chain of one pool of servers with a queue.

    Attributes:
        system: the system.
        model: its chain without a queue.
        chances: probability of each slot, then of each class that holds, by jobs behind the head
            (first axis) and idle servers; the last ones hold for all larger numbers.
        places: number of jobs that may wait.
    """

    system: System
    model: ChainModel
    chances: Floats
    places: float

    @property
    def servers(self) -> int:
        """The size of the cluster."""
        return self.system.servers

    @property
    def arrival_rate(self) -> float:
        """Of all classes."""
        return self.model.arrival_rate

    @property
    def slots(self) -> int:
        """Number of slots."""
        return self.model.rates.size

    @cached_property
    def shares(self) -> Floats:
        """Share of each class in the arrivals."""
        return class_shares(self.system)

    @cached_property
    def owner(self) -> Ints:
        """The class of each slot."""
        return np.repeat(self.system.kind_class, self.model.phases)

    @cached_property
    def moves(self) -> Floats:
        """Probability of each next phase, by slot."""
        jumps = self.model.jumps.reshape(self.slots, self.model.phases)
        return np.diff(jumps, axis=1, prepend=0.0)

    @property
    def last(self) -> int:
        """Jobs behind a head from which on their number does not matter."""
        return int(self.chances.shape[0]) - 1

    @cached_property
    def holding(self) -> Floats:
        """Probability that each class (last axis) holds, by jobs behind it and idle servers."""
        return np.asarray(self.chances[:, :, self.slots :] / self.shares)

    @cached_property
    def heads(self) -> int:
        """Number of classes of a head that states distinguish."""
        rows = self.holding[:, occurring_rows(self.system, self.holding.shape[1])]
        alike = bool(np.all(np.abs(rows - rows[:, :, :1]) < ROUNDING))
        return 1 if alike or self.places <= 0 else int(self.shares.size)

    @cached_property
    def holds(self) -> Mask:
        """Whether a head of each class (column) holds for some queue, by idle servers."""
        idle = np.minimum(np.arange(self.servers + 1), self.holding.shape[1] - 1)
        held = self.holding.max(axis=0)[idle, : self.heads] > 0.5  # noqa: PLR2004 - 0 or 1
        held &= (np.arange(self.servers + 1) % idle_step(self.system) == 0)[:, None]
        return np.asarray(held if self.places > 0 else np.zeros_like(held))

    @cached_property
    def most_offered(self) -> int:
        """Most idle servers that a head is offered: those at which one held, and a job's."""
        held = np.flatnonzero(self.holds.any(axis=1))
        idle = int(held[-1] if held.size else 0) + int(self.system.kind_width.max())
        return min(idle, self.servers)

    @property
    def most_grants(self) -> int:
        """Most jobs that are granted servers at one departure."""
        return self.most_offered // int(self.system.kind_width.min())

    @property
    def level(self) -> int:
        """Number of waiting jobs from which on transitions do not depend on it."""
        return self.last + self.most_grants + 1


def queue_model(system: System) -> QueueModel:
    """Describe a shared pool with a queue, or refuse it."""
    if not system.shared:
        raise ChainError(
            "classes with reserved servers have separate queues; solve the parts from `by_pool`"
        )
    if not system.poisson:
        raise ChainError("exact answers need Poisson arrivals; use the method 'simulate'")
    model = chain_model(system)
    if model is None:
        names = ", ".join(
            sorted({str(c.size) for c in system.workload.classes if not c.size.phases})
        )
        raise ChainError(
            f"sizes that are {names} have no phases, so their chain has no states to list; "
            f"use the method 'simulate', or exponential or phase-type sizes"
        )
    tables = [system.wishes, *(tables_behind(system, behind) for behind in behinds(system))]
    reach = max(rows.shape[0] for table in tables for rows in table) - 1
    chances = np.stack([outcomes(system, table, reach) for table in tables])
    found = QueueModel(system, model, chances, system.places)
    _refuse_half_held(found)
    # Many waiting jobs change only what is done with more idle servers than heads are offered.
    met = chances[:, : found.most_offered + 1]
    while chances.shape[0] > 1 and np.array_equal(met[chances.shape[0] - 2], met[-1]):
        chances = chances[:-1]
    return replace(found, chances=chances)


def behinds(system: System) -> range:
    """Return the numbers of jobs behind a head that have tables of their own and can occur."""
    most = max((rows.shape[0] for rows in system.queue_rows), default=0)
    return range(1, 1 + int(min(most, max(system.places - 1, 0))))


def tables_behind(system: System, behind: int) -> tuple[Floats, ...]:
    """Return the tables of a head with some jobs waiting behind it, class by class."""
    if behind == 0 or not system.queue_rows:
        return system.wishes
    return tuple(
        rows[min(behind, rows.shape[0]) - 1] if rows.shape[0] else first
        for rows, first in zip(system.queue_rows, system.wishes, strict=True)
    )


def class_shares(system: System) -> Floats:
    """Return the share of each class in the arrivals."""
    rates = system.workload.rates
    return np.asarray(rates / rates.sum())


def idle_step(system: System) -> int:
    """Return the greatest common divisor of all numbers of idle servers that occur."""
    return math.gcd(system.servers, *system.kind_width.tolist())


def occurring_rows(system: System, rows: int) -> Ints:
    """Return the rows of a table that can be read, as numbers of idle servers are multiples."""
    step = idle_step(system)
    reached = np.minimum(np.arange(0, min(system.servers, rows + step) + 1, step), rows - 1)
    return np.unique(reached).astype(np.int64)


def _refuse_half_held(model: QueueModel) -> None:
    """Refuse tables under which a job holds with a probability between 0 and 1."""
    if model.places <= 0:
        return
    rows = occurring_rows(model.system, model.holding.shape[1])
    held = model.holding[:, rows]
    unsure = (held > ROUNDING) & (held < 1.0 - ROUNDING)
    if unsure.any():
        behind, row, j = (int(first) for first in np.argwhere(unsure)[0])
        name = model.system.workload.classes[j].name
        raise ChainError(
            f"class {name!r} holds with probability {held[behind, row, j]:.4g} at {rows[row]} idle "
            f"servers: a held job keeps the width that was drawn for it, which the chain does not "
            f"track; use the method 'simulate', or a policy that decides between holding and "
            f"granting without drawing"
        )
