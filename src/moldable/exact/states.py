"""How many states does a chain of counts have, and how does it move between them?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.errors import ChainError
from moldable.system.count_model import ChainModel

LARGEST_TABLE: Final = 1_000_000
"""Servers up to which states are counted one by one."""
MOST_STATES: Final = 5_000_000
"""What fits into a few gigabytes with five widths."""


@final
@dataclass(frozen=True, eq=False)
class Chain:
    """A chain on listed states, as rates into each of them.

    Attributes:
        counts: jobs in each slot, a column for each state.
        start: where the row of each state begins in the next two.
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
        """How many there are."""
        return self.out.size


def state_table(widths: Ints, servers: int) -> Ints:
    """Count the states of the first j slots on m servers, for every j and m.

    Counts beyond any use are capped, so that they cannot overflow.
    """
    table = np.ones((widths.size + 1, servers + 1), dtype=np.int64)
    for j, width in enumerate(widths.tolist()):
        for first in range(min(width, servers + 1)):
            sums = np.cumsum(table[j, first::width].astype(float))
            table[j + 1, first::width] = np.minimum(sums, 1e17)
    return table


def count_states(widths: Ints, servers: int) -> int:
    """Return how many states there are, roughly for huge clusters; 1e17 means at least that."""
    slots = widths.size
    if servers > LARGEST_TABLE:
        # The volume of the simplex: within a slot's worth of the count, and far beyond any limit.
        volume = (
            float(servers) ** slots / math.factorial(slots) / float(np.prod(widths, dtype=float))
        )
        return int(min(volume, 1e17))
    return int(state_table(widths, servers)[-1, -1])


def refuse_too_many(states: int, servers: int, slots: int) -> None:
    """Refuse chains that would not fit, before any work is done."""
    if states > MOST_STATES:
        what = f"{states:,}" if states < 1e15 else f"{states:.2g}"  # noqa: PLR2004 - unreadable
        raise ChainError(
            f"the chain of {servers} servers has {what} states in {slots} dimensions, more than "
            f"the {MOST_STATES:,} that can be solved exactly; simulate instead, or ask for fewer "
            f"servers, fewer widths or simpler sizes"
        )


def whole_chain(model: ChainModel, servers: int) -> Chain:
    """List all states and the rates between them."""
    from moldable.kernels.state_space import inflow, list_states

    widths = model.widths.astype(np.int64)
    table = state_table(widths, servers)
    states = int(table[-1, -1])
    refuse_too_many(states, servers, widths.size)
    counts = np.empty((widths.size, states), dtype=np.int32)
    idle = np.empty(states, dtype=np.int64)
    list_states(widths, servers, counts, idle)
    moves = _moves(model)
    most = states * int(2 * widths.size + np.count_nonzero(moves))
    start, out = np.empty(states + 1, dtype=np.int32), np.empty(states)
    source, rate = np.empty(most, dtype=np.int32), np.empty(most)
    entries = model.outcomes[:, : widths.size] * model.arrival_rate
    fixed = (servers, widths, table, model.rates, entries, moves)
    used = inflow(counts, idle, *fixed, start, source, rate, out)
    return _reachable(Chain(counts, start, source[:used], rate[:used], out))


def _moves(model: ChainModel) -> Floats:
    """Return the probability of each next phase, a row for each slot."""
    cumulative = model.jumps.reshape(model.rates.size, model.phases)
    return np.diff(cumulative, axis=1, prepend=0.0)


def _reachable(chain: Chain) -> Chain:
    """Leave out states that are never met again once left: they have no probability.

    The empty system, the first state, can always be reached, so the rest is what it leads to.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    shape = (chain.states, chain.states)
    into = csr_array((chain.rate, chain.source, chain.start), shape=shape)
    met = breadth_first_order(into.T.tocsr(), 0, return_predecessors=False)
    if met.size == chain.states:
        return chain
    met.sort()
    part = into[met][:, met].tocsr()
    return Chain(chain.counts[:, met], part.indptr, part.indices, part.data, chain.out[met])
