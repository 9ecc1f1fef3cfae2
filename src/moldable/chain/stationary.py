"""How is the stationary law of a chain computed?

Chains in one or two dimensions are factorised: their factors stay sparse. Others are solved by
BiCGSTAB, preconditioned by one sweep of Gauss and Seidel and restarted from its own answer until
the balance equations hold to the last digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from moldable.chain.states import Chain
from moldable.errors import ChainError
from moldable.hull import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FACTORISED: Final = {True: 1_500_000, False: 4_000}
"""States up to which factors are worth their memory: in at most two dimensions (True), or more."""
EXACT: Final = 1e-14
GOOD: Final = 1e-12
"""Residual that is as good as it gets, and the largest that is an answer."""
ROUNDS: Final = 12
STEPS: Final = 400
GAIN: Final = 1e-6
"""By how much each round improves the residual before the next starts afresh."""
ENOUGH: Final = 0.1
"""Share of the exact residual that the last round aims at."""
SWEEPS: Final = 30
GUESSES: Final = 3
FAR: Final = 1e3
"""How much likelier than the one guessed the likeliest state may be."""


def stationary(chain: Chain, guess: Floats) -> tuple[Floats, float]:
    """Return the stationary law and its residual: imbalance relative to the flow.

    Args:
        chain: with one class of states that lead to each other.
        guess: anything positive, the closer the better.
    """
    if chain.states == 1:
        return np.ones(1), 0.0
    rough = _relaxed(chain, guess)
    flat = chain.counts.shape[0] <= 2  # noqa: PLR2004 - dimensions
    solve = _factorised if chain.states <= FACTORISED[flat] else _iterated
    law = np.maximum(solve(chain, rough), 0.0)
    law /= law.sum()
    residual = _residual(chain, law)
    if not residual <= GOOD:
        raise ChainError(
            f"the balance equations of {chain.states:,} states were solved only to {residual:.2g}, "
            f"not {GOOD:g}; simulate instead"
        )
    return law, residual


def _relaxed(chain: Chain, guess: Floats) -> Floats:
    from moldable.kernels.state_space import relax

    weight = guess / guess.sum()
    for _ in range(SWEEPS):
        relax(*_arrays(chain), weight)
    return np.asarray(weight / weight.sum())


def _inflow(chain: Chain) -> csr_array:
    from scipy.sparse import csr_array

    shape = (chain.states, chain.states)
    return csr_array((chain.rate, chain.source, chain.start), shape=shape)


def _arrays(chain: Chain) -> tuple[Any, ...]:
    """Return the chain in the order of the kernels' arguments."""
    return chain.start, chain.source, chain.rate, chain.out


def _imbalance(chain: Chain, law: Floats) -> Floats:
    from moldable.kernels.state_space import imbalance

    gap = np.empty(chain.states)
    imbalance(*_arrays(chain), law, gap)
    return gap


def _residual(chain: Chain, law: Floats) -> float:
    return float(np.abs(_imbalance(chain, law)).sum() / (chain.out * law).sum())


def _factorised(chain: Chain, rough: Floats) -> Floats:
    """Solve for all states relative to the likeliest, which is sought again if the guess missed."""
    law = rough
    for _ in range(GUESSES):
        # Far from the likeliest state even the sign is rounding, but not where it is largest.
        law = _relative_to(int(np.argmax(np.abs(law))), chain)
        if float(np.abs(law).max()) <= FAR:
            break
    return law


def _relative_to(likeliest: int, chain: Chain) -> Floats:
    """Give one state the weight 1 and solve for all others.

    What is left is an M-matrix, which needs no pivoting. Relative to a state that is hardly ever
    met, rounding would swamp the others.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    others = np.arange(chain.states) != likeliest
    inflow = _inflow(chain)
    balance = (diags_array(chain.out) - inflow).tocsr()[others][:, others].tocsc()
    entering = inflow[:, [likeliest]].toarray().ravel()[others]
    factors = splu(
        balance,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    law = np.ones(chain.states)
    law[others] = factors.solve(entering)
    return law


def _iterated(chain: Chain, rough: Floats) -> Floats:
    from moldable.kernels.state_space import improve

    law, best = rough, _residual(chain, rough)
    step, gap = np.empty(chain.states), np.empty(chain.states)
    for _ in range(ROUNDS):
        gap[:] = -_imbalance(chain, law)
        # To ask for more than rounding allows takes all steps, and gives nothing.
        improve(*_arrays(chain), gap, STEPS, max(GAIN, ENOUGH * EXACT / best), step)
        better = law + step
        better /= better.sum()
        residual = _residual(chain, better)
        if not residual < best:
            break
        law, best = better, residual
        if best <= EXACT:
            break
    return law
