"""The frontier: the widths worth using, and the best time for each mean server-time.

Width i is the point (server-time, time) = (i/s_i, 1/s_i) of a job of unit size. Mixtures of widths
reach every point between, so the best time for a given server-time is the lower convex hull of
these points, up to its lowest vertex. It solves the paper's problem (P) for any curve. Times scale
with the mean size; slopes do not.

The map (i, s_i) -> (i/s_i, 1/s_i) takes lines to lines, so that hull is also the upper concave hull
of the curve itself, from the most efficient width to the fastest. It is computed there, because the
widths are already sorted integers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, final

import numpy as np

from moldable.arrays import Floats, Ints, Mask
from moldable.checks import as_list, check_type
from moldable.errors import SpeedUpError, shortened
from moldable.model.assumptions import ROUNDING
from moldable.model.hull import concave_hull, hull_height
from moldable.model.speedup import SpeedUp

Array = TypeVar("Array", Floats, Ints)


@final
@dataclass(frozen=True, slots=True)
class Mix:
    """One or two neighbouring frontier widths and the share of jobs given each.

    Attributes:
        support: the widths, ascending.
        shares: the share of jobs given each; they sum to one.
        time: mean execution time of a job of unit size.
        server_time: mean server-time of a job of unit size.
        position: index of the first width on the frontier.

    Examples:
        >>> optimum([1, 1.8, 2.5], 0.9).mix.support
        (2,)
    """

    support: tuple[int, ...]
    shares: tuple[float, ...]
    time: float
    server_time: float
    position: int

    def spread(self, widths: Ints) -> Floats:
        """Return the shares as a vector over the given widths."""
        dense = np.zeros(widths.size)
        dense[np.searchsorted(widths, self.support)] = self.shares
        return dense


@final
@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The widths worth using, from the least server-time to the least time.

    Attributes:
        speedup: the curve.
        widths: frontier widths, ascending; those collinear with an edge are included.
        server_time: i/s_i at each of them, ascending.
        time: 1/s_i at each of them, descending.
        corners: indices of the hull's strict vertices among them.

    Examples:
        >>> Frontier.of(SpeedUp([1, 1.2, 2.5])).dominated_widths.tolist()
        [2]
    """

    speedup: SpeedUp
    widths: Ints
    server_time: Floats
    time: Floats
    corners: Ints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frontier) and self.speedup == other.speedup

    def __hash__(self) -> int:
        return hash(self.speedup)

    def __repr__(self) -> str:
        return f"Frontier(widths {shortened(self.widths)} of {self.speedup!r})"

    @classmethod
    def of(cls, speedup: SpeedUp) -> Frontier:
        """Build the frontier of one curve."""
        return frontiers([speedup])[0]

    @cached_property
    def dominated_widths(self) -> Ints:
        """The widths never worth using in (P)."""
        return np.setdiff1d(self.speedup.widths, self.widths, assume_unique=True)

    @property
    def largest_load(self) -> float:
        """The largest load any mix of widths can carry: the best s_i/i."""
        return 1.0 / float(self.server_time[0])

    def read(self, server_time: float) -> Mix:
        """Return the best mix of widths that uses at most this mean server-time per job.

        Within rounding of a frontier width, the mix is that width alone. A server-time below the
        least possible one is treated as the least; `reaches` tells whether it is feasible.
        """
        xs = self.server_time
        k = bisect_right(xs, server_time * (1.0 + ROUNDING)) - 1
        if k < 0 or k == xs.size - 1 or server_time <= xs[k] * (1.0 + ROUNDING):
            return self.alone(max(k, 0))
        x0, x1 = float(xs[k]), float(xs[k + 1])
        t0, t1 = float(self.time[k]), float(self.time[k + 1])
        wide = (server_time - x0) / (x1 - x0)
        return Mix(
            (int(self.widths[k]), int(self.widths[k + 1])),
            (1.0 - wide, wide),
            t0 + wide * (t1 - t0),
            server_time,
            k,
        )

    def reaches(self, server_time: float) -> bool:
        """Return whether every job can be served within this mean server-time."""
        return bool(server_time >= self.server_time[0] * (1.0 - ROUNDING))

    def slope_right(self, mix: Mix) -> float:
        """Return the slope of time over server-time just right of the mix: at most 0."""
        corner = bisect_right(self.corners, mix.position) - 1
        return self._edge_slope(corner)

    def slope_left(self, mix: Mix) -> float:
        """Return the slope just left of the mix; minus infinity at the first width."""
        corner = bisect_right(self.corners, mix.position) - 1
        on_corner = len(mix.support) == 1 and self.corners[corner] == mix.position
        return self._edge_slope(corner - 1 if on_corner else corner)

    def _edge_slope(self, corner: int) -> float:
        if corner < 0:
            return -np.inf
        if corner >= self.corners.size - 1:
            return 0.0
        a, b = self.corners[corner], self.corners[corner + 1]
        x, t = self.server_time, self.time
        return float((t[b] - t[a]) / (x[b] - x[a]))

    def alone(self, k: int) -> Mix:
        """Return the mix that uses only the k-th frontier width."""
        time, server_time = float(self.time[k]), float(self.server_time[k])
        return Mix((int(self.widths[k]),), (1.0,), time, server_time, k)


