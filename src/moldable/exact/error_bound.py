"""Bound the error of a computed stationary distribution.

Fix the weight of one state, the reference. The weights y of the others solve y A = b, where A is
minus the generator without the reference: a nonsingular M-matrix, whose inverse has no negative
entry. If the balance equations of computed weights are off by at most rho, the weights are off by
at most rho A^-1. For every f >= 0 the error of sum(f y) is at most rho v for any v with A v >= f.

With f = 1, v bounds the mean times until the reference is hit. Where these are long, as in nearly
decomposable chains, a small residual proves nothing. The v used here is computed roughly and then
checked in every state, so the bound does not rest on the solver that found it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.exact.states import Chain

ROUNDING: Final = 4e-16
"""Relative rounding error of one term of a sum of products, with a margin."""
LEAST: Final = 0.1
"""Least A v that is accepted where 1 was asked for."""
DIGITS: Final = 1e-11
"""Relative error of a small mean below which nothing more is computed."""

Matrix = tuple[Any, ...]
"""A sparse matrix by rows, in the order of the kernels' arguments: start, source, rate, out."""
Solver = Callable[[Matrix, Floats, float, Floats], Floats]
"""Given A, f, an absolute accuracy and a guess, returns v with A v close to f."""


@final
class ErrorBound:
    """Bounds on sums of errors of weights, relative to one state.

    Args:
        chain: the chain.
        reference: the state whose weight is given.
        solve: solves A v = f.
    """

    def __init__(self, chain: Chain, reference: int, solve: Solver) -> None:
        self.reference, self.matrix, self.solve = reference, _without(chain, reference), solve
        ones = np.ones(chain.states)
        ones[reference] = 0.0
        # From zero, BiCGSTAB stalls on large chains: its shadow residual would be constant.
        guess = np.random.default_rng(0).random(chain.states)
        guess[reference] = 0.0
        times = solve(self.matrix, ones, 1.0 - LEAST, guess)
        least = float(self._image(times).min())
        self.hitting_times = times / least if least >= LEAST else np.full(chain.states, np.inf)

    def total(self, rho: Floats) -> float:
        """Bound the sum of the errors of all weights, given bounds on the balance equations."""
        met = rho > 0.0
        return float(rho[met] @ self.hitting_times[met])

    def mean(self, rho: Floats, f: Floats, mean: float) -> float:
        """Bound the relative error of sum(f y), which is about `mean`."""
        f = np.where(np.arange(f.size) == self.reference, 0.0, f)
        total = self.total(rho)
        accuracy = min(DIGITS * mean / total, 0.1) if total > 0.0 else 0.1
        v = self.solve(self.matrix, f, accuracy, mean * self.hitting_times)
        short = float(np.maximum(f - self._image(v), 0.0).max())
        return (float(rho @ np.maximum(v, 0.0)) + short * total) / mean

    def _image(self, v: Floats) -> Floats:
        """Return A v less its rounding error; infinite at the reference, which has no equation."""
        found = imbalance(self.matrix, v)
        # The terms of a row add up to at most 2 out |v| + |A v| in magnitude where v >= 0.
        terms = 2.0 + np.diff(self.matrix[0])
        found -= ROUNDING * terms * (2.0 * self.matrix[3] * np.abs(v) + np.abs(found))
        found[self.reference] = np.inf
        return found


Answer = tuple[Floats, Floats, ErrorBound]
"""A distribution, bounds on the errors of its balance equations, and what bounds their effect."""


def imbalance(matrix: Matrix, weight: Floats) -> Floats:
    """Return the outflow minus the inflow of each state under some weights."""
    from moldable.kernels.state_space import imbalance as fill

    gap = np.empty(weight.size)
    fill(*matrix, weight, gap)
    return gap


def exact_imbalance(chain: Chain, high: Floats, low: Floats) -> Floats:
    """Return the imbalance without rounding errors, for weights that are sums high + low."""
    from moldable.kernels.state_space import exact_imbalance as fill

    gap = np.empty(high.size)
    fill(chain.start, chain.source, chain.rate, high, low, gap)
    return gap


def _without(chain: Chain, reference: int) -> Matrix:
    """Return A by rows."""
    rows = chain.inflow.T.tocsr()
    rate = np.where(rows.indices == reference, 0.0, rows.data)
    rate[rows.indptr[reference] : rows.indptr[reference + 1]] = 0.0
    return rows.indptr, rows.indices, rate, chain.out
