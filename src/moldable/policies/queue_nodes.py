"""Outcomes of offering servers to waiting jobs one after the other.

A node is a number of free servers with a number of waiting jobs. The head gets a kind from the
table, which leads to the node with fewer servers and one job less, and so on until no server or no
job is left. The class of a waiting job is drawn when it becomes the head: with Poisson arrivals and
first come, first served it is independent of the past.

If nothing fits, the head gets its narrowest width with a probability that uses as many servers on
average as are free; then no state needs to remember free servers that jobs cannot use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.policies.kinds import Kinds


@final
@dataclass(frozen=True, eq=False)
class KindTable:
    """The kind granted to a job; -1: none fits.

    Attributes:
        first: by class and idle servers, while no job waits behind the job.
        later: by class, jobs waiting behind it less one, and idle servers; the last entry along
            each axis stands for all larger numbers.
    """

    first: Ints
    later: Ints

    @classmethod
    def narrow(cls, kinds: Kinds) -> KindTable:
        """Return the table of the narrowest widths."""
        idle = np.arange(most_free(kinds) + 1)
        narrowest = [int(kinds.members(j)[0]) for j in range(kinds.rates.size)]
        first = np.array([np.where(idle >= kinds.widths[k], k, -1) for k in narrowest])
        return cls(first, first[:, None, :])

    def same(self, other: KindTable) -> bool:
        """Return whether two tables of equal shape decide alike."""
        return np.array_equal(self.first, other.first) and np.array_equal(self.later, other.later)

    def at(self, job_class: int, free: int, most_waiting: int) -> Ints:
        """Return the kinds with this many free servers and 1, 2, ..., `most_waiting` jobs."""
        behind = np.arange(1, most_waiting)
        later = self.later[job_class, :, min(free, self.later.shape[2] - 1)]
        first = self.first[job_class, min(free, self.first.shape[1] - 1)]
        return np.append(first, later[np.minimum(behind, later.size) - 1])


def most_free(kinds: Kinds) -> int:
    """Return the most servers that are free while jobs wait: the widest job and what is unused."""
    narrowest = max(int(kinds.widths[kinds.members(j)[0]]) for j in range(kinds.rates.size))
    return min(int(kinds.widths.max()) + narrowest - 1, kinds.servers)


@final
class Nodes:
    """The outcome of offering w servers to q waiting jobs, under one table.

    All arrays are indexed by w up to the widest width, then by q.

    Attributes:
        branches: for w servers, the kinds that may start, each with the servers left and its
            probability with 1, 2, ... waiting jobs.
        rises: probability that the level, idle servers less waiting jobs, rises by s (last axis).
        starts: expected number of jobs of each kind (last axis) that start.
        queue: expected number of jobs that still wait.
        held_queue: expected sum over the jobs that start of their server-time, multiplied by the
            number of jobs that wait after the last start.
    """

    def __init__(self, kinds: Kinds, table: KindTable, most_waiting: int) -> None:
        self.kinds, self.table = kinds, table
        self.widest, self.most_waiting = int(kinds.widths.max()), most_waiting
        free, count = self.widest + 1, most_waiting + 1
        self.rises = np.zeros((free, count, free))
        self.starts = np.zeros((free, count, kinds.widths.size))
        self.queue, self.held_queue = np.zeros((free, count)), np.zeros((free, count))
        self.rises[0, :, 0] = 1.0
        self.rises[np.arange(free), 0, np.arange(free)] = 1.0
        self.queue[0] = np.arange(count)
        self.branches = [[], *(list(self._branches(w)) for w in range(1, free))]
        for w in range(1, free):
            self._fill(w)

    def _branches(self, w: int) -> Iterator[tuple[int, int, Floats]]:
        """Yield each kind that may start at the nodes of w servers.

        Yields:
            the kind, the servers left, and its probability with 1, 2, ... waiting jobs.
        """
        kinds = self.kinds
        for j, share in enumerate((kinds.rates / kinds.rates.sum()).tolist()):
            row = self.table.at(j, w, self.most_waiting)
            for kind in np.unique(row).tolist():
                chance = share * (row == kind)
                if kind >= 0:
                    yield kind, w - int(kinds.widths[kind]), chance
                else:
                    narrowest = int(kinds.members(j)[0])
                    yield narrowest, 0, chance * (w / float(kinds.widths[narrowest]))

    def landing(self, mass: Floats) -> Floats:
        """Return where masses by kind, free servers and waiting jobs end.

        The result is by kind (row) and level, from -`most_waiting` to the widest width.
        """
        found = np.zeros((mass.shape[0], self.most_waiting + self.widest + 1))
        # By kind, waiting jobs and rise; matrix products are faster than one sum over all.
        ends = (mass.transpose(2, 0, 1) @ self.rises.transpose(1, 0, 2))[::-1]
        for rise in range(self.widest + 1):
            found[:, rise : rise + mass.shape[2]] += ends[:, :, rise].T
        return found

    def _fill(self, w: int) -> None:
        held = self.kinds.widths * self.kinds.times
        stays = np.ones(self.most_waiting)
        for kind, left, chance in self.branches[w]:
            stays -= chance
            self.rises[w, 1:, 1:] += chance[:, None] * self.rises[left, :-1, :-1]
            self.starts[w, 1:] += chance[:, None] * self.starts[left, :-1]
            self.starts[w, 1:, kind] += chance
            self.queue[w, 1:] += chance * self.queue[left, :-1]
            later = self.held_queue[left, :-1] + held[kind] * self.queue[left, :-1]
            self.held_queue[w, 1:] += chance * later
        stays = np.maximum(stays, 0.0)
        self.rises[w, 1:, 0] += stays
        self.queue[w, 1:] += stays * np.arange(1, self.most_waiting + 1)
