"""Control variates keep the mean of blocking and take away most of its variance."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from moldable import JobClass, Scenario, Workload, evaluate
from moldable.arrivals import Renewal
from moldable.results import Estimate
from moldable.simulation.controls import _controls, controlled_blocking
from moldable.simulation.simulate import RunOptions, prepare_run, run_until_precise
from moldable.sizes import Lognormal
from moldable.system.loss_system import build_system

SUBLINEAR = [1, 1.8, 2.5, 3, 3.4]
TWO_CLASSES = Workload((JobClass("a", 6, [1, 1.8, 2.5]), JobClass("b", 2, {1: 1, 4: 3})))
SYSTEMS = {
    "one class": Scenario.single(SUBLINEAR, 0.8, 64),
    "two classes": Scenario(TWO_CLASSES, 12),
    "light load": Scenario.single(SUBLINEAR, 0.6, 20),
}


def estimates(
    scenario: Scenario, jobs: int, seed: int, replications: int = 64
) -> tuple[Estimate | None, Estimate]:
    """Return the blocking of one run with control variates, and without."""
    system = build_system(scenario, None)
    options = RunOptions(jobs=jobs, replications=replications, seed=seed, warmup=20.0)
    run = prepare_run(system, options)
    run_until_precise([run], replications)
    return controlled_blocking(run.tallies, system), run.figures()[0]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_long_run_agrees_with_the_exact_blocking_and_notices_one_per_cent(name):
    exact = float(evaluate(SYSTEMS[name]).blocking)
    controlled, plain = estimates(SYSTEMS[name], 100_000, seed=1)
    error = controlled.half_width / 2.0
    assert abs(controlled - exact) < 4.0 * error
    assert abs(controlled - 1.01 * exact) > 4.0 * error
    assert controlled.half_width < 0.75 * plain.half_width


def test_intervals_of_many_short_runs_cover_the_exact_blocking():
    scenario = SYSTEMS["one class"]
    exact, runs = float(evaluate(scenario).blocking), 80
    found = [estimates(scenario, 2_000, seed)[0] for seed in range(runs)]
    z = np.array([(one - exact) / (one.half_width / 2.0) for one in found])
    assert abs(z.sum()) / math.sqrt(runs) < 4.0  # unbiased
    assert abs((z @ z - runs) / math.sqrt(2.0 * runs)) < 4.0  # and of the stated error
    # Intervals of half the width would fail.
    assert (4.0 * z @ z - runs) / math.sqrt(2.0 * runs) > 4.0


def test_replications_counted_twice_change_only_the_interval_and_their_order_nothing():
    rng = np.random.default_rng(1)
    scenario = SYSTEMS["two classes"]
    system = build_system(scenario, None)
    options = RunOptions(jobs=2_000, replications=40, seed=3)
    run = prepare_run(system, options)
    run_until_precise([run], 40)
    tallies = run.tallies
    found = controlled_blocking(tallies, system)
    order = rng.permutation(np.tile(np.arange(40), 2))
    twice = replace(
        tallies,
        replications=tuple(range(80)),
        **{
            name: getattr(tallies, name)[:, order]
            for name in ("arrived", "blocked", "granted", "mean_jobs", "booked", "time")
        },
    )
    again = controlled_blocking(twice, system)
    assert again.value == pytest.approx(found.value, rel=1e-9)
    assert again.half_width / found.half_width == pytest.approx(math.sqrt(37 / 77), rel=0.03)


@pytest.mark.parametrize(
    "scenario",
    [
        replace(SYSTEMS["one class"], arrivals=Renewal(Lognormal(2.0))),
        replace(SYSTEMS["one class"], waiting=4),
        Scenario.single(SUBLINEAR, 0.05, 64),  # hardly a blocked job
    ],
)
def test_other_systems_are_estimated_as_usual(scenario):
    assert estimates(scenario, 1_000, seed=1)[0] is None


def test_sizes_without_a_variance_use_only_the_arrivals():
    scenario = Scenario.single([1, 1.8], 0.8, 16, size="pareto:1.5")
    controlled, plain = estimates(scenario, 2_000, seed=1)
    assert controlled.half_width < plain.half_width
    system = build_system(scenario, None)
    run = prepare_run(system, RunOptions(jobs=2_000, replications=32, seed=1))
    run_until_precise([run], 32)
    assert _controls(run.tallies, system).shape == (32, 1)


def test_few_replications_are_estimated_as_usual():
    assert estimates(SYSTEMS["one class"], 1_000, seed=1, replications=16)[0] is None
