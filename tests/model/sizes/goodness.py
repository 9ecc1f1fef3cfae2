"""The Kolmogorov-Smirnov distance of a sample from a distribution, times sqrt(n)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DRAWS = 1_000_000
CRITICAL = 2.0
"""The true law exceeds this once in 1,500 samples; a scale 1 % wrong must exceed it at DRAWS."""


def distance(sample: Floats, cdf: Callable[[Floats], Floats], points: int = 2000) -> float:
    """Return sqrt(n) sup |F_n - F| over points of the sample and their left limits."""
    ordered = np.sort(sample)
    right = ordered[:: max(1, ordered.size // points)]
    left = np.nextafter(right, 0.0)  # what a jump of F hides at the point itself
    empirical = [np.searchsorted(ordered, at, side="right") / ordered.size for at in (left, right)]
    gaps = [np.abs(f - cdf(at)).max() for f, at in zip(empirical, (left, right), strict=True)]
    return float(np.sqrt(ordered.size) * max(gaps))
