"""How does a kernel draw the times of arrivals by itself?

Poisson arrivals and renewals by the law of their gaps; modulated ones by exponential gaps that are
stretched as the levels go into which they fall.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import SimulationError
from moldable.model.arrivals import Arrivals, MarkovModulated, Poisson, Renewal
from moldable.model.sizes import Exponential
from moldable.simulation.drawn_laws import NOTHING, DrawnLaw, drawn_law

DrawnArrivals = tuple[Floats, float, tuple[object, ...], tuple[Floats, Floats, Floats]]
MOST_CHANGES: Final = 1000.0
"""Changes of level between two arrivals that are followed: more would take minutes for a block of
arrivals, in which no interruption is heard."""
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
            first = arrivals.first_gap(rng)
        case MarkovModulated():
            _refuse_fast(arrivals, rate)
            levels = _levels(arrivals, rate, scale)
            level = arrivals.first_level(rng)
            left = levels[1][level] * rng.standard_exponential()
        case _:
            return None
    return np.array([0.0, first, level, left]), scale / rate, _own(law), levels


def _refuse_fast(arrivals: MarkovModulated, rate: float) -> None:
    changes = arrivals.changes(rate)
    if not changes <= MOST_CHANGES:
        raise SimulationError(
            f"the level of the arrivals changes up to {changes:.3g} times between two arrivals, "
            f"more than the {MOST_CHANGES:g} that are followed; replace levels that alternate "
            f"faster than jobs arrive by one level of their mean rate"
        )


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
