"""Event-by-event paths against exact laws."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import Scenario, SpeedUp, optimum
from moldable.exact import stationary_law
from reproduction.paths import sampled_path

SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SERVERS = 20


def path(load, length=2000.0, seed=1):
    solution = optimum(SUB_LINEAR, load, servers=SERVERS)
    times = np.arange(0.0, length, 0.25)
    return sampled_path(solution, {3: 4, 4: 2}, times, np.random.default_rng(seed))


def z_scores(counts, load):
    """By how many standard errors the mean jobs of each width are off the exact ones."""
    exact = stationary_law(Scenario.single(SUB_LINEAR, load, SERVERS)).performance()
    mean = np.array([exact.mean_jobs[width] * SERVERS for width in (1, 2, 3, 4)])
    batches = counts[:, :4].reshape(40, -1, 4).mean(axis=1)
    return (batches.mean(axis=0) - mean) / (batches.std(axis=0, ddof=1) / np.sqrt(len(batches)))


def test_long_paths_have_the_stationary_means():
    assert np.abs(z_scores(path(0.8), 0.8)).max() < 4


def test_a_path_at_another_load_would_be_noticed():
    assert np.abs(z_scores(path(0.78), 0.8)).max() > 4


def test_a_path_begins_where_it_is_told_and_never_holds_more_servers_than_there_are():
    counts = path(0.8, length=50.0)
    assert counts[0].tolist() == [0, 0, 4, 2, 0]
    assert (counts @ np.arange(1, 6)).max() <= SERVERS
    assert counts.min() >= 0


def test_the_same_generator_gives_the_same_path():
    assert np.array_equal(path(0.8, length=20.0), path(0.8, length=20.0))
    assert not np.array_equal(path(0.8, length=20.0), path(0.8, length=20.0, seed=2))


def test_an_unknown_number_of_servers_is_refused():
    with pytest.raises(ValueError, match="known number of servers"):
        sampled_path(optimum(SUB_LINEAR, 0.8), {}, [0.0], np.random.default_rng(1))
