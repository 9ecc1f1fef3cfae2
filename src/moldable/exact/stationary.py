"""Compute the stationary distribution of a chain, with a bound on its error.

Chains in one or two dimensions are factorised: their factors stay sparse. Others are solved by
BiCGSTAB, preconditioned by one Gauss-Seidel sweep and restarted from its own answer until the
balance equations hold to the last digits. Where that is not enough because rare states matter, they
are iterated relative to the distribution found (`exact/iterated.py`). Where that also fails, in
nearly decomposable chains, they are factorised if they are small enough. Answers whose error cannot
be bounded are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import NearlyDecomposableError
from moldable.exact.error_bound import Answer, ErrorBound, Matrix, exact_imbalance
from moldable.exact.iterated import iterated, relatively_iterated
from moldable.exact.states import Chain

FACTORISED: Final = {True: 1_500_000, False: 4_000}
"""States up to which factors are worth their memory: in at most two dimensions (True), or more."""
NARROW: Final = 100_000_000
"""States times the square of those of the largest group, the work of factorising small groups, up
to which this is faster than iterating."""
SPARSE: Final = 10_000_000
"""States times those of the largest group up to which factors are small enough to be stored."""
LAST_RESORT: Final = 30_000
"""States in more dimensions up to which chains are factorised where iterating fails: 1 GB, 10 s."""
GOOD: Final = 1e-9
"""Largest accepted error bound: of the distribution in l1, and of the mean of `rare` relatively."""
SWEEPS: Final = 30
GUESSES: Final = 3
FAR: Final = 1e3
"""Largest ratio of the probabilities of the likeliest state and the reference."""
NEVER: Final = 1e-15
"""Mean of `rare` below which its error is bounded relative to this instead."""
DIGITS: Final = 1e-15
"""Relative rounding error of the answer itself."""
REFINEMENTS: Final = 6
REFINED: Final = 1e-8
"""Relative correction after which another one would be below the last digit."""


def stationary(chain: Chain, guess: Floats, rare: Floats | None = None) -> tuple[Floats, float]:
    """Return the stationary distribution and a bound on its error, or refuse.

    The bound holds for the l1 distance from the true distribution and, where `rare` is given, for
    the relative error of its mean.

    Args:
        chain: with one class of states that lead to each other.
        guess: anything positive, the closer the better.
        rare: a non-negative function of the state, such as the probability of blocking.
    """
    solution = solve_stationary(chain, guess, rare)
    return solution.law, solution.error


class Solution(NamedTuple):
    """A stationary distribution.

    Attributes:
        law: the probability of each state.
        error: a bound on its error; see `stationary`.
        hitting_times: bounds on the mean times from each state to one of them.
    """

    law: Floats
    error: float
    hitting_times: Floats


def solve_stationary(
    chain: Chain, guess: Floats, rare: Floats | None = None, groups: Ints | None = None
) -> Solution:
    """Return the stationary distribution with a bound on its error, or refuse.

    Args:
        chain: see `stationary`; so are `guess` and `rare`.
        guess: anything positive.
        rare: a non-negative function of the state.
        groups: of states, numbered along the direction in which the chain is long, such as that of
            its waiting jobs; speeds up the iteration.
    """
    if chain.states == 1:
        return Solution(np.ones(1), 0.0, np.zeros(1))
    rough = _relaxed(chain, guess)
    for solve in _solvers(chain, groups):
        rough, rho, bound = solve(chain, rough)
        error = _error(rough, rho, bound, rare)
        if error <= GOOD:
            return Solution(rough, error, bound.hitting_times)
    raise NearlyDecomposableError(
        f"the chain of {chain.states:,} states is nearly decomposable: it moves so rarely between "
        f"some of its states that the error of its stationary distribution cannot be bounded by "
        f"{GOOD:g}; simulate instead, with runs far longer than its slowest changes"
    )


def _error(law: Floats, rho: Floats, bound: ErrorBound, rare: Floats | None) -> float:
    total = bound.total(rho)
    error = 2.0 * total + DIGITS  # the second half is that of the normalisation
    if rare is None or not error <= GOOD:
        return error
    mean = max(float(law @ rare), NEVER)
    # The bound on all weights is usually also small enough for the mean.
    plain = total * float(rare.max()) / mean
    return error + (plain if plain <= 0.5 * GOOD else bound.mean(rho, rare, mean))


def _solvers(chain: Chain, groups: Ints | None) -> list[Callable[[Chain, Floats], Answer]]:
    """Return the methods to try, each starting from the distribution found by the one before."""
    flat = chain.counts.shape[0] <= 2  # noqa: PLR2004 - dimensions
    group = chain.states if groups is None else int(np.bincount(groups).max())
    if chain.states <= FACTORISED[flat] or chain.states * group**2 <= NARROW:
        return [_factorised]
    solvers: list[Callable[[Chain, Floats], Answer]] = [partial(iterated, groups=groups)]
    if groups is not None:
        solvers.append(partial(relatively_iterated, groups=groups))
    if chain.states <= LAST_RESORT or chain.states * group <= SPARSE:
        solvers.append(_factorised)
    return solvers


def _relaxed(chain: Chain, guess: Floats) -> Floats:
    from moldable.kernels.state_space import relax

    weight = guess / guess.sum()
    for _ in range(SWEEPS):
        relax(*chain.arrays, weight)
    return np.asarray(weight / weight.sum())


def _factorised(chain: Chain, rough: Floats) -> Answer:
    """Solve relative to the likeliest state, again if the guess missed it."""
    weights = rough
    for _ in range(GUESSES):
        # Far from the likeliest state even the sign is rounding, but not where it is largest.
        factors = _Factors(chain, int(np.argmax(np.abs(weights))))
        weights = factors.weights()
        if float(np.abs(weights).max()) <= FAR:
            break
    law, rho = factors.refined(weights)
    return law, rho, ErrorBound(chain, factors.reference, factors.solve_transposed)


@final
class _Factors:
    """The balance equations, factorised relative to one state.

    Without that state they are an M-matrix, which needs no pivoting. Relative to a state of tiny
    probability, rounding errors would dominate the others.
    """

    def __init__(self, chain: Chain, reference: int) -> None:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        self.chain, self.reference = chain, reference
        self.others = np.arange(chain.states) != reference
        inflow = chain.inflow
        balance = (diags_array(chain.out) - inflow).tocsr()[self.others][:, self.others].tocsc()
        self.entering = inflow[:, [reference]].toarray().ravel()[self.others]
        self.lu = splu(
            balance,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def weights(self) -> Floats:
        """Return the weights relative to the reference, with rounding errors."""
        found = np.ones(self.chain.states)
        found[self.others] = self.lu.solve(self.entering)
        return found

    def refined(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the distribution and bounds on the errors of its balance equations.

        Weights are refined as sums of two numbers: the rounding of one would unbalance a nearly
        decomposable chain.
        """
        high, low = weights, np.zeros(weights.size)
        for _ in range(REFINEMENTS):
            gap = exact_imbalance(self.chain, high, low)
            correction = np.zeros(weights.size)
            correction[self.others] = -self.lu.solve(gap[self.others])
            low += correction
            high, low = high + low, low - ((high + low) - high)
            if np.abs(correction).sum() <= REFINED * np.abs(high).sum():
                break
        rho = np.abs(exact_imbalance(self.chain, high, low))
        rho += np.where(high < 0.0, -self.chain.out * high, 0.0)
        rho[self.reference] = 0.0
        law = np.maximum(high, 0.0)
        return law / law.sum(), rho / law.sum()

    def solve_transposed(
        self,
        matrix: Matrix,  # noqa: ARG002 - factorised already
        f: Floats,
        accuracy: float,  # noqa: ARG002 - direct
        near: Floats,  # noqa: ARG002 - direct
    ) -> Floats:
        """Return v with A v = f; see `error_bound.Solver`."""
        v = np.zeros(f.size)
        v[self.others] = self.lu.solve(f[self.others], "T")
        return v
