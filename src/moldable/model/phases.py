"""Jobs of several phases.

A job that spends the share c_k of its one-server time in phase k, with speed-up s_k(w), and keeps
its width w takes sum_k c_k / s_k(w) of that time. Its speed-up is the weighted harmonic mean of the
speed-ups of the phases, at the widths that all phases have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SpeedUpError, shortened

ROUNDING: Final = 1e-6
"""Largest difference from 1 of the sum of shares, as of 0.333333 + 0.666667."""


def harmonic_mean(
    shares: Sequence[float], widths: Sequence[Ints], speedups: Sequence[Floats]
) -> tuple[Ints, Floats]:
    """Return the widths common to all phases, and the speed-up of the whole job at each."""
    total = math.fsum(shares)
    if abs(total - 1.0) > ROUNDING:
        raise SpeedUpError(
            f"the shares of the phases, {shortened(f'{share:g}' for share in shares)}, add up to "
            f"{total:g} instead of 1; give the share of the one-server time spent in each"
        )
    common = reduce(np.intersect1d, widths)
    if not common.size:
        raise SpeedUpError(
            "the phases have no width in common; a job keeps its width, so all phases need it: "
            "give every phase at least one common width"
        )
    time = np.zeros(common.size)
    for share, own, faster in zip(shares, widths, speedups, strict=True):
        time += share / total / faster[np.searchsorted(own, common)]
    result = 1.0 / time
    if common[0] == 1:
        result[0] = 1.0  # exact, but for rounding
    return common, result
