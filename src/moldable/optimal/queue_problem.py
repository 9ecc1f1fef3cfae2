"""The states of a shared pool with a queue.

Jobs wait in the order of their arrival, and only while no width of the job at the head fits. All
classes have the same narrowest width, so this does not depend on the class of the head: jobs wait
only when fewer servers are idle than one job of that width needs. The classes of waiting jobs are
therefore not part of the state: each is class j with the probability of an arrival, and shows when
the job is granted servers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from moldable.arrays import Floats, Ints
from moldable.errors import ChainError
from moldable.exact.states import format_states
from moldable.model.scenario import Scenario
from moldable.optimal.problem import ControlProblem, control_problem

MOST_QUEUE_STATES: Final = 8_000_000
"""Limit on states, for about 2 GB of memory with five widths."""

Index = NDArray[np.int32]


@final
@dataclass(frozen=True, eq=False)
class QueueProblem:
    """The lines of a pool, and what completions and grants do while jobs wait.

    Nodes are explained in `kernels.queue_control`.

    Attributes:
        scenario: the classes, the pool and the waiting places.
        pool: the states without waiting jobs.
        node: node after a completion of each kind (row) in the full state of each line.
        ends: total rates of these completions.
        onto: node to which granting a kind leads, by kind, free places and line; -1: does not fit.
    """

    scenario: Scenario
    pool: ControlProblem
    node: Index
    ends: Floats
    onto: Index

    @property
    def lines(self) -> int:
        """Number of lines, that is of states with q waiting jobs for each q > 0."""
        return self.pool.start.size - 1

    @property
    def depth(self) -> int:
        """Most jobs of the narrowest width that fit after one completion."""
        return int(self.onto.shape[1])

    @property
    def full(self) -> Ints:
        """The full state of each line."""
        return self.pool.start[1:] - 1

    @property
    def arrival_rate(self) -> float:
        """Jobs of all classes per unit of time."""
        return self.pool.workload.arrival_rate

    @property
    def server_times(self) -> Floats:
        """Mean servers x time of a job of each kind."""
        return self.pool.times * self.pool.widths

    @property
    def shares(self) -> Floats:
        """Probability of each class."""
        return np.asarray(self.pool.arrivals / self.pool.arrivals.sum())

    @property
    def largest_throughput(self) -> float:
        """Upper bound of the jobs that can be completed per unit of time."""
        owner = self.pool.owner
        least = [self.server_times[owner == j].min() for j in range(self.shares.size)]
        return self.pool.servers / float(self.shares @ np.array(least))

    def states(self, places: int) -> int:
        """Return the number of states with this many waiting places."""
        return self.pool.states + places * self.lines

    def jobs(self, places: int) -> Floats:
        """Return the number of jobs in the system in each state."""
        running = self.pool.jobs().sum(axis=0).astype(float)
        waiting = np.arange(1.0, places + 1.0)[:, np.newaxis]
        return np.concatenate((running, (running[self.full] + waiting).ravel()))

    def rates_out(self, places: int) -> Floats:
        """Return the total rate out of each state; blocked jobs do not count."""
        ending = self.pool.rates @ self.pool.jobs()
        out = np.concatenate((ending, np.tile(ending[self.full], places))) + self.arrival_rate
        out[self.overflowing(places)] = ending[self.full]
        return out

    def overflowing(self, places: int) -> Ints:
        """Return the states of each line in which an arrival finds no waiting place."""
        return self.full if places == 0 else np.arange(self.lines) + self.states(places - 1)

    def idle_at_nodes(self) -> Ints:
        """Return the idle servers at each node; -1 where there is no such node."""
        idle, length = self.pool.idle()[self.full], np.diff(self.pool.start)
        free = np.arange(self.depth + 1)[:, np.newaxis]
        found: Ints = np.where(free < length, idle + free * int(self.pool.widths[0]), -1).ravel()
        return found


def queue_problem(scenario: Scenario) -> QueueProblem:
    """List the lines of a scenario with Poisson arrivals and exponential sizes."""
    pool = control_problem(replace(scenario, waiting=0))
    _refuse_different_narrowest(scenario)
    length = np.diff(pool.start)
    kinds, lines = pool.widths.size, length.size
    # Kind 0 stays on the line; for the others, the line with one job less.
    fewer = np.tile(np.arange(lines), (kinds, 1))
    has = np.vstack((length > 1, pool.counts > 0))
    fewer[1:] = np.where(has[1:], np.searchsorted(pool.start, pool.before), 0)
    # The jobs of the first kind stay, so free places are the difference of two lengths.
    freed = length[fewer] - length
    freed[0] = 1
    depth = int(freed[has].max(initial=1))
    node = np.where(has, freed * lines + fewer, 0).astype(np.int32)
    ends = np.vstack((length - 1, pool.counts)) * pool.rates[:, np.newaxis]
    return QueueProblem(scenario, pool, node, ends, grant_nodes(pool, depth))


def grant_nodes(pool: ControlProblem, depth: int) -> Index:
    """Return the nodes after a grant with up to `depth` free places, see `QueueProblem.onto`."""
    length = np.diff(pool.start)
    lines = length.size
    fits = np.vstack((np.ones(lines, dtype=bool), pool.room > 0))
    more = np.tile(np.arange(lines), (pool.widths.size, 1))
    more[1:] = np.where(fits[1:], np.searchsorted(pool.start, pool.after), 0)
    onto = np.empty((pool.widths.size, depth, lines), dtype=np.int32)
    for free in range(1, depth + 1):
        left = length[more] - length + free
        left[0] = free - 1
        possible = fits & (left >= 0) & (free < length)
        onto[:, free - 1] = np.where(possible, left * lines + more, -1)
    return onto


def refuse_too_long(queue: QueueProblem, places: int) -> None:
    """Refuse queues whose states do not fit into memory, before any work is done."""
    states = queue.states(places)
    if states > MOST_QUEUE_STATES:
        fewer = "" if math.isinf(queue.scenario.waiting) else ", fewer waiting places"
        raise ChainError(
            f"{queue.pool.servers} servers with {places:,} waiting jobs have "
            f"{format_states(states)} states, more than the {MOST_QUEUE_STATES:,} over which the "
            f"optimum can be found; ask for fewer servers, fewer widths, a lower load{fewer}, or "
            f"simulate policies instead"
        )


def _refuse_different_narrowest(scenario: Scenario) -> None:
    narrowest = {part.name: int(part.speedup.widths[0]) for part in scenario.workload.classes}
    if len(set(narrowest.values())) > 1:
        listed = ", ".join(f"{width} of {name!r}" for name, width in narrowest.items())
        raise ChainError(
            f"the narrowest widths differ ({listed}): the optimum with a queue is found for "
            f"classes with the same narrowest width; add or leave out widths, or ask for "
            f"optimal_control of a cluster without waiting places"
        )
