"""Upper concave hulls of curves.

Each curve is a group of points sorted by abscissa. All groups are processed together, because a
workload may have a thousand curves and a curve a million widths. A point below the chord of its two
neighbours is not on the hull, so vectorised passes drop many points at once; when a pass drops only
a few, a sequential scan finishes the curves that still change.
"""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats, Ints, Mask

# Smallest share of the points that a pass must drop for another pass to be worthwhile.
WORTHWHILE = 0.05


def concave_hull(x: Floats, y: Floats, group: Ints) -> Ints:
    """Return the indices of the strict vertices of every group's upper concave hull.

    Args:
        x: abscissae, strictly ascending within each group.
        y: ordinates.
        group: group of each point; the points of a group are contiguous.
    """
    alive = np.arange(x.size, dtype=np.int64)
    while True:
        below = _below_neighbours(x, y, group)
        dropped = int(np.count_nonzero(below))
        if dropped == 0:
            return alive
        if dropped < WORTHWHILE * alive.size:
            unsettled = np.isin(group, group[below])
            rest = np.flatnonzero(unsettled)
            scanned = rest[_scan(x[rest], y[rest], group[rest])]
            return alive[np.sort(np.concatenate((np.flatnonzero(~unsettled), scanned)))]
        kept = ~below
        alive, x, y, group = alive[kept], x[kept], y[kept], group[kept]


def hull_height(x: Floats, y: Floats, vertices: Ints) -> Floats:
    """Return the height of the hull at every abscissa; the ends of groups must be vertices."""
    height = y.copy()
    is_vertex = np.zeros(x.size, dtype=np.bool_)
    is_vertex[vertices] = True
    inner = np.flatnonzero(~is_vertex)
    right = np.searchsorted(vertices, inner)
    a, b = vertices[right - 1], vertices[right]
    height[inner] = y[a] + (x[inner] - x[a]) / (x[b] - x[a]) * (y[b] - y[a])
    return height


def _below_neighbours(x: Floats, y: Floats, group: Ints) -> Mask:
    below = np.zeros(x.size, dtype=np.bool_)
    run, rise = np.diff(x), np.diff(y)
    below[1:-1] = (run[:-1] * rise[1:] >= run[1:] * rise[:-1]) & (group[:-2] == group[2:])
    return below


def _scan(x: Floats, y: Floats, group: Ints) -> list[int]:
    xs, ys, groups = x.tolist(), y.tolist(), group.tolist()
    kept: list[int] = []
    first, current = 0, None  # index in `kept` where the current group begins
    for c in range(len(xs)):
        if groups[c] != current:
            first, current = len(kept), groups[c]
        while len(kept) > first + 1:
            a, b = kept[-2], kept[-1]
            if (xs[b] - xs[a]) * (ys[c] - ys[a]) < (xs[c] - xs[a]) * (ys[b] - ys[a]):
                break
            kept.pop()
        kept.append(c)
    return kept
