"""How does a kernel draw the sizes of a law by itself?

Some laws by their formula, measured sizes from their list, and those whose tail and density are
known by looking quantiles up. Phase-type laws for which no table is good enough are walked through
phase by phase.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.model.sizes import (
    Deterministic,
    Empirical,
    Exponential,
    FromScipy,
    Lognormal,
    MixedErlang,
    Pareto,
    PhaseRepresentation,
    SizeLaw,
    Weibull,
)
from moldable.simulation.inversion import Inverse, Smooth
from moldable.simulation.quantile_pieces import quantile_pieces
from moldable.simulation.quantile_table import quantile_table

NOTHING: Floats = np.zeros(0)
FEW: Final = 2.0
"""Phases that are walked through faster than a piece of quantiles is found."""
MANY: Final = 1000.0
"""Phases beyond which a job is drawn in Python, where an interruption is heard on the way."""


class DrawnLaw(NamedTuple):
    """A law as the numbers a kernel draws it from, in the order of its arguments."""

    law: int
    location: float = 0.0
    scale: float = 0.0
    numbers: Floats = NOTHING

    @property
    def known(self) -> bool:
        """Can a kernel draw it?"""
        from moldable.kernels.bucket_ring import ELSEWHERE

        return self.law != ELSEWHERE


def drawn_law(law: SizeLaw) -> DrawnLaw:  # noqa: PLR0911 - one for each law
    """Return how a kernel draws the law, or that it cannot."""
    from moldable.kernels import bucket_ring as kernel

    match law:
        case Exponential():
            return DrawnLaw(kernel.EXPONENTIAL)
        case Deterministic():
            return DrawnLaw(kernel.DETERMINISTIC)
        case Lognormal():
            return DrawnLaw(kernel.LOGNORMAL, -0.5 * law.sigma**2, law.sigma)
        case Pareto():
            return DrawnLaw(kernel.PARETO, math.log1p(-1.0 / law.shape), 1.0 / law.shape)
        case Weibull():
            return DrawnLaw(kernel.WEIBULL, 1.0 / law.shape, law.scale)
        case Empirical():
            return DrawnLaw(kernel.LISTED, numbers=law.sizes)
        case FromScipy() | MixedErlang():
            return _looked_up(law) or DrawnLaw(kernel.ELSEWHERE)
    if law.phases is None:
        return DrawnLaw(kernel.ELSEWHERE)
    steps = _steps(law.phases)
    looked_up = _looked_up(law.phases, in_pieces=steps > FEW)
    return looked_up or (_walked(law.phases) if steps <= MANY else DrawnLaw(kernel.ELSEWHERE))


def drawn_laws(laws: list[SizeLaw]) -> tuple[Ints, Floats, Floats, Ints, Floats]:
    """Return the arguments that describe the laws of all classes."""
    drawn = [drawn_law(law) for law in laws]
    return (
        np.array([one.law for one in drawn]),
        np.array([one.location for one in drawn]),
        np.array([one.scale for one in drawn]),
        np.cumsum([0, *(one.numbers.size for one in drawn)]),
        np.concatenate([one.numbers for one in drawn]),
    )


@lru_cache(maxsize=64)
def _looked_up(law: Smooth, *, in_pieces: bool = True) -> DrawnLaw | None:
    from moldable.kernels.bucket_ring import PIECES, QUANTILES

    inverse = Inverse.of(law)
    table = quantile_table(inverse)
    if table is not None:
        return DrawnLaw(QUANTILES, numbers=table)
    pieces = quantile_pieces(inverse) if in_pieces else None
    return None if pieces is None else DrawnLaw(PIECES, numbers=pieces)


def _steps(phases: PhaseRepresentation) -> float:
    """Return how many phases a job is expected to go through."""
    return float(phases.mean * phases.residual_start @ -phases.T.diagonal())


def _walked(phases: PhaseRepresentation) -> DrawnLaw:
    from moldable.kernels.bucket_ring import PHASES

    leave = -phases.T.diagonal()
    jumps = np.cumsum(phases.T + np.diag(leave), axis=1) / leave[:, None]
    numbers = np.concatenate((np.cumsum(phases.alpha), 1.0 / leave, jumps.ravel()))
    return DrawnLaw(PHASES, numbers=numbers)
