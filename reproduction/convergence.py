"""Power laws in n, and confidence intervals of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]
CONFIDENCE = 0.95


@final
@dataclass(frozen=True)
class PowerLaw:
    """The least-squares line through points in log-log: factor * n**slope."""

    factor: float
    slope: float

    def at(self, n: Sequence[float] | Floats) -> Floats:
        """Return the values of the line."""
        return np.asarray(self.factor * np.asarray(n, dtype=np.float64) ** self.slope)


def power_law(n: Sequence[float], values: Sequence[float]) -> PowerLaw:
    """Fit a power law to at least two positive values."""
    slope, height = np.polyfit(np.log(n), np.log(values), 1)
    return PowerLaw(float(np.exp(height)), float(slope))


def mean_interval(samples: Sequence[float] | Floats) -> tuple[float, list[float]]:
    """Return the mean of independent samples, at least two, and its 95 % interval."""
    sample = np.asarray(samples, dtype=np.float64)
    mean = float(sample.mean())
    spread = float(sample.std(ddof=1)) / float(np.sqrt(sample.size))
    half = float(stdtrit(sample.size - 1, (1.0 + CONFIDENCE) / 2.0)) * spread
    return mean, [mean - half, mean + half]
