"""Downey's model of speed-up.

A. B. Downey, "A parallel workload model and its implications for processor allocation", HPDC 1997.
"""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats


def downey_speedup(
    width: Floats, average_parallelism: Floats | float, variance: Floats | float
) -> Floats:
    """Return the speed-up at each width, for average parallelism A and its variance sigma.

    One formula holds up to sigma = 1, another above; both are constant from some width on.
    Arguments may be arrays that broadcast.
    """
    i, a, sigma = width, average_parallelism, variance
    with np.errstate(all="ignore"):  # each formula overflows where the other one holds
        rising = a * i / (a + sigma * (i - 1.0) / 2.0)
        bending = a * i / (sigma * (a - 0.5) + i * (1.0 - sigma / 2.0))
        low = np.where(i <= a, rising, np.where(i <= 2.0 * a - 1.0, bending, a))
        steep = i * a * (sigma + 1.0) / (sigma * (i + a - 1.0) + a)
        high = np.where(i <= a + a * sigma - sigma, steep, a)
    return np.where(np.asarray(sigma) <= 1.0, low, high)
