"""How is a law of sizes made of exponential phases?

A job starts in a phase drawn from `alpha`, moves between phases at the rates of `T` and is done
when it leaves them all: Neuts's phase-type laws, in his letters, on which exact chains are built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats, Mask
from moldable.errors import SizeLawError

# Row sums and probabilities this close to their bounds are rounding, not intent.
ROUNDING: Final = 1e-12
# exp(Tx) is summed directly where x times the fastest rate is below 1; 20 terms leave 1/20!.
TERMS: Final = 20
# Probabilities of phases held at once.
BLOCK: Final = 2_000_000
# Ages, in units of the fastest phase, beyond which floating point cannot follow the law.
FURTHEST: Final = 2.0**62

Matrix = Sequence[Sequence[float]] | Floats


@final
@dataclass(frozen=True, init=False, eq=False, slots=True)
class PhaseRepresentation:
    """A phase-type law: P(X > x) = alpha exp(T x) 1.

    Args:
        alpha: probabilities of starting in each phase.
        subgenerator: the matrix T: rates between phases, with minus the total rate of leaving each
            phase on the diagonal.

    Attributes:
        alpha: as given, read-only.
        T: as given, read-only.
    """

    alpha: Floats
    T: Floats

    def __init__(self, alpha: Sequence[float] | Floats, subgenerator: Matrix) -> None:
        alpha = _numbers(alpha, "start probabilities")
        matrix = _numbers(subgenerator, "sub-generator")
        _refuse_bad_start(alpha)
        _refuse_bad_matrix(alpha, matrix)
        alpha.flags.writeable = matrix.flags.writeable = False
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "T", matrix)

    @property
    def exits(self) -> Floats:
        """Rates at which each phase is the last."""
        return exit_rates(self.T)

    @property
    def mean(self) -> float:
        """The mean size: the total time expected in all phases."""
        return float(self._occupation(self.alpha).sum())

    @property
    def variance(self) -> float:
        """The variance of the size."""
        occupation = self._occupation(self.alpha)
        return float(2.0 * self._occupation(occupation).sum() - occupation.sum() ** 2)

    @property
    def residual_start(self) -> Floats:
        """Probabilities of the phases met at a random moment of service.

        Starting in them, the same phases give the residual size.
        """
        occupation = self._occupation(self.alpha)
        return np.asarray(occupation / occupation.sum(), dtype=np.float64)

    def scaled(self, factor: float) -> PhaseRepresentation:
        """Return the law of sizes that are `factor` times as long."""
        return PhaseRepresentation(self.alpha, self.T / factor)

    def survival(self, x: ArrayLike) -> Floats:
        """Return P(X > x), elementwise.

        Every number met on the way is non-negative, so nothing cancels: the relative error is about
        x times the fastest rate in units of the last place, in the far tail too.
        """
        return np.minimum(self._after(x, np.ones(self.alpha.size)), 1.0)

    def density(self, x: ArrayLike) -> Floats:
        """Return the density at x, elementwise, to the last places of the fastest rate."""
        return self._after(x, self.exits)

    def _after(self, x: ArrayLike, weights: Floats) -> Floats:
        """Return the weighted sum of the probabilities of the phases at age x, elementwise."""
        ages = np.asarray(x, dtype=np.float64)
        flat = np.maximum(ages.ravel(), 0.0)
        block = max(1, BLOCK // self.alpha.size)
        parts = [self._at(flat[at : at + block]) @ weights for at in range(0, flat.size, block)]
        return np.concatenate([np.empty(0), *parts]).reshape(ages.shape)

    def _at(self, ages: Floats) -> Floats:
        """Return alpha exp(T x), the probabilities of the phases at each age x, row by row."""
        fastest = float(-self.T.diagonal().min())
        # exp(Tx) = exp(-qx) exp(Px) with P = T + qI >= 0; in units of 1/q, the whole part of x is
        # a product of powers exp(T 2^m), the fraction is summed directly.
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PhaseRepresentation):
            return NotImplemented
        return np.array_equal(self.alpha, other.alpha) and np.array_equal(self.T, other.T)

    def __hash__(self) -> int:
        return hash((self.alpha.tobytes(), self.T.tobytes()))


def _series(rows: Floats, matrix: Floats, times: Floats) -> Floats:
    """Return rows exp(matrix t), where the entries of the matrix are non-negative and t <= 1."""
    total, power = rows.copy(), rows
    for term in range(1, TERMS + 1):
        power = (power @ matrix) * (times / term)
        total += power
    return total


def exit_rates(subgenerator: Floats) -> Floats:
    """Return minus the row sums, with sums that are zero but for rounding made zero."""
    exits = -subgenerator.sum(axis=1)
    rounding = np.abs(exits) <= ROUNDING * np.abs(subgenerator.diagonal())
    return np.where(rounding, 0.0, exits)


def _numbers(values: object, what: str) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SizeLawError(
            f"phase-type law: the {what} must be numbers, in rows of equal length"
        ) from None
    array += 0.0  # -0.0 would compare equal and hash differently
    if not np.isfinite(array).all():
        raise SizeLawError(f"phase-type law: the {what} must be finite, got {array.tolist()}")
    return array


def _refuse_bad_start(alpha: Floats) -> None:
    if alpha.ndim != 1 or alpha.size == 0:
        raise SizeLawError("phase-type law: give one start probability for each phase, in a list")
    if alpha.min() < 0.0 or abs(alpha.sum() - 1.0) > ROUNDING * alpha.size:
        raise SizeLawError(
            f"phase-type law: start probabilities must be at least 0 and sum to 1, but sum to "
            f"{alpha.sum():.12g} with the least {alpha.min():g}; jobs of size 0 are not allowed, "
            f"so give every job a phase to start in"
        )


def _refuse_bad_matrix(alpha: Floats, matrix: Floats) -> None:
    if matrix.shape != (alpha.size, alpha.size):
        raise SizeLawError(
            f"phase-type law: the sub-generator has shape {matrix.shape}, but {alpha.size} start "
            f"probabilities need {alpha.size} rows and columns"
        )
    diagonal = matrix.diagonal()
    for i in np.flatnonzero(diagonal >= 0.0):
        raise SizeLawError(
            f"phase-type law: T[{i}][{i}]={diagonal[i]:g} must be below 0: it is minus the rate "
            f"at which phase {i} is left"
        )
    for i, j in np.argwhere((matrix < 0.0) & ~np.eye(alpha.size, dtype=np.bool_)):
        raise SizeLawError(
            f"phase-type law: T[{i}][{j}]={matrix[i, j]:g} must be at least 0: it is the rate of "
            f"moving from phase {i} to phase {j}"
        )
    exits = exit_rates(matrix)
    for i in np.flatnonzero(exits < 0.0):
        raise SizeLawError(
            f"phase-type law: row {i} of the sub-generator sums to {-exits[i]:g}, but a phase "
            f"cannot be entered faster than it is left; lower T[{i}][{i}] to at most "
            f"{diagonal[i] + exits[i]:g}"
        )
    for i in np.flatnonzero(~_ends(matrix, exits > 0.0)):
        raise SizeLawError(
            f"phase-type law: a job in phase {i} never ends, so the sub-generator has no inverse; "
            f"give a row that phase {i} can reach a sum below 0"
        )


def _ends(matrix: Floats, ending: Mask) -> Mask:
    """Return which phases can reach an exit, given those that have one."""
    onward, newest = matrix > 0.0, ending
    while newest.any():  # every column is looked at once: long chains have thousands of phases
        newest = onward[:, newest].any(axis=1) & ~ending
        ending = ending | newest
    return ending
