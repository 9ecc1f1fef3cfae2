"""Arrival times: planned draws give planned times, and processes have their exact moments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest, weibull_min

from moldable.arrivals import MarkovModulated, Poisson, Renewal
from moldable.kernels import bucket_ring as draws
from moldable.simulation.arrival_source import time_sampler
from moldable.sizes import Empirical, FromScipy, Hyperexponential, Lognormal, PhaseType, Weibull
from naive import arrivals as naive

LEVELS = MarkovModulated((1.0, 5.0), ((0, 0.5), (1.5, 0)))
THREE = MarkovModulated((0.0, 1.0, 3.0), ((0, 2.0, 1.0), (1.0, 0, 1.0), (0.5, 0.5, 0)))
ERLANG = PhaseType([1.0, 0.0], [[-1.0, 1.0], [0.0, -1.0]])
PROCESSES = {
    "Poisson": Poisson(),
    "lognormal": Renewal(Lognormal(1.5)),
    "in phases": Renewal(ERLANG),
    "measured": Renewal(Empirical([1.0, 2.0, 5.0])),
    "two levels": LEVELS,
    "three levels": THREE,
}


class Script:
    """A generator that returns what it is told to."""

    def __init__(self, exponentials, uniforms=()):
        self.exponentials, self.uniforms = iter(exponentials), iter(uniforms)

    def standard_exponential(self):
        return next(self.exponentials)

    def random(self):
        return next(self.uniforms)


@pytest.fixture
def plain(monkeypatch):
    """Return the kernel without compilation, and without it in what it calls."""
    rng = np.random.Generator(np.random.SFC64(0))
    draws.draw_times(rng, np.empty(1), *time_sampler(LEVELS, 1.0, rng, 1.0))
    for name in ("look_up_grid", "draw_sizes", "modulate"):
        monkeypatch.setattr(draws, name, getattr(draws, name).py_func)
    return draws.draw_times.py_func


def arrivals_of(process, rate, seed, count, scale=1.0):
    rng = np.random.Generator(np.random.SFC64(seed))
    times = np.empty(count)
    draws.draw_times(rng, times, *time_sampler(process, rate, rng, scale))
    return times


def test_scripted_gaps_add_up_and_the_first_is_what_was_left(plain):
    arrivals = time_sampler(Renewal(Lognormal(1.0)), 0.5, np.random.default_rng(1), 4.0)
    exponential = time_sampler(Poisson(), 1.0, np.random.default_rng(1), 1.0)[2]
    arrivals = (arrivals[0], arrivals[1], exponential, arrivals[3])
    arrivals[0][draws.FIRST] = 0.25
    script, times = Script([9.0, 1.0, 0.5, 2.0]), np.empty(4)
    plain(script, times[:2], *arrivals)
    plain(script, times[2:], *arrivals)
    assert times.tolist() == naive.renewals([0.25, 1.0, 0.5, 2.0], 8.0)
    assert arrivals[0][draws.NOW] == times[-1]


@pytest.mark.parametrize("process", [LEVELS, THREE], ids=["two", "three"])
@pytest.mark.parametrize("block", [1, 3, 40])
def test_scripted_levels_give_the_times_of_the_naive_twin(process, block, plain):
    rng = np.random.default_rng(5)
    count, rate = 40, 3.0
    needs, stays, uniforms = rng.exponential(size=count), rng.exponential(size=200), rng.random(200)
    arrivals = time_sampler(process, rate, rng, 1.0)
    clock = arrivals[0]
    first = int(clock[draws.LEVEL])
    clock[draws.LEFT] = stays[0] / process.leaving()[first].sum()
    moves = iter(stays[1:]), iter(uniforms)
    times = np.empty(count)
    for begin in range(0, count, block):
        # A block draws its gaps first, then stays as they are needed.
        part = times[begin : begin + block]
        script = Script([*needs[begin : begin + block]])
        script.exponentials = _then(script.exponentials, moves[0])
        script.uniforms = moves[1]
        plain(script, part, *arrivals)
    twin = naive.modulated(
        needs, process.rates(rate), process.leaving().tolist(), first, stays, uniforms
    )
    assert times == pytest.approx(twin, rel=1e-12)


def _then(first, second):
    yield from first
    yield from second


@pytest.mark.parametrize("name", PROCESSES)
def test_compiled_and_plain_times_are_the_same_bit_for_bit(name, plain):
    found = []
    for function in (draws.draw_times, plain):
        rng = np.random.Generator(np.random.SFC64(3))
        arrivals = time_sampler(PROCESSES[name], 2.0, rng, 8.0)
        times = np.empty(5000)
        function(rng, times, *arrivals)
        found.append((times.tobytes(), arrivals[0].tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("gap", [Lognormal(1.5), Weibull(0.7), Hyperexponential(2.0), ERLANG])
def test_gaps_have_their_mean_variance_and_law_and_no_memory(gap):
    count, rate = 2_000_000, 4.0
    gaps = np.diff(arrivals_of(Renewal(gap), rate, 7, count + 1)) * rate
    error = math.sqrt(gap.variance / count)
    assert abs(gaps.mean() - 1.0) < 4 * error
    assert abs(1.01 * gaps.mean() - 1.0) > 4 * error
    squares = (gaps - 1.0) ** 2
    spread = squares.std() / math.sqrt(count)
    assert abs(squares.mean() - gap.variance) < 4 * spread
    assert abs(1.1 * squares.mean() - gap.variance) > 4 * spread
    products = (gaps[1:] - 1.0) * (gaps[:-1] - 1.0)
    assert abs(products.mean()) < 4 * products.std() / math.sqrt(count)
    assert kstest(gaps[:100_000], gap.cdf).pvalue > 1e-4
    assert kstest(gaps[:100_000] * 1.05, gap.cdf).pvalue < 1e-4


def test_gaps_too_steep_for_a_grid_follow_their_law():
    gap = FromScipy(weibull_min(0.02))
    # Gaps are drawn directly: differences of arrival times would lose short ones next to long ones.
    _, mean, law, _ = time_sampler(Renewal(gap), 4.0, np.random.default_rng(1), 1.0)
    gaps = np.empty(100_000)
    draws.draw_sizes(np.random.Generator(np.random.SFC64(4)), gaps, *law)
    assert mean == 0.25
    # Sizes below 2^-500 are all the same to a run.
    seen, hidden = gaps[gaps > 2.0**-499], float(gap.cdf(2.0**-499))
    share = 1.0 - seen.size / gaps.size
    assert abs(share - hidden) < 4 * math.sqrt(hidden * (1.0 - hidden) / gaps.size)
    for power, right in ((1.0, True), (1.02, False)):
        found = kstest(seen**power, lambda x: (gap.cdf(x) - hidden) / (1.0 - hidden)).pvalue
        assert (found > 1e-4) == right


def test_a_renewal_begins_in_equilibrium():
    gap = Hyperexponential(2.0)
    first = np.array([arrivals_of(Renewal(gap), 1.0, seed, 1)[0] for seed in range(1500)])
    mean = 0.5 * (1.0 + gap.variance)
    error = first.std() / math.sqrt(first.size)
    assert abs(first.mean() - mean) < 4 * error
    assert abs(first.mean() - 1.0) > 4 * error  # what a whole gap would have
    fine = np.array([arrivals_of(Renewal(ERLANG), 1.0, seed, 1)[0] for seed in range(1500)])
    assert abs(fine.mean() - 0.75) < 4 * fine.std() / math.sqrt(fine.size)


def count_variance(process, rate, window):
    """Return the variance of the arrivals in a window, for two levels, in equilibrium."""
    shares, rates = process.shares(), process.rates(rate)
    jumps = process.leaving().sum()
    spread = shares[0] * shares[1] * (rates[0] - rates[1]) ** 2
    memory = (window - (1.0 - math.exp(-jumps * window)) / jumps) / jumps
    return rate * window + 2.0 * spread * memory


def test_modulated_arrivals_have_their_exact_rate_and_variance():
    rate, window = 4.0, 1.0
    times = arrivals_of(LEVELS, rate, 9, 4_000_000)
    span = times[-1]
    error = math.sqrt(count_variance(LEVELS, rate, span))
    assert abs(times.size - rate * span) < 4 * error
    assert abs(1.01 * times.size - rate * span) > 4 * error
    windows = int(span / window)
    counts = np.histogram(times, np.arange(windows + 1) * window)[0]
    # Squared deviations of neighbouring windows are alike, those of long batches are not.
    batches = ((counts[: windows // 100 * 100] - rate * window) ** 2).reshape(-1, 100).mean(axis=1)
    spread = batches.std() / math.sqrt(batches.size)
    assert abs(batches.mean() - count_variance(LEVELS, rate, window)) < 4 * spread
    quicker = MarkovModulated(LEVELS.levels, tuple(map(tuple, 1.1 * LEVELS.leaving())))
    assert abs(batches.mean() - count_variance(quicker, rate, window)) > 4 * spread
    assert abs(batches.mean() - rate * window) > 40 * spread  # Poisson


def test_neighbouring_gaps_of_three_levels_have_the_right_correlation():
    rate, count = 20.0, 2_000_000
    gaps = np.diff(arrivals_of(THREE, rate, 11, count + 1))
    batches = (gaps[1:] * gaps[:-1])[: count // 1000 * 1000 - 1000].reshape(-1, 1000).mean(axis=1)
    error = batches.std() / math.sqrt(batches.size)
    # Until the next arrival, levels move by Q - L; with M = (L - Q)^-1, E[G G'] = phi M M L M 1.
    levels, leaving = THREE.rates(rate), THREE.leaving()
    inverse = np.linalg.inv(np.diag(levels + leaving.sum(axis=1)) - leaving)
    met = THREE.shares() * levels / rate
    exact = float((met @ inverse @ inverse * levels) @ inverse.sum(axis=1))
    assert abs(batches.mean() - exact) < 4 * error
    assert abs(1.02 * batches.mean() - exact) > 4 * error
    assert abs(batches.mean() - rate**-2.0) > 4 * error  # gaps without memory


def test_modulated_arrivals_begin_in_equilibrium():
    window, rate = 0.2, 4.0
    counts = np.array(
        [np.sum(arrivals_of(LEVELS, rate, seed, 40) < window) for seed in range(4000)]
    )
    error = math.sqrt(count_variance(LEVELS, rate, window) / counts.size)
    assert abs(counts.mean() - rate * window) < 4 * error
    low = LEVELS.rates(rate)[0]
    assert abs(counts.mean() - low * window) > 20 * error  # always from the lower level


def test_times_are_scaled_and_nothing_else():
    one = arrivals_of(LEVELS, 4.0, 3, 1000)
    assert arrivals_of(LEVELS, 4.0, 3, 1000, scale=8.0).tobytes() == (8.0 * one).tobytes()
