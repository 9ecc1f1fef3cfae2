"""How kernels draw from size distributions.

Some are drawn by their formula, measured sizes from their list, and those with a known tail and
density from tables of quantiles. Phase-type distributions without an accurate table are simulated
phase by phase. All others are drawn in Python.
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
from moldable.simulation.quantiles import Inverse, Smooth, grid_table, piece_table

NOTHING: Floats = np.zeros(0)
FEW: Final = 2.0
"""Mean number of phases up to which simulating them is faster than searching a table of pieces."""
MANY: Final = 1000.0
"""Mean number of phases above which sizes are drawn in Python, where Ctrl-C interrupts a draw."""


class Sampler(NamedTuple):
    """A distribution as the last arguments of the kernel's `draw_sizes`."""

    code: int
    location: float = 0.0
    scale: float = 0.0
    numbers: Floats = NOTHING

    @property
    def compiled(self) -> bool:
        """Whether a kernel can draw from it."""
        from moldable.kernels.bucket_ring import IN_PYTHON

        return self.code != IN_PYTHON


def sampler(law: SizeLaw) -> Sampler:  # noqa: PLR0911 - one for each distribution
    """Return how a kernel draws from the distribution."""
    from moldable.kernels import bucket_ring as kernel

    match law:
        case Exponential():
            return Sampler(kernel.EXPONENTIAL)
        case Deterministic():
            return Sampler(kernel.DETERMINISTIC)
        case Lognormal():
            return Sampler(kernel.LOGNORMAL, -0.5 * law.sigma**2, law.sigma)
        case Pareto():
            return Sampler(kernel.PARETO, math.log1p(-1.0 / law.shape), 1.0 / law.shape)
        case Weibull():
            return Sampler(kernel.WEIBULL, 1.0 / law.shape, law.scale)
        case Empirical():
            return Sampler(kernel.LISTED, numbers=law.sizes)
        case FromScipy() | MixedErlang():
            return _tabulated(law) or Sampler(kernel.IN_PYTHON)
    if law.phases is None:
        return Sampler(kernel.IN_PYTHON)
    steps = float(law.phases.mean * law.phases.residual_start @ -law.phases.T.diagonal())
    table = _tabulated(law.phases, in_pieces=steps > FEW)
    return table or (_in_phases(law.phases) if steps <= MANY else Sampler(kernel.IN_PYTHON))


def sampler_arrays(samplers: list[Sampler]) -> tuple[Ints, Floats, Floats, Ints, Floats]:
    """Return the last arguments of the kernel's `draw_by_class`."""
    codes, locations, scales, numbers = zip(*samplers, strict=True)
    starts = np.cumsum([0, *(part.size for part in numbers)])
    return np.array(codes), np.array(locations), np.array(scales), starts, np.concatenate(numbers)


@lru_cache(maxsize=64)
def _tabulated(law: Smooth, *, in_pieces: bool = True) -> Sampler | None:
    from moldable.kernels.bucket_ring import GRID, PIECES

    inverse = Inverse.of(law)
    table = grid_table(inverse)
    if table is not None:
        return Sampler(GRID, numbers=table)
    pieces = piece_table(inverse) if in_pieces else None
    return None if pieces is None else Sampler(PIECES, numbers=pieces)


def _in_phases(phases: PhaseRepresentation) -> Sampler:
    from moldable.kernels.bucket_ring import PHASES

    leave = -phases.T.diagonal()
    jumps = np.cumsum(phases.T + np.diag(leave), axis=1) / leave[:, None]
    numbers = np.concatenate((np.cumsum(phases.alpha), 1.0 / leave, jumps.ravel()))
    return Sampler(PHASES, numbers=numbers)