def frontiers(speedups: Sequence[SpeedUp]) -> list[Frontier]:
    """Build the frontiers of many curves at once.

    Examples:
        >>> [len(each.widths) for each in frontiers([SpeedUp([1, 1.8]), SpeedUp([1, 0.9, 2])])]
        [2, 2]
    """
    speedups = as_list(speedups, "the list of curves", SpeedUpError, "[SpeedUp([1, 1.8])]")
    for speedup in speedups:
        check_type(speedup, SpeedUp, "curve", SpeedUpError, "SpeedUp([1, 1.8])")
    sizes = np.array([speedup.widths.size for speedup in speedups], dtype=np.int64)
    curve = np.repeat(np.arange(sizes.size), sizes)
    width = np.concatenate([speedup.widths for speedup in speedups]).astype(np.float64)
    faster = np.concatenate([speedup.speedups for speedup in speedups])

    hull = concave_hull(width, faster, curve)
    height = hull_height(width, faster, hull)
    first, last = (hull[at][curve] for at in _useful(width[hull], faster[hull], curve[hull]))
    index = np.arange(width.size)
    inside = (index >= first) & (index <= last)
    corners = hull[inside[hull]]
    kept = np.flatnonzero(inside & (faster >= height * (1.0 - ROUNDING)))
    kept = _ascending(kept, width / faster, np.isin(kept, corners))
    return _split(speedups, width[kept], faster[kept], curve[kept], np.searchsorted(kept, corners))


def _useful(width: Floats, faster: Floats, curve: Ints) -> tuple[Ints, Ints]:
    """Return the indices of each curve's most efficient and fastest vertex.

    Of equally efficient widths (the linear curve has no others) the fastest is the first; of
    equally fast ones the narrowest is the last.
    """
    starts = np.flatnonzero(np.diff(curve, prepend=-1))
    index = np.arange(width.size)
    efficiency = faster / width
    best = np.maximum.reduceat(efficiency, starts) * (1.0 - ROUNDING)
    first = np.maximum.reduceat(np.where(efficiency >= best[curve], index, -1), starts)
    top = np.maximum.reduceat(faster, starts) * (1.0 - ROUNDING)
    last = np.minimum.reduceat(np.where(faster >= top[curve], index, index.size), starts)
    return first, last


def _ascending(kept: Ints, server_time: Floats, is_corner: Mask) -> Ints:
    """Drop collinear widths whose server-time is out of order, as rounding near s_i = c*i can do.

    Between two curves the order means nothing, but there both neighbours are corners.
    """
    while True:
        falls = np.diff(server_time[kept]) <= 0.0
        bad = ~is_corner & (np.append(False, falls) | np.append(falls, False))
        if not bad.any():
            return kept
        kept, is_corner = kept[~bad], is_corner[~bad]


def frozen(array: Array) -> Array:
    """Return the array, made read-only because results are values."""
    array.flags.writeable = False
    return array


def _split(
    speedups: Sequence[SpeedUp], width: Floats, faster: Floats, curve: Ints, corners: Ints
) -> list[Frontier]:
    time = frozen(1.0 / faster)
    server_time, widths = frozen(width * time), frozen(width.astype(np.int64))
    bounds = np.searchsorted(curve, np.arange(len(speedups) + 1))
    corner_bounds = np.searchsorted(corners, bounds)
    corners = frozen(corners - np.repeat(bounds[:-1], np.diff(corner_bounds)))
    ends = zip(pairwise(bounds.tolist()), pairwise(corner_bounds.tolist()), strict=True)
    return [
        Frontier(speedup, widths[a:b], server_time[a:b], time[a:b], corners[c:d])
        for speedup, ((a, b), (c, d)) in zip(speedups, ends, strict=True)
    ]
