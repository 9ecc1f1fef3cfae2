"""Blocks of draws: planned numbers give planned results, and samples follow their law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, kstest, semicircular, triang
from scipy.stats import gamma as scipy_gamma

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.arrivals import Poisson
from moldable.kernels import bucket_ring as draws
from moldable.simulation.arrival_source import NO_LABELS, ArrivalSource, time_sampler
from moldable.simulation.samplers import _in_phases, sampler, sampler_arrays
from moldable.sizes import (
    Deterministic,
    Empirical,
    Exponential,
    FromScipy,
    Hyperexponential,
    Lognormal,
    MixedErlang,
    Pareto,
    PhaseType,
    Weibull,
)
from moldable.system.loss_system import build_system

# Three phases with a loop back to the first: nothing simpler would do.
WALK = PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]])
# Rates so far apart that no grid of quantiles is fine enough, first with a short walk.
STIFF = PhaseType([0.9, 0.1], [[-1000.0, 0.0], [0.0, -1.0]])
STIFF_AND_LONG = PhaseType(
    [0.9, 0, 0, 0.1],
    [[-2000.0, 2000.0, 0, 0], [0, -2000.0, 2000.0, 0], [0, 0, -2000.0, 0], [0, 0, 0, -1.0]],
)
NO_CHOICE = (np.ones(1), np.zeros(1, np.int64), np.zeros(1, np.int64))


HELPERS = (
    "look_up_grid",
    "look_up_pieces",
    "draw_phases",
    "draw_sizes",
    "draw_by_class",
    "modulate",
)


def arrays_of(laws):
    return sampler_arrays([sampler(law) for law in laws])


def block_drawer(draw_times, draw_jobs):
    """Return a function that draws all columns of a block in the order of `draw_and_run`."""

    def draw_block(rng, times, sizes, labels, picks, arrivals, classes, laws):
        draw_times(rng, times, *arrivals)
        draw_jobs(rng, sizes, labels, picks, classes, laws)

    return draw_block


DRAW_BLOCK = block_drawer(draws.draw_times, draws.draw_jobs)


def poisson(gap, now=0.0):
    arrivals = time_sampler(Poisson(), 1.0, np.random.default_rng(0), gap)
    arrivals[0][draws.NOW] = now
    return arrivals


def draw(law, rng, count):
    sizes = np.empty(count)
    draws.draw_sizes(rng, sizes, *sampler(law))
    return sizes


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


@pytest.fixture
def plain(monkeypatch):
    """Return the draws without compilation, and without it in what they call."""
    # What is compiled must be so before, or it would find the plain functions in its place.
    rng, one = np.random.Generator(np.random.SFC64(0)), arrays_of([Exponential()])
    memory = (np.empty(1), np.empty(1), NO_LABELS, np.empty(1))
    DRAW_BLOCK(rng, *memory, poisson(1.0), NO_CHOICE, one)
    for name in HELPERS:
        monkeypatch.setattr(draws, name, getattr(draws, name).py_func)
    return block_drawer(draws.draw_times.py_func, draws.draw_jobs.py_func)


def test_scripted_draws_land_in_their_places(plain):
    times, sizes, picks = np.empty(3), np.empty(3), np.empty(3)
    script = Script([1.0, 0.5, 2.0], [0.0, 1.0, -1.0], [0.1, 0.2, 0.3])
    one = (np.array([draws.LOGNORMAL]), np.array([0.5]), np.array([0.25]), None, np.zeros(0))
    arrivals = poisson(2.0, now=10.0)
    plain(script, times, sizes, NO_LABELS, picks, arrivals, NO_CHOICE, one)
    assert times.tolist() == [12.0, 13.0, 17.0]
    assert arrivals[0][draws.NOW] == 17.0
    assert sizes == pytest.approx([math.exp(0.5), math.exp(0.75), math.exp(0.25)])
    assert picks.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    "law",
    [
        Exponential(),
        Deterministic(),
        Lognormal(1.3),
        Pareto(1.7),
        Weibull(1.5),
        Hyperexponential(2.0),
        MixedErlang(),
        Empirical(np.random.default_rng(1).gamma(2.0, size=100_000)),
        FromScipy(scipy_gamma(2.5)),
        WALK,
        STIFF,
        STIFF_AND_LONG,
        FromScipy(semicircular(loc=1.0)),
    ],
    ids=str,
)
def test_compiled_and_plain_draws_are_the_same_and_follow_the_law(law, plain):
    drawn = []
    for function in (DRAW_BLOCK, plain):
        rng = np.random.Generator(np.random.SFC64(3))
        times, sizes, picks = np.empty(20_000), np.empty(20_000), np.empty(10)
        function(rng, times, sizes, NO_LABELS, picks, poisson(0.5), NO_CHOICE, arrays_of([law]))
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


@pytest.mark.parametrize("law", [WALK, STIFF], ids=str)
def test_walked_phases_follow_their_law(law):
    sizes = np.empty(40_000)
    draws.draw_sizes(np.random.default_rng(8), sizes, *_in_phases(law.phases))
    assert kstest(sizes, law.cdf).pvalue > 1e-4
    assert kstest(sizes * 1.05, law.cdf).pvalue < 1e-4


def test_phases_are_walked_through_only_where_that_is_quick():
    assert sampler(WALK).code == draws.GRID
    assert sampler(STIFF).code == draws.PHASES
    assert sampler(STIFF_AND_LONG).code == draws.PIECES


@pytest.mark.parametrize("law", [FromScipy(triang(0.3)), FromScipy(beta(0.5, 0.5))], ids=str)
def test_kinked_and_steeply_ending_laws_are_looked_up_too(law):
    assert sampler(law).code == draws.GRID
    sizes = draw(law, np.random.default_rng(8), 100_000)
    assert kstest(sizes, law.cdf).pvalue > 1e-4
    assert kstest(sizes * 1.02, law.cdf).pvalue < 1e-4


def test_scripted_labels_get_sizes_of_their_class(plain):
    times, sizes, labels, picks = np.empty(5), np.empty(5), np.empty(5, np.int64), np.empty(0)
    # Columns of class 0 up to a quarter, else 2; and of class 1 up to a half, else 2.
    choice = (np.array([0.25, 0.5]), np.array([0, 1]), np.array([2, 2]))
    laws = [Deterministic(), Exponential(), Empirical([1.0, 3.0])]
    uniforms = [0.1, 0.2, 0.6, 0.9, 0.7]
    script = Script([0.5] * 5 + [7.0, 8.0], [], [*uniforms, 0.2, 0.7])
    plain(script, times, sizes, labels, picks, poisson(2.0), choice, arrays_of(laws))
    assert times.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert labels.tolist() == [0, 2, 1, 2, 1]
    assert sizes.tolist() == [1.0, 0.5, 7.0, 1.5, 8.0]


def test_classes_arrive_in_their_shares_with_their_own_sizes():
    laws = [WALK, Lognormal(2.0), Exponential()]
    classes = tuple(
        JobClass(f"c{j}", rate, SpeedUp([1]), size=law)
        for j, (rate, law) in enumerate(zip((1.0, 2.0, 5.0), laws, strict=True))
    )
    system = build_system(Scenario(Workload(classes), 10), None)
    rng = np.random.Generator(np.random.SFC64(3))
    block = next(ArrivalSource(system, rng, scale=1.0, draws=True).take(8192))
    for j, law in enumerate(laws):
        own = block.sizes[block.labels == j]
        share = classes[j].arrival_rate / 8.0
        assert abs(own.size - 8192 * share) < 4 * math.sqrt(8192 * share * (1 - share))
        assert kstest(own, law.cdf).pvalue > 1e-4
        assert kstest(own * 1.25, law.cdf).pvalue < 1e-4


def test_scripted_phases_take_the_planned_walk():
    sizes = np.empty(2)
    begin, stay = np.array([0.5, 1.0]), np.array([2.0, 3.0])
    jumps = np.array([[0.0, 0.6], [0.1, 0.1]])
    # First: begin in 0, go on to 1, done. Second: begin in 1, back to 0, done.
    script = Script([1.0, 0.5, 2.0, 0.25], [], [0.4, 0.5, 0.7, 0.9, 0.05, 0.8])
    draws.draw_phases.py_func(script, sizes, begin, stay, jumps)
    assert sizes.tolist() == [2.0 * 1.0 + 3.0 * 0.5, 3.0 * 2.0 + 2.0 * 0.25]
