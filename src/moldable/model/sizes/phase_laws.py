"""Exponential, mixed Erlang, hyperexponential and general phase-type job sizes."""
# ruff: noqa: D102 - documented in SizeLaw

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats
from moldable.checks import LARGEST, as_list, number, within
from moldable.errors import SizeLawError
from moldable.model.sizes.law import SizeLaw, non_negative, spell
from moldable.model.sizes.phases import Matrix, PhaseRepresentation

# Up to this number of phases, adding exponentials is faster than numpy's gamma generator.
FEW: Final = 4
# Largest ratio of the mean size to the mean of the shortest phase: ages must stay distinct.
FASTEST: Final = 1e15
# Largest mean number of phases of a job, since sizes are drawn phase by phase.
MOST_VISITED: Final = 1e4
# Made once, because searches use it thousands of times.
ONE_PHASE: Final = PhaseRepresentation([1.0], [[-1.0]])


@final
@dataclass(frozen=True, slots=True)
class Exponential(SizeLaw):
    """Exponential sizes, the distribution of the paper.

    Examples:
        >>> round(float(Exponential().cdf(1.0)), 4)
        0.6321
    """

    name: ClassVar[str] = "exponential"

    @property
    def variance(self) -> float:
        return 1.0

    @property
    def phases(self) -> PhaseRepresentation:
        return ONE_PHASE

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return rng.standard_exponential(count)

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        return rng.standard_exponential(count)

    def cdf(self, x: ArrayLike) -> Floats:
        return -np.expm1(-non_negative(x))


@final
@dataclass(frozen=True, slots=True)
class MixedErlang(SizeLaw):
    """Sizes of a random number of exponential phases with a common rate.

    Args:
        probabilities: probabilities of 1, 2, ... phases; the paper uses 0.4 and 0.6.

    Examples:
        >>> str(MixedErlang((0.4, 0.6)))
        'mixed-erlang:0.4,0.6'
    """

    name: ClassVar[str] = "mixed-erlang"

    probabilities: tuple[float, ...] = (0.4, 0.6)

    def __post_init__(self) -> None:
        given = as_list(self.probabilities, "probabilities", SizeLawError, "[0.4, 0.6]")
        shares = tuple(
            number(share, "size law mixed-erlang: probability", SizeLawError) for share in given
        )
        # Written with "not" so that NaN is refused.
        if not (shares and min(shares) >= 0.0 and abs(math.fsum(shares) - 1.0) <= 1e-9):  # noqa: PLR2004
            raise SizeLawError(
                f"size law {spell(self.name, shares)}: give the probabilities of 1, 2, ... phases; "
                f"they must be at least 0 and sum to 1, but sum to {math.fsum(shares):g}"
            )
        while shares[-1] == 0.0:
            shares = shares[:-1]
        object.__setattr__(self, "probabilities", shares)

    @property
    def parameters(self) -> tuple[float, ...]:
        return self.probabilities

    @property
    def rate(self) -> float:
        """The rate of every phase that makes the mean 1: the mean number of phases."""
        return math.fsum(n * share for n, share in enumerate(self.probabilities, start=1))

    @property
    def variance(self) -> float:
        # A size of n phases has the second moment n (n + 1) / rate^2.
        second = math.fsum(
            n * (n + 1) * share for n, share in enumerate(self.probabilities, start=1)
        )
        return second / self.rate**2 - 1.0

    @property
    def phases(self) -> PhaseRepresentation:
        count = len(self.probabilities)
        # A job of n phases starts n places from the end.
        return PhaseRepresentation(
            np.array(self.probabilities[::-1]) / math.fsum(self.probabilities),
            self.rate * (np.eye(count, k=1) - np.eye(count)),
        )

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self._erlang(rng, count, np.array(self.probabilities))

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        # At a random time n phases are left with a probability proportional to P(N >= n).
        return self._erlang(rng, count, np.cumsum(self.probabilities[::-1])[::-1])

    def _erlang(self, rng: np.random.Generator, count: int, weights: Floats) -> Floats:
        levels = np.cumsum(weights)[:-1] / weights.sum()
        chosen = rng.random(count)
        if weights.size > FEW:
            shapes = 1.0 + np.searchsorted(levels, chosen, side="right")
            return rng.standard_gamma(shapes) / self.rate
        sizes = rng.standard_exponential(count)
        for level in levels:
            sizes += rng.standard_exponential(count) * (chosen >= level)
        return sizes / self.rate

    def cdf(self, x: ArrayLike) -> Floats:
        return 1.0 - self.survival(non_negative(x))

    def survival(self, x: Floats) -> Floats:
        """Return the probability of a size above x, elementwise."""
        more = np.cumsum(self.probabilities[::-1])[::-1]  # P(N > j)
        return np.minimum(self._poisson(x, more), 1.0)

    def density(self, x: Floats) -> Floats:
        """Return the density at x, elementwise."""
        return self.rate * self._poisson(x, np.array(self.probabilities))

    def _poisson(self, x: Floats, weights: Floats) -> Floats:
        """Return the mean of weights[N], where N is Poisson with mean rate * x."""
        time = self.rate * x
        total = np.zeros_like(time)
        with np.errstate(divide="ignore"):
            logarithm = np.log(time)
        for j in np.flatnonzero(weights).tolist():
            # In logarithms, because exp(-time) underflows for long Erlang chains.
            power = j * logarithm if j else 0.0
            total += weights[j] * np.exp(power - time - math.lgamma(j + 1))
        return total


