"""Estimators of rates against closed forms, and their intervals against simulated truths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from moldable import JobClass
from moldable.errors import InputError
from moldable.live.learning import ArrivalRate, ServiceRates


@given(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=30), st.floats(0.5, 50.0))
def test_an_arrival_rate_is_the_weighted_count_over_the_weighted_time(gaps, memory):
    rate = ArrivalRate(2.0, memory, strength=3.0)
    times = 100.0 + np.cumsum(gaps)
    for time in times:
        rate.arrive(float(time))
    lasts, end = memory / 2.0, times[-1]
    # The first arrival begins the observation; the prior is 3 arrivals just before it.
    age = math.exp(-(end - times[0]) / lasts)
    count = 3.0 * age + sum(math.exp(-(end - t) / lasts) for t in times[1:])
    time = 1.5 * age + lasts * (1.0 - age)
    assert rate.value == pytest.approx(count / time)


def test_an_arrival_rate_has_the_error_that_its_memory_implies_and_follows_a_step():
    rng, found = np.random.default_rng(1), []
    for _ in range(300):
        rate = ArrivalRate(1.0, 200.0, strength=1.0)
        for time in np.cumsum(rng.exponential(1.0, 1500)):
            rate.arrive(float(time))
        found.append(rate.value)
    error = np.std(found) * math.sqrt(2 * 200)  # the weighted count has memory / 2 variance
    assert abs(error - 1.0) < 4 / math.sqrt(2 * 300)
    assert abs(np.mean(found) - 1.0) < 4 / math.sqrt(2 * 200 * 300)
    begin = float(1500 + 1)
    for time in begin + np.cumsum(rng.exponential(0.5, 2000)):
        rate.arrive(float(time))
    assert rate.value == pytest.approx(2.0, rel=4 / math.sqrt(4 * 200))


def test_times_out_of_order_do_no_harm():
    rate = ArrivalRate(1.0, 100.0, strength=1.0)
    for time in (10.0, 12.0, 11.0, 13.0):
        rate.arrive(time)
    assert 0.5 < rate.value < 2.0


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_parameters_that_are_not_positive_are_refused(value):
    with pytest.raises(InputError, match="memory"):
        ArrivalRate(1.0, value, 1.0)
    with pytest.raises(InputError, match="strength"):
        ServiceRates(JobClass("jobs", 1.0, [1, 1.8]), value)


CURVE = JobClass("jobs", 1.0, [1, 1.8, 2.5, 3.0], mean_size=2.0)


def simulated(rng, rates, jobs, horizon=math.inf, strength=1e-9):
    """Run jobs at random widths, of which some still run at the horizon."""
    found = ServiceRates(CURVE, strength)
    for width in rng.integers(1, len(rates) + 1, jobs).tolist():
        time, began = rng.exponential(1.0 / rates[width - 1]), float(rng.uniform(0, 10))
        found.started(width, began)
        if began + time < horizon:
            found.stopped(width, began)
            found.ended(width, time, completed=True)
    return found


def test_completions_over_exposure_are_unbiased_although_jobs_still_run():
    rng, rates = np.random.default_rng(2), np.array([0.1, 0.18, 0.25, 0.3])
    ratios = []
    for _ in range(200):
        shape, exposure = simulated(rng, rates, 400, horizon=12.0).posterior(12.0)
        ratios.append(shape / exposure)
    errors = np.std(ratios, axis=0, ddof=1) / 200**0.5
    assert np.all(np.abs(np.mean(ratios, axis=0) - rates) < 4 * errors)
    assert np.all(errors < 0.01 * rates)  # so a bias of 4 % would be seen
    # Completed jobs alone would be 40 to 190 % too fast: their times are at most the horizon.
    own = simulated(rng, rates, 4000, horizon=12.0)
    ended = np.array([own.completed[k] for k in range(4)])
    assert np.all(ended / own._ended > 1.3 * rates)  # noqa: SLF001


def test_the_posterior_is_the_gamma_of_prior_and_data():
    rates = ServiceRates(CURVE, strength=4.0)
    rates.started(2, 10.0)
    rates.ended(2, 3.0, completed=True)
    rates.ended(2, 1.0, completed=False)  # it failed: its time counts, it does not
    rates.ended(7, 9.0, completed=True)  # the curve has no such width
    shape, exposure = rates.posterior(now=15.0)
    assert shape.tolist() == [4.0, 5.0, 4.0, 4.0]
    assert exposure.tolist() == pytest.approx([8.0, 4 * 2 / 1.8 + 4.0 + 5.0, 3.2, 8 / 3.0])


@given(st.integers(0, 2**32 - 1))
def test_rates_are_increasing_and_concave_and_the_closest_ones(seed):
    rng = np.random.default_rng(seed)
    rates = ServiceRates(CURVE, strength=1.0)
    for width in (1, 2, 3, 4):
        for _ in range(int(rng.integers(0, 6))):
            rates.ended(width, float(rng.exponential(1.0)), completed=True)
    found = rates.mean()
    assert np.all(found > 0)
    steps = np.diff(found, prepend=0.0)
    assert np.all(steps >= -1e-9)
    assert np.all(np.diff(steps) <= 1e-9)
    shape, exposure = rates.posterior()
    wanted = shape / exposure

    def loss(steps):
        return float(shape @ (np.cumsum(steps) / wanted - 1.0) ** 2)

    order = [{"type": "ineq", "fun": lambda s, k=k: s[k] - s[k + 1]} for k in range(3)]
    best = minimize(loss, np.full(4, wanted[0]), bounds=[(0, None)] * 4, constraints=order)
    assert loss(steps) <= best.fun * (1 + 1e-6) + 1e-9


def test_draws_cover_the_truth_and_narrow_as_jobs_complete():
    rng, rates = np.random.default_rng(3), np.array([0.5, 0.9, 1.25, 1.5])
    inside, spread = [], {}
    for jobs in (100, 1600):
        for _ in range(60):
            own = simulated(rng, rates, jobs, strength=1.0)
            draws = np.array([own.sample(rng) for _ in range(100)])
            low, high = np.quantile(draws, [0.025, 0.975], axis=0)
            inside += ((low <= rates) & (rates <= high)).tolist()
            spread[jobs] = (high - low)[1] / rates[1]
    assert 0.9 < np.mean(inside) <= 1.0
    assert spread[1600] < spread[100] / 2


def test_a_class_with_learned_rates_has_its_mean_size_and_curve():
    rates = ServiceRates(CURVE, strength=1.0)
    found = rates.as_class(np.array([0.25, 0.45, 0.6, 0.7]), 3.0)
    assert (found.name, found.arrival_rate, found.mean_size) == ("jobs", 3.0, 4.0)
    assert found.speedup.speedups.tolist() == pytest.approx([1.0, 1.8, 2.4, 2.8])
