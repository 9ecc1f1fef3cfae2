"""Solve the balance equations of large chains by BiCGSTAB, and bound the error of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.exact.aggregation import Coarse
from moldable.exact.error_bound import (
    Answer,
    ErrorBound,
    Matrix,
    Solver,
    exact_imbalance,
    imbalance,
)
from moldable.exact.states import Chain

ENOUGH: Final = 1e-14
"""Residual, relative to the flow, at which the iteration stops."""
ROUNDS: Final = 12
STEPS: Final = 400
GAIN: Final = 1e-6
"""Factor by which each round reduces the residual before the next one restarts."""
STALLED: Final = 0.5
"""Share of the residual left by a round above which the iteration stops."""
ROUGH: Final = 0.03
"""The same as `GAIN` for vectors that only bound an error."""
RELATIVE_GAIN: Final = 1e-3
"""The same for ratios to a distribution."""
NEGLIGIBLE: Final = 1e-6
"""Probability relative to the likeliest state of a group below which ratios are to this instead."""
TINY: Final = 1e-300
SWEEPS: Final = 30


def iterated(chain: Chain, rough: Floats, groups: Ints | None = None) -> Answer:
    """Return the distribution, starting from a rough one.

    Args:
        chain: the chain.
        rough: positive weights.
        groups: of states, numbered along the direction in which the chain is long.
    """
    from moldable.kernels.state_space import improve

    arrays, law, best = chain.arrays, rough, np.inf
    step, better, used = np.empty(chain.states), rough, 0
    coarse: Coarse | None = None
    for _ in range(ROUNDS):
        gap = imbalance(arrays, better)
        residual = float(np.abs(gap).sum() / (chain.out * np.abs(better)).sum())
        stalled = not residual < STALLED * best
        if stalled and coarse is None:
            break
        if not stalled:
            law, best, kept = better, residual, gap
        if best <= ENOUGH:
            break
        # Equations of groups help where sweeps alone take all steps, but may mislead elsewhere.
        slow = used == STEPS and not stalled
        coarse = Coarse.of_law(arrays, groups, law) if groups is not None and slow else None
        # An accuracy beyond rounding errors would use up all steps.
        gain = max(GAIN, 0.1 * ENOUGH / best)
        used = improve(arrays, -kept, STEPS, gain, step, coarse.correct if coarse else None)
        better = law + step
        better /= better.sum()
    return _answer(chain, law, groups)


def relatively_iterated(chain: Chain, rough: Floats, groups: Ints) -> Answer:
    """Return the distribution with small relative errors also in groups that are rare.

    The unknowns are ratios to a rough distribution, whose errors are of one size in all groups, for
    instance in all lengths of a queue. Within a group, errors of rare states remain absolute.
    """
    from moldable.kernels.state_space import improve, relax

    law, step, last = np.maximum(rough, TINY), np.empty(chain.states), np.inf
    for _ in range(SWEEPS):
        relax(*chain.arrays, law)
    for _ in range(ROUNDS):
        law = np.maximum(law / law.sum(), 0.0)
        likeliest = np.zeros(int(groups.max()) + 1)
        np.maximum.at(likeliest, groups, law)
        scale = np.maximum(law, np.maximum(NEGLIGIBLE * likeliest[groups], TINY))
        rate = chain.rate * scale[chain.source] / np.repeat(scale, np.diff(chain.start))
        matrix = (chain.start, chain.source, rate, chain.out)
        gap = imbalance(matrix, law / scale)
        worst = float(np.abs(gap / chain.out).max())
        if worst <= ENOUGH or not worst < STALLED * last:
            break
        last = worst
        improve(matrix, -gap, STEPS, max(RELATIVE_GAIN, 0.1 * ENOUGH / worst), step)
        law = law + scale * step
    return _answer(chain, law, groups)


def _answer(chain: Chain, law: Floats, groups: Ints | None) -> Answer:
    law = np.maximum(law, 0.0)
    law /= law.sum()
    reference = int(np.argmax(law))
    rho = np.abs(exact_imbalance(chain, law, np.zeros(law.size)))
    rho[reference] = 0.0
    return law, rho, ErrorBound(chain, reference, _value_solver(groups, law))


def _value_solver(groups: Ints | None, law: Floats) -> Solver:
    """Return a solver for functions of the state, which keeps the equations of groups."""
    if groups is None:
        return iterated_solution
    kept: list[Coarse] = []

    def solve(matrix: Matrix, f: Floats, accuracy: float, near: Floats) -> Floats:
        if not kept:
            kept.append(Coarse.of_values(matrix, groups, law))
        return iterated_solution(matrix, f, accuracy, near, kept[0].correct)

    return solve


def iterated_solution(
    matrix: Matrix,
    f: Floats,
    accuracy: float,
    near: Floats,
    correct: Callable[[Floats, Floats], None] | None = None,
) -> Floats:
    """Return v with A v close to f; see `error_bound.Solver` and `improve` for `correct`."""
    from moldable.kernels.state_space import improve

    v, step, best = near.copy(), np.empty(f.size), np.inf
    gap = f - imbalance(matrix, v)
    while float(np.abs(gap).max()) > accuracy and float(gap @ gap) < STALLED * best:
        best = float(gap @ gap)
        improve(matrix, gap, STEPS, ROUGH, step, correct)
        v += step
        gap = f - imbalance(matrix, v)
    return v
