"""How does a kernel draw the sizes of a law by itself?

Some laws by their formula, measured sizes from their list, and those whose tail and density are
known by looking quantiles up. Phase-type laws for which no table is good enough are walked through
phase by phase.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from moldable.hull import Floats
from moldable.simulation.quantile_table import Smooth, quantile_table
from moldable.sizes import (
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

NOTHING: Floats = np.zeros(0)


class DrawnLaw(NamedTuple):
    """A law as the numbers a kernel draws it from, in the order of its arguments."""

    law: int
    location: float = 0.0
    scale: float = 0.0
    numbers: Floats = NOTHING


def drawn_law(law: SizeLaw) -> DrawnLaw | None:  # noqa: PLR0911 - one for each law
    """Return how a kernel draws the law, or None if it cannot."""
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
            return _looked_up(law)
    return None if law.phases is None else _looked_up(law.phases) or _walked(law.phases)


def drawn_laws(laws: list[SizeLaw]) -> tuple[object, ...] | None:
    """Return the arguments that describe the laws of all classes, a single one if they are equal.

    None if a kernel cannot draw some of them.
    """
    if all(law == laws[0] for law in laws):
        laws = laws[:1]
    known = [drawn for drawn in map(drawn_law, laws) if drawn is not None]
    if len(known) < len(laws):
        return None
    return (
        np.array([drawn.law for drawn in known]),
        np.array([drawn.location for drawn in known]),
        np.array([drawn.scale for drawn in known]),
        np.cumsum([0, *(drawn.numbers.size for drawn in known)]),
        np.concatenate([drawn.numbers for drawn in known]),
    )


def draw_sizes(law: SizeLaw, rng: np.random.Generator, count: int) -> Floats:
    """Draw sizes, in a kernel if it can."""
    from moldable.kernels import bucket_ring as kernel

    drawn = drawn_law(law)
    if drawn is None:
        return law.sample(rng, count)
    sizes = np.empty(count)
    kernel.draw_sizes(rng, sizes, *drawn)
    return sizes


@lru_cache(maxsize=64)
def _looked_up(law: Smooth) -> DrawnLaw | None:
    from moldable.kernels.bucket_ring import QUANTILES

    table = quantile_table(law)
    return None if table is None else DrawnLaw(QUANTILES, numbers=table)


def _walked(phases: PhaseRepresentation) -> DrawnLaw:
    from moldable.kernels.bucket_ring import PHASES

    leave = -phases.T.diagonal()
    jumps = np.cumsum(phases.T + np.diag(leave), axis=1) / leave[:, None]
    numbers = np.concatenate((np.cumsum(phases.alpha), 1.0 / leave, jumps.ravel()))
    return DrawnLaw(PHASES, numbers=numbers)
