"""The states of a cluster with a queue, and the rates between them.

From some number of waiting jobs on, the *level*, transitions do not depend on it. The states of all
these levels are alike, so that rates are computed once and repeated for as many levels as are
needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.errors import ChainError
from moldable.exact.queue_model import QueueModel
from moldable.exact.states import MOST_STATES, Chain, format_states, state_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ENTRIES: Final = 12
"""Rates out of a state for which there is room at first."""


class Configurations(NamedTuple):
    """The configurations of running jobs.

    Attributes:
        counts: jobs in each slot, a column for each configuration.
        idle: idle servers.
        fewer: the configuration with one job less in each slot (row).
        more: that with one job more.
    """

    counts: Whole
    idle: Ints
    fewer: Whole
    more: Whole


class Repeated(NamedTuple):
    """Transitions at the levels that are alike, arrivals excepted.

    Attributes:
        start: where the row of each state of a level begins.
        target: the place of the state in its level that it leads to.
        grants: number of levels that it lies below.
        rate: its rate.
    """

    start: Whole
    target: Ints
    grants: Ints
    rate: Floats

    @property
    def states(self) -> int:
        """Number of states of a level."""
        return self.start.size - 1


@final
@dataclass(frozen=True, eq=False)
class QueueChain:
    """The states that can be reached from the empty cluster, level by level.

    Attributes:
        model: the system.
        configurations: of running jobs.
        node: configuration and class of the head of each state; see `kernels.queue_states`.
        queue: its waiting jobs.
        rates: from each state (row) to each.
        top: largest number of waiting jobs; arrivals beyond it are left out.
    """

    model: QueueModel
    configurations: Configurations
    node: Ints
    queue: Ints
    rates: csr_array[Any]
    top: int

    @property
    def states(self) -> int:
        """Number of states."""
        return self.node.size

    @property
    def config(self) -> Ints:
        """The configuration of each state."""
        return np.asarray(self.node // self.model.heads)

    @property
    def head(self) -> Ints:
        """The class of the head of each state, where states contain it."""
        return np.asarray(self.node % self.model.heads)

    @cached_property
    def chain(self) -> Chain:
        """The chain as the solvers take it."""
        inflow = self.rates.T.tocsr()
        out = np.asarray(self.rates.sum(axis=1)).ravel()
        counts = self.configurations.counts[:, self.config]
        if self.model.holds[1:].any():
            # Elsewhere a job waits only if no server is idle: the queue adds no dimension.
            counts = np.vstack((counts, self.queue)).astype(np.int32)
        return Chain(counts, inflow.indptr, inflow.indices, inflow.data, out)

    @property
    def groups(self) -> Ints:
        """Numbers of states by busy servers, then by waiting jobs."""
        busy = self.model.servers - self.configurations.idle[self.config]
        along = np.where(self.queue > 0, self.model.servers + self.queue, busy)
        return np.unique(along, return_inverse=True)[1].astype(np.int64)

    @property
    def repeated(self) -> Repeated:
        """The transitions of the top level, if it and those below are alike."""
        level = np.flatnonzero(self.queue == self.top)
        rows = self.rates[level]
        grants = self.top - self.queue[rows.indices]
        # All levels that are led to have as many states.
        target = rows.indices - level[0] + grants * level.size
        return Repeated(rows.indptr, target, grants, rows.data)

    def extended(self, top: int) -> QueueChain:
        """Return the chain with more levels."""
        from scipy.sparse import csr_array

        if top == self.top:
            return self
        level = np.flatnonzero(self.queue == self.top)
        last, below = self.rates[level], self.rates[: level[0]]
        places = csr_array(
            (np.full(level.size, self.model.arrival_rate), level + level.size,
             np.arange(level.size + 1)), shape=(level.size, self.states + level.size),
        )  # fmt: skip
        last.resize(places.shape)
        middle = (last + places).tocsr()
        above = np.arange(top - self.top)
        columns = (middle.indices.astype(np.int64) + level.size * above[:, None]).ravel()
        steps = np.concatenate(
            (np.diff(below.indptr), np.tile(np.diff(middle.indptr), above.size),
             np.diff(last.indptr))
        )  # fmt: skip
        states = self.states + level.size * above.size
        return QueueChain(
            self.model,
            self.configurations,
            np.concatenate((self.node, np.tile(self.node[level], above.size))),
            np.concatenate((self.queue, np.repeat(self.top + 1 + above, level.size))),
            csr_array(
                (
                    np.concatenate((below.data, np.tile(middle.data, above.size), last.data)),
                    np.concatenate(
                        (below.indices, columns, last.indices + level.size * above.size)
                    ).astype(np.int32),
                    np.concatenate(((0,), np.cumsum(steps))).astype(np.int32),
                ),
                shape=(states, states),
            ),
            top,
        )


def configurations(model: QueueModel) -> Configurations:
    """List the configurations of running jobs and their neighbours."""
    from moldable.kernels.state_space import list_states, neighbours

    servers, widths = model.servers, model.model.slot_widths
    table = state_table(widths, servers)
    count = int(table[-1, -1])
    counts, idle = np.empty((widths.size, count), dtype=np.int32), np.empty(count, dtype=np.int64)
    list_states(widths, servers, counts, idle)
    fewer, more = np.empty_like(counts), np.empty_like(counts)
    neighbours(counts, idle, servers, widths, table, fewer, more)
    return Configurations(counts, idle, fewer, more)


def refuse_too_many(states: float, model: QueueModel, most: int = MOST_STATES) -> None:
    """Refuse chains that do not fit into memory, or that the caller does not want."""
    if states > most:
        raise ChainError(
            f"the chain of {model.servers} servers and their queue has "
            f"{format_states(int(min(states, 1e17)))} states, more than the {most:,} that can be "
            f"solved exactly; simulate instead, or ask for fewer servers, fewer widths, fewer "
            f"places or a lower load"
        )


def first_chain(model: QueueModel, most: int = MOST_STATES) -> QueueChain:
    """List the states up to the levels that are alike, and remove those that are never reached.

    A state that is reached at all is reached within these levels: on a path that goes above them,
    fewer jobs may arrive first, so that the same departures happen at the lowest of them.
    """
    from scipy.sparse.csgraph import breadth_first_order

    listed = configurations(model)
    waiting = np.flatnonzero(model.holds[listed.idle].ravel())
    top = int(min(model.places, model.level + model.most_grants)) if waiting.size else 0
    refuse_too_many(listed.idle.size + float(top) * waiting.size, model, most)
    rates = _forward(model, listed, waiting, top)
    met = breadth_first_order(rates, 0, return_predecessors=False)
    met.sort()
    node = np.concatenate((np.arange(listed.idle.size) * model.heads, np.tile(waiting, top)))[met]
    levels = np.repeat(np.arange(1, top + 1), waiting.size)
    queue = np.concatenate((np.zeros(listed.idle.size, dtype=np.int64), levels))[met]
    _refuse_stuck(model, node, queue)
    return QueueChain(model, listed, node, queue, rates[met][:, met].tocsr(), top)


def _forward(model: QueueModel, listed: Configurations, waiting: Ints, top: int) -> csr_array[Any]:
    """Return the rates between all states up to the level `top`."""
    from scipy.sparse import csr_array

    from moldable.kernels.queue_states import forward_rates

    place = np.full(listed.idle.size * model.heads, -1, dtype=np.int64)
    place[waiting] = np.arange(waiting.size)
    states = listed.idle.size + waiting.size * top
    start, mark = np.zeros(states + 1, dtype=np.int64), np.full(states, -1)
    fixed = (
        *listed, model.model.rates, model.moves, model.arrival_rate, model.chances, model.shares,
        model.owner, model.heads, waiting, place, top, start,
    )  # fmt: skip
    done, room = 0, ENTRIES * states
    column, rate = np.empty(0, dtype=np.int32), np.empty(0)
    while done < states:
        column = np.concatenate((column, np.empty(room, dtype=np.int32)))
        rate = np.concatenate((rate, np.empty(room)))
        done = forward_rates(done, *fixed, column, rate, mark)
    used = int(start[-1])
    rows = (rate[:used], column[:used], start.astype(np.int32))
    return csr_array(rows, shape=(states, states))


def _refuse_stuck(model: QueueModel, node: Ints, queue: Ints) -> None:
    stuck = np.flatnonzero((queue > 0) & (node // model.heads == 0))
    if stuck.size:
        head = int(node[stuck[0]] % model.heads)
        name = model.system.workload.classes[head].name
        who = f"a job of class {name!r}" if model.heads > 1 else "a job"
        raise ChainError(
            f"{who} may wait for ever although all {model.servers} servers are idle: a waiting job "
            f"is offered servers only when another one ends; let the policy grant it some "
            f"of {model.servers} idle servers"
        )
