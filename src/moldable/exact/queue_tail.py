"""Bound the probability of long queues, and detect queues that grow without limit.

From level L on, transitions do not depend on the number q of waiting jobs, except that it falls by
the number of jobs granted servers. Let V = theta^(q - L) v(state) for q >= L and 0 below. If the
drift of V is at most -V/v in all states with q >= L, the mean of theta^(q - L) over them is at most
that of the growth of V below, where only arrivals at level L - 1 add to it:

    E[theta^(q - L); q >= L] <= arrival rate x max v x P(q = L - 1).

So P(q >= L + k) <= arrival rate x max v / theta^k, whatever the probabilities below. The v used
here solves drift = -V/v roughly and is then checked in every state.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import ChainError, UnstableError
from moldable.exact.error_bound import LEAST, ROUNDING, imbalance
from moldable.exact.iterated import iterated_solution
from moldable.exact.queue_chain import Repeated
from moldable.exact.states import Chain
from moldable.exact.stationary import FACTORISED, stationary

EXPONENTS: Final = (1.8, 1.4, 1.1, 0.97, 0.93, 0.88, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05, 0.02)
"""Values of log theta that are tried, relative to that of a queue with exponential services."""
ACCURACY: Final = 0.5
"""Largest error of the equations for v that is accepted before they are checked."""


@final
class TailBound(NamedTuple):
    """P(q >= level + k) <= factor / theta^k for every k >= 0."""

    theta: float
    factor: float

    def beyond(self, levels: float) -> float:
        """Bound the probability of at least this number of levels above the first."""
        return min(1.0, math.exp(math.log(self.factor) - levels * math.log(self.theta)))

    def levels(self, probability: float) -> int:
        """Return the number of levels above the first whose bound is at most a probability."""
        needed = math.log(self.factor / probability) / math.log(self.theta)
        return max(0, math.ceil(min(needed, 1e15)))


def least_throughput(repeated: Repeated) -> float:
    """Return jobs granted servers per unit of time while many wait, at worst.

    With an endless queue the configuration may end up in one of several closed sets of states, for
    instance if freed servers are never divided. The queue is stable if it is in each of them.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    shape = (repeated.states, repeated.states)
    graph = csr_array((repeated.rate, repeated.target, repeated.start), shape=shape, copy=True)
    graph.sum_duplicates()  # a state may lead to another in several ways
    count, label = connected_components(graph, connection="strong")
    row = _rows(repeated)
    leaving = np.zeros(count, dtype=bool)
    leaving[label[row[label[row] != label[repeated.target]]]] = True
    found = math.inf
    granted = np.bincount(row, repeated.rate * repeated.grants, repeated.states)
    size = np.bincount(label, minlength=count)
    alone = (size[label] == 1) & ~leaving[label]
    if alone.any():
        found = float(granted[alone].min())
    for closed in np.flatnonzero(~leaving & (size > 1)):
        inside = np.flatnonzero(label == closed)
        found = min(found, float(_closed_law(graph[inside][:, inside]) @ granted[inside]))
    return found


def _rows(repeated: Repeated) -> Ints:
    return np.repeat(np.arange(repeated.states), np.diff(repeated.start))


def _closed_law(rates: object) -> Floats:
    """Return the stationary distribution of a closed set of states."""
    from scipy.sparse import csr_array

    part = csr_array(rates)
    part.setdiag(0.0)
    part.sum_duplicates()
    part.eliminate_zeros()
    inflow = part.T.tocsr()
    out = np.asarray(part.sum(axis=1)).ravel()
    counts = np.zeros((3, out.size), dtype=np.int32)  # of no special structure
    chain = Chain(counts, inflow.indptr, inflow.indices, inflow.data, out)
    return stationary(chain, np.ones(out.size))[0]


def tail_bound(repeated: Repeated, arrival_rate: float, probability: float) -> TailBound:
    """Return a bound for which few levels suffice, or refuse.

    Args:
        repeated: transitions of the levels that are alike.
        arrival_rate: of all classes.
        probability: that the bound must reach in few levels.
    """
    throughput = least_throughput(repeated)
    refuse_unstable(throughput, arrival_rate)
    best: TailBound | None = None
    for exponent in EXPONENTS:
        theta = math.exp(exponent * math.log(throughput / arrival_rate))
        found = _at(repeated, arrival_rate, theta)
        if found is None:
            continue
        if best is not None and found.levels(probability) >= best.levels(probability):
            break
        best = found
    if best is None:
        raise ChainError(
            f"no bound on long queues was found: jobs arrive at rate {arrival_rate:.6g}, and "
            f"{throughput:.6g} per unit of time are granted servers while many wait; simulate "
            f"instead, or give the queue a number of places"
        )
    return best


def refuse_unstable(throughput: float, arrival_rate: float) -> None:
    """Refuse a queue that grows without limit."""
    # Arrival rates that only differ by rounding have no solution either.
    if throughput <= arrival_rate * (1.0 + 1e-12):
        raise UnstableError(
            f"jobs arrive at rate {arrival_rate:.6g}, but while many wait only {throughput:.6g} "
            f"per unit of time are granted servers, so the queue grows without limit; lower the "
            f"load, choose narrower widths or limit the waiting places"
        )


def _at(repeated: Repeated, arrival_rate: float, theta: float) -> TailBound | None:
    """Return the bound for a theta; None if no function v is found for it."""
    row = _rows(repeated)
    rate = repeated.rate * theta ** -repeated.grants.astype(np.float64)
    out = np.bincount(row, repeated.rate, repeated.states)
    own = row == repeated.target
    growth = arrival_rate * (theta - 1.0)
    diagonal = out - growth - np.bincount(row[own], rate[own], repeated.states)
    if not diagonal.min() > 0.0:
        return None
    v = _solve(repeated, np.where(own, 0.0, rate), np.asarray(diagonal, dtype=np.float64))
    if not v.min() > 0.0:
        return None
    fall = imbalance((repeated.start, repeated.target, rate, out), v) - growth * v
    terms = 4.0 + np.diff(repeated.start)
    fall -= ROUNDING * terms * (2.0 * (out + growth) * v + np.abs(fall))
    least = float(fall.min())
    if not least >= LEAST:
        return None
    return TailBound(theta, arrival_rate * float(v.max()) / least)


def _solve(repeated: Repeated, rate: Floats, diagonal: Floats) -> Floats:
    """Return v whose V falls at rate 1 in all states, roughly."""
    from scipy.sparse import csc_array, csr_array, diags_array
    from scipy.sparse.linalg import splu

    ones = np.ones(repeated.states)
    if repeated.states <= FACTORISED[False]:
        shape = (repeated.states, repeated.states)
        rates = csr_array((rate, repeated.target, repeated.start), shape=shape, copy=True)
        try:
            return np.asarray(splu(csc_array(diags_array(diagonal) - rates)).solve(ones))
        except RuntimeError:  # singular
            return -ones
    guess = np.random.default_rng(0).random(repeated.states) / diagonal.mean()
    matrix = (repeated.start, repeated.target, rate, diagonal)
    return iterated_solution(matrix, ones, ACCURACY, guess)
