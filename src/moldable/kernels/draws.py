"""How are the commonest arrivals and sizes drawn without holding Python's lock?

Threads that draw with numpy wait for one another at every call. One call here draws a whole block
of Poisson arrivals with their sizes, from numpy's own generators.
"""

from __future__ import annotations

import math

from numba import njit

EXPONENTIAL, DETERMINISTIC, LOGNORMAL, PARETO = 0, 1, 2, 3


@njit(nogil=True, cache=True)
def draw_block(rng, times, sizes, picks, now, gap, law, location, scale):
    """Fill the arrays and return the time of the last arrival.

    Args:
        rng: a numpy generator.
        times: to fill with arrival times after `now`.
        sizes: to fill with sizes.
        picks: to fill with uniform numbers, as far as it is long.
        now: time of the arrival before the first.
        gap: mean time between arrivals.
        law: one of the codes above.
        location: mean of a lognormal's logarithm, or logarithm of a Pareto's least value.
        scale: deviation of a lognormal's logarithm, or one over a Pareto's shape.
    """
    for i in range(times.size):
        now += gap * rng.standard_exponential()
        times[i] = now
    if law == DETERMINISTIC:
        sizes[:] = 1.0
    elif law == EXPONENTIAL:
        for i in range(sizes.size):
            sizes[i] = rng.standard_exponential()
    elif law == LOGNORMAL:
        for i in range(sizes.size):
            sizes[i] = math.exp(location + scale * rng.standard_normal())
    else:
        for i in range(sizes.size):
            sizes[i] = math.exp(location + scale * rng.standard_exponential())
    for i in range(picks.size):
        picks[i] = rng.random()
    return now
