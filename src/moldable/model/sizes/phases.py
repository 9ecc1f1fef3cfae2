"""Phase-type distributions, in the notation of Neuts.

A job starts in a phase drawn from `alpha`, moves between phases at the rates of `T` and ends when
it leaves them all. Exact chains are built on this representation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats, Mask, as_array
from moldable.errors import SizeLawError

# Row sums and probabilities this close to their bounds are attributed to rounding.
ROUNDING: Final = 1e-12
# Terms of the series of exp(Tx) where x times the fastest rate is at most 1; the error is 1/20!.
TERMS: Final = 20
# Phase probabilities in memory at once.
BLOCK: Final = 2_000_000
# Largest age, in units of the fastest phase.
FURTHEST: Final = 2.0**62

Matrix = Sequence[Sequence[float]] | Floats


@final
@dataclass(frozen=True, init=False, eq=False, slots=True)
class PhaseRepresentation:
    """A phase-type distribution: P(X > x) = alpha exp(T x) 1.

    Args:
        alpha: initial probabilities of the phases.
        subgenerator: the matrix T: rates between phases, and on the diagonal minus the total rate
            of leaving each phase.

    Attributes:
        alpha: read-only.
        T: read-only.
    """

    alpha: Floats
    T: Floats

    def __init__(self, alpha: Sequence[float] | Floats, subgenerator: Matrix) -> None:
        alpha = _numbers(alpha, "start probabilities")
        matrix = _numbers(subgenerator, "sub-generator")
        alpha.flags.writeable = matrix.flags.writeable = False
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "T", matrix)
        if fault := self._fault():
            raise SizeLawError(f"phase-type distribution: {fault}")

    @property
    def exits(self) -> Floats:
        """Rate at which jobs end in each phase; within rounding error of 0 it is 0."""
        exits = -self.T.sum(axis=1)
        rounding = np.abs(exits) <= ROUNDING * np.abs(self.T.diagonal())
        return np.where(rounding, 0.0, exits)

    @property
    def mean(self) -> float:
        """The mean size: the expected total time in all phases."""
        return float(self._occupation(self.alpha).sum())

    @property
    def variance(self) -> float:
        """The variance of the size."""
        occupation = self._occupation(self.alpha)
        return float(2.0 * self._occupation(occupation).sum() - occupation.sum() ** 2)

    @property
    def residual_start(self) -> Floats:
        """Phase probabilities at a random time of service, from which residual sizes start."""
        occupation = self._occupation(self.alpha)
        return np.asarray(occupation / occupation.sum(), dtype=np.float64)

    def survival(self, x: ArrayLike) -> Floats:
        """Return P(X > x), elementwise.

        All intermediate results are non-negative, so nothing cancels: even in the far tail the
        relative error is about x times the fastest rate, in units of the last place.
        """
        return np.minimum(self._after(x, np.ones(self.alpha.size)), 1.0)

    def density(self, x: ArrayLike) -> Floats:
        """Return the density at x, elementwise."""
        return self._after(x, self.exits)

    def _after(self, x: ArrayLike, weights: Floats) -> Floats:
        """Return the weighted sum of the phase probabilities at age x, elementwise."""
        ages = np.asarray(x, dtype=np.float64)
        flat = np.maximum(ages.ravel(), 0.0)
        block = max(1, BLOCK // self.alpha.size)
        parts = [self._at(flat[at : at + block]) @ weights for at in range(0, flat.size, block)]
        return np.concatenate([np.empty(0), *parts]).reshape(ages.shape)

    def _at(self, ages: Floats) -> Floats:
        """Return alpha exp(T x), the phase probabilities at each age x, row by row."""
        fastest = float(-self.T.diagonal().min())
        # exp(Tx) = exp(-qx) exp(Px) with P = T + qI >= 0. In units of 1/q, the integer part of x
        # is a product of powers exp(T 2^m), and the fraction is summed as a series.
        jumps = self.T / fastest + np.eye(self.alpha.size)
        whole = np.floor(np.minimum(ages * fastest, FURTHEST))
        fraction = np.minimum(ages * fastest - whole, 1.0)[:, None]
        at = _series(np.tile(self.alpha, (ages.size, 1)), jumps, fraction)
        at *= np.exp(-fraction)
        power = np.exp(-1.0) * _series(np.eye(self.alpha.size), jumps, np.ones((1, 1)))
        while (whole >= 1.0).any():
            half = np.floor(whole / 2.0)
            odd = whole > 2.0 * half
            at[odd] = at[odd] @ power
            whole, power = half, power @ power
        return at

    def _occupation(self, alpha: Floats) -> Floats:
        """Return expected times in the phases, alpha (-T)^-1."""
        return np.asarray(np.linalg.solve(-self.T.T, alpha), dtype=np.float64)

    def _fault(self) -> str:
        """Return what makes the arrays invalid, or an empty string."""
        alpha, matrix = self.alpha, self.T
        if alpha.ndim != 1 or alpha.size == 0:
            return "give one start probability for each phase, in a list"
        if alpha.min() < 0.0 or abs(alpha.sum() - 1.0) > ROUNDING * alpha.size:
            return (
                f"start probabilities must be at least 0 and sum to 1, but sum to "
                f"{alpha.sum():.12g} with the least {alpha.min():g}; jobs of size 0 are not "
                f"allowed, so give every job a phase to start in"
            )
        if matrix.shape != (alpha.size, alpha.size):
            return (
                f"the sub-generator has shape {matrix.shape}, but {alpha.size} start probabilities "
                f"need {alpha.size} rows and columns"
            )
        return self._rate_fault()

    def _rate_fault(self) -> str:
        diagonal, exits = self.T.diagonal(), self.exits
        for i in np.flatnonzero(diagonal >= 0.0):
            return (
                f"T[{i}][{i}]={diagonal[i]:g} must be below 0: it is minus the rate at which phase "
                f"{i} is left"
            )
        for i, j in np.argwhere((self.T < 0.0) & ~np.eye(exits.size, dtype=np.bool_)):
            return (
                f"T[{i}][{j}]={self.T[i, j]:g} must be at least 0: it is the rate of moving from "
                f"phase {i} to phase {j}"
            )
        for i in np.flatnonzero(exits < 0.0):
            return (
                f"row {i} of the sub-generator sums to {-exits[i]:g}, but a phase cannot be "
                f"entered faster than it is left; lower T[{i}][{i}] to at most "
                f"{diagonal[i] + exits[i]:g}"
            )
        for i in np.flatnonzero(~_can_reach(self.T > 0.0, exits > 0.0)):
            return (
                f"a job in phase {i} never ends, so the sub-generator has no inverse; give a row "
                f"that phase {i} can reach a sum below 0"
            )
        return ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PhaseRepresentation):
            return NotImplemented
        return np.array_equal(self.alpha, other.alpha) and np.array_equal(self.T, other.T)

    def __hash__(self) -> int:
        return hash((self.alpha.tobytes(), self.T.tobytes()))


def _series(rows: Floats, matrix: Floats, times: Floats) -> Floats:
    """Return rows exp(matrix t) for a non-negative matrix and t <= 1."""
    total, power = rows.copy(), rows
    for term in range(1, TERMS + 1):
        power = (power @ matrix) * (times / term)
        total += power
    return total


def _numbers(values: object, what: str) -> Floats:
    rule = f"phase-type distribution: the {what} must be numbers, in rows of equal length"
    array = as_array(values, SizeLawError(rule))
    array += 0.0  # -0.0 would compare equal and hash differently
    if not np.isfinite(array).all():
        raise SizeLawError(
            f"phase-type distribution: the {what} must be finite, got {array.tolist()}"
        )
    return array


def _can_reach(onward: Mask, goal: Mask) -> Mask:
    """Return which phases can reach a phase of `goal`."""
    newest = goal
    while newest.any():  # visits every column once, since chains may have thousands of phases
        newest = onward[:, newest].any(axis=1) & ~goal
        goal = goal | newest
    return goal
