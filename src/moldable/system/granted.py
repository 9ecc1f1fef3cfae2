"""Execution times from the granted widths.

Widths are granted whatever the size, so the distribution of the execution time is a mixture, over
the granted widths, of the size distribution at that speed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.model.sizes.numerical import invert
from moldable.system.loss_system import System

LEVELS: Final = (0.5, 0.9, 0.99)


def by_width(system: System, values: Floats, kinds: Mask | None = None) -> Mapping[int, float]:
    """Sum values over the chosen kinds of equal width."""
    chosen = slice(None) if kinds is None else kinds
    sums: dict[int, float] = {}
    pairs = zip(system.kind_width[chosen].tolist(), values[chosen].tolist(), strict=True)
    for width, value in sorted(pairs):
        sums[width] = sums.get(width, 0.0) + value
    return sums


def width_shares(system: System, granted: Floats, kinds: Mask | None = None) -> Mapping[int, float]:
    """Return the share of accepted jobs granted each width."""
    chosen = slice(None) if kinds is None else kinds
    total = float(granted[chosen].sum())
    return by_width(system, granted / total if total > 0.0 else np.zeros_like(granted), kinds)


def quantiles(system: System, granted: Floats) -> Mapping[float, float]:
    """Return quantiles of the execution time of accepted jobs, given the jobs of each kind."""
    if granted.sum() <= 0.0:
        return dict.fromkeys(LEVELS, math.nan)
    shares = granted / granted.sum()
    parts = [
        (job_class.size, system.kind_scale[kinds], shares[kinds])
        for j, job_class in enumerate(system.workload.classes)
        for kinds in [(system.kind_class == j) & (shares > 0.0)]
    ]

    def below(times: Floats) -> Floats:
        total = np.zeros(times.size)
        for law, scales, weights in parts:
            relative = (times[:, np.newaxis] / scales).ravel()
            total += law.cdf(relative).reshape(times.size, -1) @ weights
        return total

    return dict(zip(LEVELS, invert(below, np.array(LEVELS)).tolist(), strict=True))
