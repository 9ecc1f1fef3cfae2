"""Blocks of draws: planned numbers go where they should, and laws are what they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from moldable import Deterministic, Exponential, Lognormal, Pareto, PhaseType
from moldable.kernels import bucket_ring as draws
from moldable.simulation.feed import _fast_law, _sample

# Three phases with a loop back to the first: nothing simpler would do.
WALK = PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]])


class Script:
    """A generator that returns what it is told to."""

    def __init__(self, exponentials, normals, uniforms):
        self.lists = [iter(exponentials), iter(normals), iter(uniforms)]

    def standard_exponential(self):
        return next(self.lists[0])

    def standard_normal(self):
        return next(self.lists[1])

    def random(self):
        return next(self.lists[2])


def test_scripted_draws_land_in_their_places():
    times, sizes, picks = np.empty(3), np.empty(3), np.empty(3)
    script = Script([1.0, 0.5, 2.0], [0.0, 1.0, -1.0], [0.1, 0.2, 0.3])
    last = draws.draw_block.py_func(
        script, times, sizes, picks, 10.0, 2.0, draws.LOGNORMAL, 0.5, 0.25, None, None, None
    )
    assert times.tolist() == [12.0, 13.0, 17.0]
    assert last == 17.0
    assert sizes == pytest.approx([math.exp(0.5), math.exp(0.75), math.exp(0.25)])
    assert picks.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("law", [Exponential(), Deterministic(), Lognormal(1.3), Pareto(1.7), WALK])
def test_compiled_and_plain_draws_are_the_same_and_follow_the_law(law):
    drawn = []
    for function in (draws.draw_block, draws.draw_block.py_func):
        rng = np.random.Generator(np.random.SFC64(3))
        times, sizes, picks = np.empty(20_000), np.empty(20_000), np.empty(10)
        function(rng, times, sizes, picks, 0.0, 0.5, *_fast_law(law))
        drawn.append((times, sizes, picks))
    for one, other in zip(*drawn, strict=True):
        assert one.tobytes() == other.tobytes()
    times, sizes, _ = drawn[0]
    assert times[-1] / times.size == pytest.approx(0.5, rel=0.05)
    if isinstance(law, Deterministic):
        assert np.all(sizes == 1)
    else:
        assert kstest(sizes, law.cdf).pvalue > 1e-4
        assert kstest(sizes * 1.05, law.cdf).pvalue < 1e-4


def test_walked_phases_follow_their_law():
    sizes = _sample(WALK, np.random.default_rng(8), 40_000)
    assert kstest(sizes, WALK.cdf).pvalue > 1e-4
    assert kstest(sizes * 1.05, WALK.cdf).pvalue < 1e-4


def test_scripted_phases_take_the_planned_walk():
    sizes = np.empty(2)
    begin, stay = np.array([0.5, 1.0]), np.array([2.0, 3.0])
    jumps = np.array([[0.0, 0.6], [0.1, 0.1]])
    # First: begin in 0, go on to 1, done. Second: begin in 1, back to 0, done.
    script = Script([1.0, 0.5, 2.0, 0.25], [], [0.4, 0.5, 0.7, 0.9, 0.05, 0.8])
    draws.draw_phases.py_func(script, sizes, begin, stay, jumps)
    assert sizes.tolist() == [2.0 * 1.0 + 3.0 * 0.5, 3.0 * 2.0 + 2.0 * 0.25]
