"""The frontier against its definition, and the hull against all chords."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import SpeedUp
from moldable.allocation import Frontier, frontiers
from moldable.model.hull import concave_hull, hull_height
from strategies import curves


@given(st.lists(curves(40), min_size=1, max_size=8))
def test_frontiers_made_together_are_those_made_alone(several):
    for together, curve in zip(frontiers(several), several, strict=True):
        alone = Frontier.of(curve)
        for name in ("widths", "server_time", "time", "corners"):
            assert np.array_equal(getattr(together, name), getattr(alone, name))


@given(curves(40))
def test_frontiers_are_convex_and_below_every_width(curve):
    frontier = Frontier.of(curve)
    x, t = frontier.server_time, frontier.time
    assert np.all(np.diff(frontier.widths) > 0)
    assert np.all(np.diff(x) > 0)
    assert np.all(np.diff(t) < 1e-12)
    assert set(frontier.widths) | set(frontier.dominated_widths) == set(curve.widths)
    slopes = np.diff(t[frontier.corners]) / np.diff(x[frontier.corners])
    assert np.all(np.diff(slopes) > -1e-9)
    for width, speedup in zip(curve.widths, curve.speedups, strict=True):
        height = np.interp(width / speedup, x, t)
        assert 1 / speedup >= height * (1 - 1e-11)


@given(st.integers(1, 80), st.integers(1, 5), st.integers(0, 10**6))
def test_the_hull_keeps_exactly_the_points_above_all_chords(size, groups, seed):
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, groups, size))
    x = np.concatenate([np.arange(np.sum(group == g)) for g in range(groups)]).astype(float)
    y = rng.integers(0, 6, size).astype(float)  # small integers: many exact ties
    kept = set(concave_hull(x, y, group).tolist())
    for b in range(size):
        same = [k for k in range(size) if group[k] == group[b]]
        covered = any(
            (x[b] - x[a]) * (y[c] - y[a]) >= (x[c] - x[a]) * (y[b] - y[a])
            for a in same
            for c in same
            if x[a] < x[b] < x[c]
        )
        assert (b in kept) == (not covered)


def test_slow_shrinking_hulls_are_finished_by_the_scan():
    # A concave curve and one last point high above it: passes drop one point at a time.
    x = np.arange(2000.0)
    y = np.sqrt(x)
    y[-1] = 1e6
    hull = concave_hull(x, y, np.zeros(x.size, dtype=np.int64))
    assert hull.tolist() == [0, 1999]
    assert hull_height(x, y, hull)[1000] == pytest.approx(1000 / 1999 * 1e6)


def test_a_frontier_with_a_million_widths():
    frontier = Frontier.of(SpeedUp.amdahl(0.95, 1_000_000))
    mix = frontier.read(1 / 0.2)
    # Amdahl's server-time is 0.05*i + 0.95, so 5 lies exactly at width 81.
    assert mix.support == (81,)
    assert frontier.widths.size == 1_000_000


def test_reading_left_of_the_frontier_gives_its_first_width():
    frontier = Frontier.of(SpeedUp([1, 1.8, 2.5]))
    assert not frontier.reaches(0.99)
    assert frontier.reaches(1.0)
    assert frontier.read(0.5).support == (1,)
