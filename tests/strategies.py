"""Random curves of every shape that occurs in measurements."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from moldable import JobClass, SpeedUp
from naive.random_curves import SHAPES, random_speedups


@st.composite
def curves(draw, most: int = 200) -> SpeedUp:
    """Draw a curve: its shape, its length, its gaps, and whether width 1 is allowed."""
    shape = draw(st.sampled_from(SHAPES))
    d = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    speedups = random_speedups(shape, d, rng)
    widths = np.arange(1, d + 1)
    if draw(st.booleans()):
        kept = rng.random(d) < rng.uniform(0.1, 1.0)
        kept[rng.integers(d)] = True
        widths, speedups = widths[kept], speedups[kept]
    return SpeedUp(dict(zip(widths.tolist(), speedups.tolist(), strict=True)))


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
