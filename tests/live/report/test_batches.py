"""Batches keep all sums whatever the order and the chunks, and give intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable.live.report.batches import MOST, Batches, ratio, share
from moldable.live.report.run_times import RunTimes


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 400), min_size=1, max_size=6))
def test_sums_and_times_are_complete_in_whatever_chunks_they_come(seed, sizes):
    rng = np.random.default_rng(seed)
    batches, whole = Batches(3), np.zeros(3)
    time, first = float(rng.uniform(0, 1e9)), None
    last = -np.inf
    for size in sizes:
        gaps = rng.exponential(10.0 ** rng.uniform(-3, 5), size)
        times = time + np.cumsum(gaps)
        series, values = rng.integers(3, size=size), rng.uniform(0, 5, size)
        batches.add(series, times, values)
        whole += np.bincount(series, values, 3)
        if size:
            first = times[0] if first is None else first
            last, time = times[-1], times[-1]
    found = [batches.sums_of(k).sum() for k in range(3)]
    assert found == pytest.approx(whole.tolist())
    if first is not None:
        assert batches.span == pytest.approx(last - first)
        assert batches.times().sum() == pytest.approx(last - first)
        assert batches.times().size <= MOST


def test_each_batch_has_the_records_of_its_time():
    times = np.sort(np.random.default_rng(4).uniform(50.0, 950.0, 3000))
    batches = Batches(1)
    for part in np.array_split(times, 30):
        batches.add(np.zeros(part.size, dtype=int), part, np.ones(part.size))
    edges = np.append(times[0] + batches.length * np.arange(batches.times().size), times[-1])
    assert batches.sums_of(0).tolist() == np.histogram(times, edges)[0].tolist()
    assert batches.times().size > MOST / 2


def test_a_ratio_and_its_interval_are_those_of_the_textbook():
    rng = np.random.default_rng(5)
    below = rng.uniform(1, 2, 12)  # too few to be merged
    above = 3 * below + rng.normal(0, 0.2, 12)
    found = ratio(above, below)
    value = above.sum() / below.sum()
    error = np.sqrt(((above - value * below) ** 2).sum() / (12 * 11)) / below.mean()
    assert found.value == pytest.approx(value)
    assert found.freedom == 11
    reach = 2.2009851601 * error / value  # 0.975 quantile of Student's t with 11 degrees
    assert found.interval == pytest.approx((value * np.exp(-reach), value * np.exp(reach)))


def coverage(truth, draw, measure, runs=400):
    rng = np.random.default_rng(6)
    found = [measure(draw(rng)) for _ in range(runs)]
    return np.mean([low <= truth <= high for low, high in (each.interval for each in found)])


def correlated(rng):
    """Waits of 4,000 jobs whose correlation time is 40 jobs; their mean is 1."""
    shocks = rng.normal(0, 1, 4000)
    level = np.zeros(4000)
    for k in range(1, 4000):
        level[k] = 0.95 * level[k - 1] + shocks[k] * (1 - 0.95**2) ** 0.5
    waits = np.exp(0.7 * level - 0.245)
    batches = Batches(2)
    place = np.zeros(4000, dtype=int)
    batches.add(place, np.arange(4000.0), np.ones(4000))
    batches.add(place + 1, np.arange(4000.0), waits)
    return batches


def test_intervals_of_correlated_waits_hold():
    found = coverage(1.0, correlated, lambda own: ratio(own.sums_of(1), own.sums_of(0)))
    assert 0.92 <= found <= 0.98


def test_intervals_that_ignore_the_correlation_would_not_hold():
    def plain(batches):
        jobs = batches.sums_of(0)
        return ratio(np.full(jobs.size, batches.sums_of(1).mean()), jobs)

    assert coverage(1.0, correlated, plain, 100) < 0.8


def test_shares_that_were_never_seen_have_an_upper_limit_only():
    found = share(np.zeros(64), np.full(64, 10.0), 1.0)
    assert found.value == 0.0
    assert found.interval[0] == 0.0
    assert found.interval[1] == pytest.approx(1 - 0.025 ** (1 / 640))


def exposed(rng, horizon=12.0):
    """Jobs that start over time and of which some still run at the end."""
    runs = RunTimes(1)
    start = rng.uniform(0, horizon, 60)
    time = rng.exponential(2.0, 60)
    ended = start + time < horizon
    runs.add(np.zeros(ended.sum(), dtype=int), time[ended], np.ones(ended.sum()))
    for began in start[~ended]:
        runs.run_on(0, horizon - began)
    return runs


def test_running_jobs_count_in_mean_execution_times():
    rng = np.random.default_rng(7)
    found = [exposed(rng).mean(0) for _ in range(3000)]
    values = np.array([each.value for each in found])
    # The mean of the completed jobs alone would be a sixth too small.
    assert abs(values.mean() / 2.0 - 1.0) < 0.02
    rng = np.random.default_rng(7)
    alone = [(own := exposed(rng))._times[0] / own.completed[0] for _ in range(3000)]  # noqa: SLF001
    assert np.mean(alone) < 1.75
    assert 0.92 <= np.mean([low <= 2 <= high for low, high in (f.interval for f in found)]) <= 0.98


def test_jobs_that_failed_count_by_their_time_only():
    runs = RunTimes(2)
    runs.add(np.array([0, 0, 1]), np.array([3.0, 1.0, 9.0]), np.array([1.0, 0.0, 1.0]))
    assert runs.mean(0).value == 4.0
    assert runs.mean(0).interval is None  # one completed job has no spread
