"""Measurements of known curves, with relative noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moldable.fitting import Measurements
from moldable.model.speedup import SpeedUp

SHAPES = ("amdahl", "usl", "power", "downey", "dips")
WIDTHS = ((1, 2, 4, 8, 16), (1, 2, 3, 4, 6, 8, 12, 16), tuple(range(1, 11)), (2, 4, 8, 16, 32))


@dataclass(frozen=True)
class Case:
    """True speed-ups over the narrowest width, and measurements of them."""

    truth: np.ndarray
    measured: Measurements


def random_curve(rng: np.random.Generator) -> SpeedUp:
    """Draw a curve of one of the shapes, for widths 1 to 32."""
    shape = rng.choice(SHAPES)
    if shape == "amdahl":
        return SpeedUp.amdahl(rng.uniform(0.7, 1.0), 32)
    if shape == "usl":
        return SpeedUp.usl(rng.uniform(0.0, 0.1), rng.uniform(0.0, 0.005), 32)
    if shape == "power":
        return SpeedUp.power_law(rng.uniform(0.5, 1.1), 32)
    if shape == "downey":
        return SpeedUp.downey(rng.uniform(2.0, 40.0), rng.uniform(0.0, 2.0), 32)
    speedups = np.arange(1.0, 33.0) ** 0.9 * rng.uniform(0.7, 1.0, 32)
    return SpeedUp(speedups / speedups[0])


def random_case(
    rng: np.random.Generator, repeats: int, law: str = "normal", *, common: bool = True
) -> Case:
    """Measure a random curve with 1 to 5 % noise, the same at all widths or different.

    Args:
        rng: the random generator.
        repeats: how often each width is measured.
        law: "normal" or "lognormal" noise.
        common: whether the noise is the same at all widths.
    """
    curve = random_curve(rng)
    widths = np.array(WIDTHS[rng.integers(len(WIDTHS))])
    truth = np.array([curve[int(width)] for width in widths])
    noise = rng.uniform(0.01, 0.05, 1 if common else widths.size)
    draws = noise * rng.standard_normal((repeats, widths.size))
    factor = 1.0 + draws if law == "normal" else np.exp(draws)
    times = rng.uniform(1.0, 1000.0) / truth * factor
    pairs = [(int(w), float(t)) for run in times for w, t in zip(widths, run, strict=True)]
    return Case(truth / truth[0] * widths[0], Measurements(pairs))
