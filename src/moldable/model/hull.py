"""Which points of a curve lie on its upper concave hull?

Each curve is a *group* of points sorted by abscissa; all groups are treated together, because a
workload may bring a thousand curves and a curve a million widths. A point below the chord of its
two present neighbours is on no upper hull, so whole arrays of points can be dropped at once; when
such passes stop paying, the classical sequential scan finishes the curves that still change.
"""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats, Ints, Mask

# A pass over the arrays must drop at least this share of the points to be worth another one.
WORTHWHILE = 0.05


def concave_hull(x: Floats, y: Floats, group: Ints) -> Ints:
    """Return the indices of the strict vertices of every group's upper concave hull.

    Args:
        x: abscissae, strictly ascending within each group.
        y: ordinates.
        group: the group of each point; equal numbers stand together.
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
    """Return the hull's ordinate above every abscissa; each group's ends must be vertices."""
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
    first, present = 0, None  # where the present group begins in `kept`
    for c in range(len(xs)):
        if groups[c] != present:
            first, present = len(kept), groups[c]
        while len(kept) > first + 1:
            a, b = kept[-2], kept[-1]
            if (xs[b] - xs[a]) * (ys[c] - ys[a]) < (xs[c] - xs[a]) * (ys[b] - ys[a]):
                break
            kept.pop()
        kept.append(c)
    return kept
