"""What do the granted widths say about execution times?

Widths are granted without looking at sizes, so the law of the execution time is the mixture, over
the granted widths, of the size law at that speed. That holds for counted and for exact shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from moldable.hull import Floats, Mask
from moldable.system import System

LEVELS: Final = (0.5, 0.9, 0.99)


def by_width(system: System, values: Floats, kinds: Mask | None = None) -> Mapping[int, float]:
    """Sum values of the chosen kinds that have the same width."""
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
    """Return quantiles of the execution time of accepted jobs, from how many got each kind."""
    if granted.sum() <= 0.0:
        return dict.fromkeys(LEVELS, math.nan)
    shares = granted / granted.sum()
    laws = [system.workload.classes[j].size for j in system.kind_class]

    def below(time: float) -> float:
        parts = (
            share * float(law.cdf(np.array([time / scale]))[0])
            for share, scale, law in zip(shares, system.kind_scale, laws, strict=True)
            if share > 0.0
        )
        return math.fsum(parts)

    return {level: _invert(below, level) for level in LEVELS}


def _invert(below: Callable[[float], float], level: float) -> float:
    low, high = 0.0, 1.0
    while below(high) < level:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) < level else (low, middle)
    return high
