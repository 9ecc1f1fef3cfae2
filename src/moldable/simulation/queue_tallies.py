"""Tallies of waiting jobs in a replication."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints

BY_BATCH: Final = (
    "waited",
    "wait",
    "slowdown",
    "bounded",
    "mean_waiting",
    "at_start",
    "at_end",
)
BY_REPLICATION: Final = ("waits", "responses")


@final
@dataclass(frozen=True, eq=False)
class QueueTallies:
    """Counts by batch, replication and class; histograms by replication, class and bin.

    A job is counted in the batch in which it starts.

    Attributes:
        waited: jobs that started after a wait.
        wait: their waiting time.
        slowdown: response time over execution time of the jobs that started, summed.
        bounded: the same with the plan's bound in place of shorter execution times, and at least 1.
        mean_waiting: waiting jobs, averaged over time.
        at_start: waiting jobs at the start of the batch.
        at_end: waiting jobs at its end.
        waits: jobs that started by waiting time, in all batches.
        responses: jobs that started by response time, in all batches.
        edges: lower ends of the bins of both histograms, and the upper end of the last; the first
            bin holds zeros, too.
    """

    waited: Floats
    wait: Floats
    slowdown: Floats
    bounded: Floats
    mean_waiting: Floats
    at_start: Floats
    at_end: Floats
    waits: Floats
    responses: Floats
    edges: Floats

    @classmethod
    def empty(cls, batches: int, replications: int, classes: int, edges: Floats) -> QueueTallies:
        """Return tallies of the right shape, all zero."""
        shape, bins = (batches, replications, classes), (replications, classes, edges.size - 1)
        counted = {name: np.zeros(shape) for name in BY_BATCH}
        counted |= {name: np.zeros(bins) for name in BY_REPLICATION}
        return cls(**counted, edges=edges)


def joined_queues(parts: list[QueueTallies], order: Ints) -> QueueTallies:
    """Join the tallies of several chunks, with the replications in the given order."""
    counted = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=1)[:, order]
        for name in BY_BATCH
    }
    histograms = {
        name: np.concatenate([getattr(part, name) for part in parts])[order]
        for name in BY_REPLICATION
    }
    return dataclasses.replace(parts[0], **counted, **histograms)
