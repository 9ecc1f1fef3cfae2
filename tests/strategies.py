"""Random curves of every shape that machines produce."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from moldable import JobClass, SpeedUp

SHAPES = ("concave", "noisy", "dipping", "collinear", "super-linear", "anything", "linear")


@st.composite
def curves(draw, most: int = 200) -> SpeedUp:
    """Draw a curve: its shape, its length, its gaps, and whether width 1 is allowed."""
    shape = draw(st.sampled_from(SHAPES))
    d = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    speedups = _speedups(shape, d, rng)
    widths = np.arange(1, d + 1)
    if draw(st.booleans()):
        kept = rng.random(d) < rng.uniform(0.1, 1.0)
        kept[rng.integers(d)] = True
        widths, speedups = widths[kept], speedups[kept]
    return SpeedUp(dict(zip(widths.tolist(), speedups.tolist(), strict=True)))


def _speedups(shape: str, d: int, rng: np.random.Generator) -> np.ndarray:
    i = np.arange(1, d + 1)
    if shape == "linear":
        return i.astype(float)
    if shape == "super-linear":
        return i ** rng.uniform(1.0, 1.5)
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


@st.composite
def job_classes(draw, most_classes: int, most_widths: int) -> tuple[JobClass, ...]:
    """Draw classes with their rates, sizes and weights."""
    count = draw(st.integers(1, most_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weighted = draw(st.booleans())
    return tuple(
        JobClass(
            f"class {j}",
            arrival_rate=float(rng.uniform(0.1, 3)),
            speedup=draw(curves(most_widths)),
            mean_size=float(rng.uniform(0.2, 4)),
            weight=float(rng.uniform(0.1, 5)) if weighted else 1.0,
        )
        for j in range(count)
    )