@final
@dataclass(frozen=True, slots=True)
class Hyperexponential(SizeLaw):
    """A mixture of two exponential distributions that contribute the same amount of work.

    Args:
        cv: the coefficient of variation, at least 1.

    Examples:
        >>> round(Hyperexponential(2).variance, 4)
        4.0
    """

    name: ClassVar[str] = "hyperexponential"

    cv: float

    def __post_init__(self) -> None:
        name, hint = "size law hyperexponential: cv", "take at least 1, or another law such as"
        cv = within(self.cv, name, SizeLawError, 1.0, LARGEST, f"{hint} lognormal:0.5")
        object.__setattr__(self, "cv", cv)

    @property
    def variance(self) -> float:
        return self.cv * self.cv

    @property
    def shares(self) -> tuple[float, float]:
        """Probabilities of the short and the long component; the rates are twice these."""
        square = self.cv * self.cv
        root = math.sqrt((square - 1.0) / (square + 1.0))
        # (1 - root) / 2 would cancel.
        return (1.0 + root) / 2.0, 1.0 / ((square + 1.0) * (1.0 + root))

    @property
    def phases(self) -> PhaseRepresentation:
        shares = np.array(self.shares)
        return PhaseRepresentation(shares, np.diag(-2.0 * shares))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self._mixture(rng, count, self.shares[0])

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        return self._mixture(rng, count, 0.5)  # equal amounts of work

    def _mixture(self, rng: np.random.Generator, count: int, first: float) -> Floats:
        short, long = self.shares
        sizes = rng.standard_exponential(count)
        return sizes * np.where(rng.random(count) < first, 0.5 / short, 0.5 / long)

    def cdf(self, x: ArrayLike) -> Floats:
        time = non_negative(x)
        short, long = self.shares
        return -short * np.expm1(-2.0 * short * time) - long * np.expm1(-2.0 * long * time)


@final
@dataclass(frozen=True, init=False, slots=True)
class PhaseType(SizeLaw):
    """A general phase-type distribution, rescaled to mean 1.

    Args:
        alpha: initial probabilities of the phases.
        subgenerator: the matrix T: rates between phases, and on the diagonal minus the total rate
            of leaving each phase.

    Attributes:
        phases: the distribution after rescaling.

    Examples:
        >>> round(PhaseType([1, 0], [[-2, 2], [0, -2]]).variance, 4)
        0.5
    """

    name: ClassVar[str] = "phase-type"

    phases: PhaseRepresentation

    def __init__(self, alpha: Sequence[float] | Floats, subgenerator: Matrix) -> None:
        given = PhaseRepresentation(alpha, subgenerator)
        fastest = given.mean * float(-given.T.diagonal().min())
        if not fastest <= FASTEST:
            raise SizeLawError(
                f"phase-type distribution: the shortest phase lasts {1.0 / fastest:.2g} of the "
                f"mean size, less than {1.0 / FASTEST:g}, which floating point cannot resolve; "
                f"leave it out"
            )
        visited = given.mean * float(given.residual_start @ -given.T.diagonal())
        if not visited <= MOST_VISITED:
            raise SizeLawError(
                f"phase-type distribution: a job goes through {visited:.2g} phases on average, "
                f"more than {MOST_VISITED:g}, which takes too long to draw; replace phases that "
                f"alternate that fast by one"
            )
        rescaled = PhaseRepresentation(given.alpha, given.T / (1.0 / given.mean))
        object.__setattr__(self, "phases", rescaled)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (*self.phases.alpha.tolist(), *self.phases.T.ravel().tolist())

    @property
    def variance(self) -> float:
        return self.phases.variance

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        return self._walk(rng, count, self.phases.alpha)

    def sample_residual(self, rng: np.random.Generator, count: int) -> Floats:
        return self._walk(rng, count, self.phases.residual_start)

    def _walk(self, rng: np.random.Generator, count: int, start: Floats) -> Floats:
        """Simulate the phases of all jobs together until the last job has ended."""
        done = start.size
        stay = -1.0 / self.phases.T.diagonal()
        onward = np.maximum(self.phases.T, 0.0)
        moves = np.column_stack((onward, self.phases.exits)) * stay[:, None]
        # One row for each phase and one for the start, with the cumulative probabilities of row i
        # shifted to [i, i + 1]: one search draws the next phase of all jobs.
        rows = np.vstack((moves, np.append(start, 0.0)))
        levels = np.cumsum(rows, axis=1) / rows.sum(axis=1, keepdims=True)
        table = (levels + np.arange(done + 1)[:, None]).ravel()
        last = np.array([np.flatnonzero(row)[-1] for row in rows])

        sizes = np.zeros(count)
        jobs, at = np.arange(count), np.full(count, done)
        while jobs.size:
            found = np.searchsorted(table, at + rng.random(jobs.size), side="right")
            # at + U may round up to the end of the row.
            to = np.minimum(found - at * (done + 1), last[at])
            jobs, at = jobs[to < done], to[to < done]
            sizes[jobs] += rng.standard_exponential(jobs.size) * stay[at]
        return sizes

    def cdf(self, x: ArrayLike) -> Floats:
        return 1.0 - self.phases.survival(x)

    def __str__(self) -> str:
        return f"phase-type law of {self.phases.alpha.size} phases"
