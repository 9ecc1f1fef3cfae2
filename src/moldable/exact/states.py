"""The states of a chain of job counts, and the rates between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.errors import ChainError
from moldable.system.count_model import ChainModel

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_COUNTED: Final = 1e17
LARGEST_TABLE: Final = 1_000_000
"""Servers up to which states are counted exactly."""
MOST_STATES: Final = 5_000_000
"""Limit on states, for a few gigabytes of memory with five widths."""


@final
@dataclass(frozen=True, eq=False)
class Chain:
    """A chain on listed states, as rates into each of them.

    Attributes:
        counts: jobs in each slot, a column for each state.
        start: where the row of each state begins in `source` and `rate`.
        source: states that lead to it.
        rate: their rates.
        out: the total rate out of each state.
    """

    counts: Whole
    start: Whole
    source: Whole
    rate: Floats
    out: Floats

    @property
    def states(self) -> int:
        """Number of states."""
        return self.out.size

    @property
    def arrays(self) -> tuple[Whole, Whole, Floats, Floats]:
        """The balance equations as the kernels take them: start, source, rate, out."""
        return self.start, self.source, self.rate, self.out

    @property
    def inflow(self) -> csr_array[Any]:
        """Rates into each state (row) from each state (column)."""
        from scipy.sparse import csr_array

        shape = (self.states, self.states)
        return csr_array((self.rate, self.source, self.start), shape=shape)


def state_table(widths: Ints, servers: int) -> Ints:
    """Count the states of the first j slots on m servers, for every j and m, up to MOST_COUNTED."""
    table = np.ones((widths.size + 1, servers + 1), dtype=np.int64)
    for j, width in enumerate(widths.tolist()):
        table[j + 1] = _with_slot(table[j], width)
    return table


def _with_slot(row: Ints, width: int) -> Ints:
    """Count the states with one slot more, for every number of servers; at most MOST_COUNTED."""
    found = np.empty_like(row)
    for first in range(min(width, row.size)):
        sums = np.cumsum(row[first::width].astype(float))
        found[first::width] = np.minimum(sums, MOST_COUNTED)
    return found


def count_states(widths: Ints, servers: int) -> int:
    """Return the number of states, approximately for huge clusters; at most MOST_COUNTED."""
    slots = widths.size
    if servers > LARGEST_TABLE:
        # The volume of the simplex: within a slot's worth of the count, and far beyond any limit.
        volume = (
            float(servers) ** slots / math.factorial(slots) / float(np.prod(widths, dtype=float))
        )
        return int(min(volume, MOST_COUNTED))
    row = np.ones(servers + 1, dtype=np.int64)
    for width in np.sort(widths).tolist():
        row = _with_slot(row, width)
        if row[-1] >= MOST_COUNTED:  # another slot does not make it less
            break
    return int(row[-1])


def format_states(states: int) -> str:
    """Write a number of states for messages, with few digits if it is huge."""
    return f"{states:,}" if states < 1e15 else f"{states:.2g}"  # noqa: PLR2004 - unreadable


def refuse_too_many(states: int, model: ChainModel) -> None:
    """Refuse chains that do not fit into memory, before any work is done."""
    if states > MOST_STATES:
        raise ChainError(
            f"the chain of {model.servers} servers has {format_states(states)} states in "
            f"{model.rates.size} dimensions, more than the {MOST_STATES:,} that can be solved "
            f"exactly; simulate instead, or ask for fewer servers, fewer widths or simpler sizes"
        )


def whole_chain(model: ChainModel) -> Chain:
    """List all states and the rates between them."""
    from moldable.kernels.state_space import inflow, list_states

    servers, widths = model.servers, model.slot_widths
    table = state_table(widths, servers)
    states = int(table[-1, -1])
    refuse_too_many(states, model)
    counts = np.empty((widths.size, states), dtype=np.int32)
    idle = np.empty(states, dtype=np.int64)
    list_states(widths, servers, counts, idle)
    # Probabilities of the next phase, a row for each slot.
    moves = np.diff(model.jumps.reshape(widths.size, model.phases), axis=1, prepend=0.0)
    most = states * int(2 * widths.size + np.count_nonzero(moves))
    start, out = np.empty(states + 1, dtype=np.int32), np.empty(states)
    source, rate = np.empty(most, dtype=np.int32), np.empty(most)
    fixed = (servers, widths, table, model.rates, model.entries, moves)
    used = inflow(counts, idle, *fixed, start, source, rate, out)
    return _reachable(Chain(counts, start, source[:used], rate[:used], out))


def _reachable(chain: Chain) -> Chain:
    """Remove transient states; the empty system, the first state, is recurrent."""
    from scipy.sparse.csgraph import breadth_first_order

    inflow = chain.inflow
    met = breadth_first_order(inflow.T.tocsr(), 0, return_predecessors=False)
    if met.size == chain.states:
        return chain
    met.sort()
    part = inflow[met][:, met].tocsr()
    return Chain(chain.counts[:, met], part.indptr, part.indices, part.data, chain.out[met])


def product_form(counts: Whole, offered: Floats) -> Floats:
    """Return weights of states as if counts were independent and Poisson, scaled to at most 1."""
    logs = np.zeros(counts.shape[1])
    for jobs, mean in zip(counts, np.maximum(offered, 1e-3), strict=True):
        steps = np.log(mean) - np.log(np.arange(1, int(jobs.max()) + 1))
        logs += np.concatenate(((0.0,), np.cumsum(steps)))[jobs]
    weights: Floats = np.exp(np.maximum(logs - logs.max(), -600.0))
    return weights
