"""How does a kernel draw the times of arrivals by itself?

Poisson arrivals and renewals by the law of their gaps; modulated ones by exponential gaps that are
stretched as the levels go into which they fall.
"""

from __future__ import annotations

import numpy as np

from moldable.arrivals import Arrivals, MarkovModulated, Poisson, Renewal
from moldable.hull import Floats
from moldable.simulation.drawn_laws import NOTHING, DrawnLaw, drawn_law
from moldable.sizes import Exponential

DrawnArrivals = tuple[Floats, float, tuple[object, ...], tuple[Floats, Floats, Floats]]
ONE_LEVEL = (NOTHING, NOTHING, np.zeros((0, 0)))


def drawn_arrivals(
    arrivals: Arrivals, rate: float, rng: np.random.Generator, scale: float
) -> DrawnArrivals | None:
    """Begin a realisation in equilibrium, or return None if a kernel cannot draw it.

    Args:
        arrivals: the process.
        rate: its mean rate.
        rng: for what has to be known before the first arrival.
        scale: by which times are multiplied.

    Returns:
        the last arguments of the kernel's `draw_times`. The first of them is the realisation's own:
        the kernel keeps there what it must know to go on.
    """
    law, levels = drawn_law(Exponential()), ONE_LEVEL
    first, level, left = -1.0, 0, 0.0
    match arrivals:
        case Poisson():
            pass
        case Renewal():
            law = drawn_law(arrivals.gap)
            if not law.known:
                return None
            first = float(arrivals.gap.sample_residual(rng, 1)[0])
        case MarkovModulated():
            levels = _levels(arrivals, rate, scale)
            level = arrivals.first_level(rng)
            left = levels[1][level] * rng.standard_exponential()
        case _:
            return None
    return np.array([0.0, first, level, left]), scale / rate, _own(law), levels


def _own(law: DrawnLaw) -> tuple[object, ...]:
    """Copy the numbers, for read-only ones would be another type to the kernel."""
    return (law.law, law.location, law.scale, law.numbers.copy())


def _levels(arrivals: MarkovModulated, rate: float, scale: float) -> tuple[Floats, Floats, Floats]:
    """Return mean gaps and stays in each level, and cumulative probabilities of jumps."""
    leaving = arrivals.leaving()
    total = leaving.sum(axis=1)
    with np.errstate(divide="ignore"):  # gaps are infinite in a level without arrivals
        gaps = scale / arrivals.rates(rate)
    return gaps, scale / total, np.cumsum(leaving, axis=1) / total[:, None]
