"""Noise, intervals and resampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from moldable.errors import InputError
from moldable.fitting import Measurements
from moldable.fitting.noise import (
    ASSUMED,
    estimated_noise,
    log_errors,
    resampled_times,
    speedup_intervals,
)
from naive.synthetic_measurements import random_case


def coverage(shrink: float = 1.0, *, common: bool = True, cases: int = 200) -> float:
    """Return the share of intervals, scaled by a factor, that contain the true speed-up."""
    rng = np.random.default_rng(20)
    held = []
    for k in range(cases):
        case = random_case(rng, 3 + k % 3, "lognormal" if k % 2 else "normal", common=common)
        low, high = speedup_intervals(case.measured, estimated_noise(case.measured))
        middle = case.measured.speedup.speedups
        low, high = middle * (low / middle) ** shrink, middle * (high / middle) ** shrink
        held += list((low <= case.truth) & (case.truth <= high))[1:]
    return float(np.mean(held))


def test_95_percent_intervals_cover_200_curves_with_1_to_5_percent_noise():
    assert 0.92 <= coverage() <= 0.98
    assert coverage(shrink=0.7) < 0.9  # the power of this test


def test_intervals_also_cover_noise_that_differs_between_widths():
    assert 0.90 <= coverage(common=False) <= 0.99


def test_pooled_intervals_are_those_of_students_t():
    runs = {1: [10.0, 10.4, 9.9], 2: [5.6, 5.4, 5.5], 4: [3.1, 3.2, 3.0]}
    measured = Measurements(runs)
    low, high = speedup_intervals(measured, estimated_noise(measured))
    squares = [np.var(run, ddof=1) / np.mean(run) ** 2 for run in runs.values()]
    reach = stats.t.ppf(0.975, 6) * np.sqrt(np.mean(squares) * (1 / 3 + 1 / 3))
    speedups = np.mean(runs[1]) / np.array([np.mean(run) for run in runs.values()])
    assert low[1:] == pytest.approx(speedups[1:] * np.exp(-reach))
    assert high[1:] == pytest.approx(speedups[1:] * np.exp(reach))
    assert low[0] == high[0] == 1.0


def test_noise_that_differs_between_widths_is_found_as_by_bartletts_test():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        deviations = rng.uniform(0.005, 0.06, 4)
        runs = {
            2**k: (100.0 * (1.0 + deviation * rng.standard_normal(5))).tolist()
            for k, deviation in enumerate(deviations)
        }
        # Relative deviations as samples of mean 0, which is what the test compares.
        p_value = stats.bartlett(*(np.array(run) / np.mean(run) for run in runs.values())).pvalue
        common = estimated_noise(Measurements(runs)).common
        assert common == (p_value >= 0.01)
        seen.add(common)
    assert seen == {True, False}


def test_different_noise_has_the_degrees_of_freedom_of_welch():
    runs = {1: [10.0, 10.01, 9.99, 10.0, 10.02], 2: [5.0, 6.0, 4.5, 5.5, 5.2]}
    measured = Measurements(runs)
    noise = estimated_noise(measured)
    assert not noise.common
    _, freedom = log_errors(measured, noise)
    relative = [np.array(run) / np.mean(run) for run in runs.values()]
    welch = stats.ttest_ind(*relative, equal_var=False)
    assert freedom[1] == pytest.approx(welch.df)


@pytest.mark.parametrize("repeats", [3, 6])
def test_resampled_speed_ups_have_the_quantiles_of_the_intervals(repeats):
    case = random_case(np.random.default_rng(4), repeats)
    noise = estimated_noise(case.measured)
    low, high = speedup_intervals(case.measured, noise)
    times = resampled_times(case.measured, noise, 40_000, np.random.default_rng(5))
    speedups = case.measured.widths[0] * times[:, :1] / times
    below, above = (speedups < low).mean(axis=0)[1:], (speedups > high).mean(axis=0)[1:]
    error = np.sqrt(0.025 * 0.975 / 40_000)
    assert np.abs(below - 0.025).max() < 4.0 * error
    assert np.abs(above - 0.025).max() < 4.0 * error


def test_without_repeats_three_percent_are_assumed_and_any_noise_can_be_given():
    single = Measurements({1: 10.0, 2: 6.0})
    assert estimated_noise(single).assumed
    assert estimated_noise(single).typical == ASSUMED
    assert estimated_noise(single, 0.1).typical == pytest.approx(0.1)
    _, high = speedup_intervals(single, estimated_noise(single))
    assert high[1] == pytest.approx(10 / 6 * np.exp(1.959964 * ASSUMED * np.sqrt(2.0)), rel=1e-6)
    with pytest.raises(InputError, match=r"noise=2 must be from 0 to 1; 0.03 is 3 %"):
        estimated_noise(single, 2.0)


def test_repeats_that_agree_to_the_last_digit_give_an_interval_of_no_width():
    measured = Measurements({1: [10.0, 10.0], 2: [6.0, 6.0]})
    low, high = speedup_intervals(measured, estimated_noise(measured))
    assert high[1] / low[1] == pytest.approx(1.0, abs=1e-7)


def test_speed_ups_over_one_server_do_not_share_a_measured_denominator():
    measured = Measurements({2: [1.9, 2.0], 4: [3.5, 3.7]}, "speedup")
    low, high = speedup_intervals(measured, estimated_noise(measured))
    assert measured.speedup[2] == pytest.approx(2.0 / (1 / 1.9 + 1 / 2.0))
    assert (low < high).all()
