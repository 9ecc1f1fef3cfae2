"""The specification of a replication, and its tallies.

A plan can be pickled: any worker on any machine returns the same tallies for the same plan and
replications.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats
from moldable.simulation.queue_tallies import QueueTallies, joined_queues
from moldable.simulation.start import Start
from moldable.system.loss_system import System

MAIN, PILOT, SEARCH, SPLITTING, CERTIFY = range(5)
"""First part of the spawn key: parts of a run that never share random numbers."""

Report = Callable[[float], None]
"""Called with the share of a chunk that is done; may raise to stop it."""


def no_report(share: float) -> None:
    """Ignore the progress of a chunk."""


def report_part(report: Report, part: int, parts: int) -> Report:
    """Return a function that reports the progress of one of several equal parts."""
    return lambda share: report((part + share) / parts)


def child_seed(seed: int, *key: int) -> int:
    """Return the seed of one part of a run, which shares no random numbers with any other part.

    Sums such as ``seed + 1`` would: part 1 of seed 1 and part 0 of seed 2 would be the same.
    """
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """The specification of a replication.

    Attributes:
        system: the system to simulate.
        start: its initial state.
        warmup: time that is not counted.
        jobs: arrivals to count in each batch.
        batches: number of batches with separate tallies.
        finished: whether jobs that arrive and complete in the window are counted separately.
        seed: of the whole run.
        stream: first part of the spawn key, such as MAIN or PILOT.
        common: whether all policies use the same arrivals, sizes and uniform numbers.
        bound: execution time that replaces shorter ones in the bounded slowdown of jobs that queue;
            0 if it is not needed.
    """

    system: System
    start: Start
    warmup: float
    jobs: int
    batches: int
    finished: bool
    seed: int
    stream: int
    common: bool = False
    bound: float = 0.0

    def seeds(self, replication: int, part: int) -> np.random.SeedSequence:
        """Return the seed sequence of one part of one replication."""
        return np.random.SeedSequence(self.seed, spawn_key=(self.stream, replication, part))


@final
@dataclass(frozen=True, eq=False)
class Tallies:
    """Counts by batch, replication, and class or kind.

    Attributes:
        replications: the numbers of the replications.
        arrived: jobs of each class.
        blocked: blocked jobs of each class.
        granted: jobs of each kind.
        mean_jobs: jobs of each kind in the system, averaged over time.
        booked: execution time of each kind, booked at arrival; NaN if sizes are not simulated.
        finished_jobs: jobs of each class that arrived and completed in the window.
        finished_time: their execution time.
        time: length of each window.
        seconds: processor time spent in kernels.
        queue: what is counted of jobs that queue; None if they are lost instead.
    """

    replications: tuple[int, ...]
    arrived: Floats
    blocked: Floats
    granted: Floats
    mean_jobs: Floats
    booked: Floats
    finished_jobs: Floats
    finished_time: Floats
    time: Floats
    seconds: float
    queue: QueueTallies | None = None

    @classmethod
    def empty(cls, plan: Plan, replications: tuple[int, ...]) -> Tallies:
        """Return tallies of the right shape, all zero."""
        shape = (plan.batches, len(replications))
        classes = (*shape, len(plan.system.workload.classes))
        kinds = (*shape, plan.system.kind_width.size)
        by_class = ("arrived", "blocked", "finished_jobs", "finished_time")
        counted = {name: np.zeros(classes) for name in by_class}
        counted |= {name: np.zeros(kinds) for name in ("granted", "mean_jobs", "booked")}
        return cls(replications, **counted, time=np.zeros(shape), seconds=0.0, queue=None)


def joined(parts: list[Tallies], kept: Collection[int] | None = None) -> Tallies:
    """Join the tallies of several chunks, in the order of their replications.

    Args:
        parts: tallies of different replications.
        kept: the replications to keep; all by default.
    """
    replications = np.array([r for part in parts for r in part.replications], dtype=np.int64)
    order = np.argsort(replications)
    if kept is not None:
        order = order[np.isin(replications[order], list(kept))]
    counted = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts], axis=1)[:, order]
        for field in dataclasses.fields(Tallies)[1:-2]
    }
    seconds = sum(part.seconds for part in parts)
    queued = [part.queue for part in parts if part.queue is not None]
    queue = joined_queues(queued, order) if queued else None
    return Tallies(tuple(replications[order].tolist()), **counted, seconds=seconds, queue=queue)
