"""Downey's model fitted to run times.

Up to about the average parallelism A, Downey's model is Amdahl's law with a serial fraction f:
f A = sigma/2 up to sigma = 1, sigma/(sigma + 1) above. Narrow widths determine f and wide ones A,
so the search is in log A and the square root of f. The sum of squares has several local minima
along A, because the curve may become flat between any two measured widths. A grid finds them, and a
small grid around each is refined, unless its best point lies on its edge. An A beyond the widest
measured width is not identified; the same curve has a smaller A.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from moldable.arrays import Floats
from moldable.model.downey import downey_speedup

FIRST_GRID: Final = 61, 25
"""Points of the first grid along log A and the square root of f."""
GRID: Final = 7
SHRINK: Final = 0.45
ROUNDS: Final = 18
STARTS: Final = 8
WIDEST: Final = 1.25
"""Largest average parallelism, relative to the widest measured width."""
LARGEST_SIGMA: Final = 32.0


def fit_downey(widths: Floats, times: Floats, weights: Floats) -> Floats:
    """Return log time on one server, A and sigma with the least squares of log times."""
    share, y = weights / weights.sum(), np.log(times)
    high = np.array([np.log(WIDEST * widths[-1]), 1.0])
    axes = [np.linspace(0.0, end, points) for end, points in zip(high, FIRST_GRID, strict=True)]
    first = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    place = _local_minima(first, _spread(first, widths, y, share))
    step = np.linspace(-1.0, 1.0, GRID)
    offsets = np.stack(np.meshgrid(step, step, indexing="ij"), -1).reshape(-1, 2)
    reach = np.broadcast_to(2.0 * high / (np.array(FIRST_GRID) - 1), place.shape)
    for _ in range(ROUNDS):
        near = np.clip(place[:, None, :] + offsets * reach[:, None, :], 0.0, high)
        best = np.argmin(_spread(near, widths, y, share), axis=1)
        place = np.take_along_axis(near, best[:, None, None], axis=1)[:, 0]
        on_edge = np.abs(offsets[best]) > 1.0 - 0.5 / GRID
        reach = np.where(on_edge, reach, SHRINK * reach)
    a, sigma = _parameters(place[np.argmin(_spread(place, widths, y, share))])
    return np.array([share @ (y + np.log(downey_speedup(widths, a, sigma))), a, sigma])


def _parameters(place: Floats) -> tuple[Floats, Floats]:
    """Return A and sigma at points (log A, square root of f)."""
    a = np.exp(place[..., 0])
    product = np.minimum(place[..., 1] ** 2 * a, LARGEST_SIGMA / (LARGEST_SIGMA + 1.0))
    return a, np.where(product <= 0.5, 2.0 * product, product / (1.0 - product))  # noqa: PLR2004


def _spread(place: Floats, widths: Floats, y: Floats, share: Floats) -> Floats:
    """Return the variance of the log time on one server, as seen from the measured widths."""
    a, sigma = _parameters(place)
    seen = y + np.log(downey_speedup(widths, a[..., None], sigma[..., None]))
    return np.asarray((seen - (seen @ share)[..., None]) ** 2 @ share, dtype=np.float64)


def _local_minima(place: Floats, spread: Floats) -> Floats:
    """Return the best f for each A, where neither neighbouring A is better; the best first."""
    best = np.argmin(spread, axis=1)
    rows = np.arange(best.size)
    profile = spread[rows, best]
    padded = np.pad(profile, 1, constant_values=np.inf)
    found = np.flatnonzero((profile <= padded[:-2]) & (profile <= padded[2:]))
    found = found[np.argsort(profile[found])][:STARTS]
    return np.asarray(place[found, best[found]], dtype=np.float64)
