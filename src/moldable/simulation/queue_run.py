"""Run replications of a cluster with a queue, one at a time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple, TypeVar, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError, UnstableError
from moldable.simulation.arrival_source import NO_LABELS, Block
from moldable.simulation.plan import Plan, Report, Tallies, no_report
from moldable.simulation.queue_tallies import QueueTallies
from moldable.simulation.ring_run import (
    Replication,
    RingModel,
    ring_model,
    run_each,
)
from moldable.simulation.samplers import NOTHING
from moldable.system.loss_system import System

CAPACITY: Final = 1 << 10
"""Waiting jobs that a replication has memory for when it starts."""
MOST_WAITING: Final = 1 << 22
"""Waiting jobs that a replication has memory for at most."""
UNLIMITED: Final = 1 << 62
"""Places that no queue fills."""


_Values = TypeVar("_Values", Floats, Ints)


class QueueModel(NamedTuple):
    """The constant arguments of the kernel."""

    ring: RingModel
    behind_reach: Ints
    queue_idle: Ints
    places: int
    bound: float

    def tables(self) -> tuple[object, ...]:
        """Return the arguments of the kernel, in its order."""
        ring = self.ring
        own = (self.behind_reach, self.queue_idle, ring.widths, ring.scales)
        return (*ring[:6], *own, self.places, self.bound)


def queue_model(system: System, bound: float = 0.0) -> QueueModel:
    """Build the tables of all classes; `bound` is that of the bounded slowdown."""
    if not system.shared and len(system.pools) > 1:
        raise SimulationError(
            "classes with reserved servers have separate queues: simulate each class on its own"
        )
    kinds = system.kind_width.size
    ring = ring_model(system, [rows.reshape(-1, kinds) for rows in system.queue_rows])
    return QueueModel(
        ring,
        np.array([rows.shape[0] for rows in system.queue_rows]),
        np.array([max(rows.shape[1] - 1, 0) for rows in system.queue_rows]),
        int(min(system.places, UNLIMITED)),
        bound * ring.buckets_per_time,
    )


class Fifo(NamedTuple):
    """The waiting jobs of one replication: arguments of the kernel, in its order."""

    times: Floats
    sizes: Floats
    labels: Ints
    picks: Floats
    numbers: Ints
    ends: Ints

    @classmethod
    def empty(
        cls, *, classes: int, draws: bool, numbers: bool = False, capacity: int = CAPACITY
    ) -> Fifo:
        """Return a queue without jobs; `numbers`: whether their positions are kept."""
        return cls(
            times=np.zeros(capacity),
            sizes=np.zeros(capacity),
            labels=np.zeros(capacity if classes > 1 else 0, np.int64),
            picks=np.zeros(capacity if draws else 0),
            numbers=np.zeros(capacity if numbers else 0, np.int64),
            ends=np.zeros(3, np.int64),
        )

    @property
    def waiting(self) -> Ints:
        """The positions of the waiting jobs, from the head on."""
        head, count, _ = self.ends
        return np.asarray((head + np.arange(count)) & (self.times.size - 1))

    def doubled(self) -> Fifo:
        """Return the same queue with twice the memory; the head comes first."""
        order = (self.ends[0] + np.arange(self.times.size)) & (self.times.size - 1)
        ends = self.ends.copy()
        ends[0] = 0
        return Fifo(
            _doubled(self.times, order),
            _doubled(self.sizes, order),
            _doubled(self.labels, order),
            _doubled(self.picks, order),
            _doubled(self.numbers, order),
            ends,
        )

    def census(self, now: float, classes: int) -> tuple[Ints, Floats]:
        """Return the number of waiting jobs of each class, and how long they have waited."""
        jobs = self.waiting
        labels = self.labels[jobs] if self.labels.size else np.zeros(jobs.size, np.int64)
        count = np.bincount(labels, minlength=classes).astype(np.int64)
        waited = np.bincount(labels, now - self.times[jobs], classes).astype(np.float64)
        return count, waited


def _doubled(values: _Values, order: Ints) -> _Values:
    """Return the values in this order, and as much memory again; what is unused stays empty."""
    if values.size == 0:
        return values
    return np.concatenate((values[order], np.zeros_like(values)))


def run_queue(plan: Plan, replications: tuple[int, ...], report: Report = no_report) -> Tallies:
    """Run replications; `report` is called with the share that is done."""
    model = queue_model(plan.system, plan.bound)
    return run_each(partial(_QueueReplication, plan, model), replications, report)


class _Counts(NamedTuple):
    """What one batch counts: arguments of the kernel, in its order."""

    granted: Ints
    booked: Floats
    blocked: Ints
    waited: Ints
    wait: Floats
    slowdown: Floats
    bounded: Floats
    waits: Ints
    responses: Ints

    @classmethod
    def zero(cls, kinds: int, classes: int, bins: int) -> _Counts:
        by_class, histogram = (np.zeros(classes, np.int64), np.zeros((classes, bins), np.int64))
        return cls(
            np.zeros(kinds, np.int64),
            np.zeros(kinds),
            by_class,
            by_class.copy(),
            np.zeros(classes),
            np.zeros(classes),
            np.zeros(classes),
            histogram,
            histogram.copy(),
        )


@final
class _QueueReplication(Replication):
    """A replication with waiting places."""

    def __init__(self, plan: Plan, model: QueueModel, replication: int, report: Report) -> None:
        from moldable.kernels.queue_ring import bin_edges

        super().__init__(plan, model.ring, replication, report)
        self.model, self.classes = model, len(plan.system.workload.classes)
        self.fifo = Fifo.empty(classes=self.classes, draws=self.draws)
        edges = bin_edges() / model.ring.buckets_per_time
        self.queue = QueueTallies.empty(plan.batches, 1, self.classes, edges)
        self.tallies = dataclasses.replace(self.tallies, queue=self.queue)

    def warm_up(self, blocks: Iterator[Block]) -> None:
        """Let blocks of jobs arrive that are not counted."""
        self._let_arrive(blocks)

    def _let_arrive(self, blocks: Iterator[Block]) -> _Counts:
        """Let blocks of jobs arrive and return their outcome and that of the jobs before them."""
        from moldable.kernels.queue_ring import queue_ring

        counts = _Counts.zero(self.ring.widths.size, self.classes, self.queue.edges.size - 1)
        state = self.state
        links = (state.heads, state.following, state.departure, state.kind, state.free)
        constant = (*self.model.tables(), *links, state.cursors, state.idle)
        unrecorded = (NOTHING, NO_LABELS)
        for block in blocks:
            started = time.thread_time()
            size, done = block.times.size, 0
            while True:
                left = block.part(done, size)
                done += queue_ring(*left, *constant, *self.fifo, *counts, *unrecorded)
                if done == size:
                    break
                self._double_queue()
            self.seconds += time.thread_time() - started
            self.tell()
        return counts

    def _double_queue(self) -> None:
        if self.fifo.times.size >= MOST_WAITING:
            raise UnstableError(
                f"{MOST_WAITING:,} jobs wait after {self.source.arrived.sum():,} arrivals: the "
                f"queue grows faster than servers are released; lower the load, use a policy with "
                f"narrower widths, or limit the places for waiting jobs"
            )
        self.fifo = self.fifo.doubled()

    def run_batch(self, batch: int) -> None:
        """Run one batch and write its tallies."""
        source, tallies, queue = self.source, self.tallies, self.queue
        kinds, per_time = self.ring.widths.size, self.ring.buckets_per_time
        before, opened = source.arrived.copy(), source.now
        left_before = self.state.survey(kinds, opened, opened).left
        waiting_before, waited_before = self.fifo.census(opened, self.classes)
        counts = self._let_arrive(source.take(self.plan.jobs))
        lasted = source.now - opened
        left_after = self.state.survey(kinds, source.now, source.now).left
        waiting_after, waited_after = self.fifo.census(source.now, self.classes)
        # Time spent in the system, or in the queue: what was counted of the jobs that started, plus
        # what the others have of it in the window, minus what these had before it.
        ran = counts.booked + left_before - left_after
        stood = counts.wait + waited_after - waited_before
        inverse = 1.0 / lasted if lasted > 0.0 else 0.0
        tallies.arrived[batch, 0] = source.arrived - before
        tallies.blocked[batch, 0], tallies.granted[batch, 0] = counts.blocked, counts.granted
        tallies.mean_jobs[batch, 0] = ran * inverse
        tallies.booked[batch, 0] = counts.booked / per_time
        tallies.time[batch, 0] = lasted / per_time
        tallies.finished_jobs[batch] = tallies.finished_time[batch] = np.nan
        queue.waited[batch, 0], queue.wait[batch, 0] = counts.waited, counts.wait / per_time
        queue.slowdown[batch, 0], queue.bounded[batch, 0] = counts.slowdown, counts.bounded
        queue.mean_waiting[batch, 0] = stood * inverse
        queue.at_start[batch, 0], queue.at_end[batch, 0] = waiting_before, waiting_after
        queue.waits[0] += counts.waits
        queue.responses[0] += counts.responses
        self._check_jobs(batch)

    def _check_jobs(self, batch: int) -> None:
        tallies, queue, by_kind = self.tallies, self.queue, self.plan.system.kind_class
        started = np.bincount(by_kind, tallies.granted[batch, 0], self.classes)
        accounted = started + tallies.blocked[batch] + queue.at_end[batch] - queue.at_start[batch]
        if not np.array_equal(accounted, tallies.arrived[batch]):
            raise SimulationError(
                "jobs were not all accounted for: this is a bug, please report it"
            )
