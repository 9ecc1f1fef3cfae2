"""Random speed-ups of every shape that occurs in measurements."""

from __future__ import annotations

import numpy as np

SHAPES = ("concave", "noisy", "dipping", "collinear", "super-linear", "anything", "linear")


def random_speedups(shape: str, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the speed-ups of widths 1..d."""
    i = np.arange(1, d + 1)
    if shape == "linear":
        return i.astype(float)
    if shape == "super-linear":  # up to a knee, then ever flatter
        knee = rng.integers(1, d + 1)
        rise, flat = rng.uniform(1.0, 1.5), rng.uniform(0.1, 1.0)
        return np.where(i <= knee, i**rise, knee**rise * (i / knee) ** flat)
    if shape == "anything":
        return np.concatenate(([1.0], rng.uniform(0.2, 1.5 * d, d - 1)))
    if shape == "collinear":  # a few slopes only: long runs of widths on one edge
        steps = rng.choice([0.25, 0.5, 0.75, 1.0], d - 1)
    else:
        steps = rng.uniform(0.001, 1, d - 1)
    smooth = np.concatenate(([1.0], 1 + np.cumsum(np.sort(steps)[::-1])))
    if shape == "noisy":
        smooth[1:] *= rng.normal(1, 0.02, d - 1).clip(0.9, 1.1)
    if shape == "dipping":
        smooth[1:] *= np.where(rng.random(d - 1) < 0.3, rng.uniform(0.3, 1, d - 1), 1.0)
    return smooth
