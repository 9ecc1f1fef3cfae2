"""Fluid paths against an ODE solver and a fine grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from moldable import SpeedUp, optimum
from moldable.errors import LimitError
from moldable.theory import FluidPath
from strategies import curves

PAPER = optimum(SpeedUp([1, 1.8, 2.5, 3, 3.4]), 0.8)


def test_paths_solve_the_differential_equation():
    start = np.array([0.3, 0.1, 0.0, 0.05, 0.02])
    speedups = PAPER.frontier.speedup.speedups
    solved = solve_ivp(
        lambda _, x: speedups * (PAPER.scaled_jobs - x), (0, 4), start, rtol=1e-11, atol=1e-13
    )
    path = FluidPath(PAPER, start)
    assert path.at(solved.t) == pytest.approx(solved.y.T, abs=1e-9)
    assert path.at(100)[0] == pytest.approx(PAPER.scaled_jobs)


def test_the_equations_ignore_capacity():
    path = FluidPath(PAPER, {1: 1.0})
    assert path.busy_fraction(np.linspace(0, 10, 10001)).max() == pytest.approx(1.35, abs=0.005)
    assert path.valid_until == 0


def test_an_empty_start_never_passes_capacity():
    assert FluidPath(PAPER, [0, 0, 0, 0, 0]).valid_until == math.inf
    assert FluidPath(PAPER, PAPER.scaled_jobs).valid_until == math.inf


def test_passing_capacity_late_is_found_exactly():
    path = FluidPath(PAPER, [0.3, 0, 0.1, 0, 0])
    t = path.valid_until
    assert 0.4 < t < 0.5
    assert path.busy_fraction(t)[0] == pytest.approx(1, abs=1e-12)
    assert path.busy_fraction(t * (1 - 1e-6))[0] < 1
    assert path.busy_fraction(t * (1 + 1e-6))[0] > 1


@given(curves(8), st.floats(0.05, 1.0), st.integers(0, 10**6))
def test_the_first_passage_agrees_with_a_fine_grid(curve, share, seed):
    rng = np.random.default_rng(seed)
    solution = optimum(curve, share * float(np.max(curve.speedups / curve.widths)))
    busy = rng.dirichlet(np.full(curve.widths.size, 0.3)) * rng.uniform(0.2, 1)
    path = FluidPath(solution, busy / curve.widths)
    # The slowest exponential rules from some time on; the grid reaches well beyond it.
    grid = np.concatenate(([0.0], np.geomspace(1e-6, 60 / float(curve.speedups.min()), 40_000)))
    excess = path.busy_fraction(grid) - 1
    if path.valid_until == math.inf:
        assert excess.max() < 1e-9
        return
    before = grid < path.valid_until * (1 - 1e-9)
    assert np.all(excess[before] < 1e-9)
    just_after = path.busy_fraction(path.valid_until * (1 + 1e-9) + 1e-9)[0]
    assert just_after > 1 - 1e-11


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0.5, 0.3, 0, 0, 0], "1.1 of the servers busy"),
        ([0.5, 0.3], "2 entries for 5"),
        ({7: 0.1}, "width 7, which is not allowed"),
        ([-0.1, 0, 0, 0, 0], "at least 0"),
        ([math.nan, 0, 0, 0, 0], "finite"),
    ],
)
def test_impossible_starts_are_refused(start, message):
    with pytest.raises(LimitError, match=message):
        FluidPath(PAPER, start)


def test_times_before_the_start_are_refused():
    with pytest.raises(LimitError, match="at least 0"):
        FluidPath(PAPER, [0] * 5).at(-1)
