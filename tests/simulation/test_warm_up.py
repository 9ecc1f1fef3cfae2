"""Length of the warm-up, and the warning where it may be too short."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.arrivals import Renewal
from moldable.simulation.plan import Tallies
from moldable.simulation.warmup import choose_warmup, mser
from moldable.sizes import Deterministic, Lognormal, Pareto
from naive import takacs
from naive.erlang import erlang_b
from simulation.systems import CHAIN, PAPER, numbers, plan_of


def test_the_warm_up_grows_with_the_distance_of_the_start():
    n = 500
    scenario = Scenario.single(PAPER, 0.8, n)
    empty = simulate(scenario, start="empty", seed=1, jobs=50_000)
    near = simulate(scenario, seed=1, jobs=50_000)
    assert empty.detail.warmup > near.detail.warmup
    assert 0.5 < empty.detail.warmup < 15
    given = simulate(scenario, start={3: 100, 4: 40}, seed=1, jobs=50_000, warmup=2.0)
    assert given.detail.start == "given"
    assert given.detail.warmup == 2.0
    exact = simulate(Scenario.single(SpeedUp.linear(5), 0.8, n), seed=1, jobs=1000)
    assert exact.detail.warmup == 0


class Relaxing:
    """Pilots of a system that forgets its start at a given pace, and how long they were."""

    def __init__(self, forgets):
        self.forgets, self.spans = forgets, []

    def __call__(self, plan, replications):
        tallies = Tallies.empty(plan, replications)
        tallies.time[:] = plan.jobs / plan.system.workload.arrival_rate
        age = np.cumsum(tallies.time, axis=0) / self.forgets
        noise = np.random.default_rng(1).normal(0, 0.01, age.shape)
        tallies.mean_jobs[..., 0] = 1.0 - np.exp(-age) + noise
        self.spans.append(float(tallies.time[:, 0].sum()))
        return tallies


@pytest.mark.parametrize(("forgets", "pilots", "settles"), [(1, 1, 1), (2.5, 2, 1), (100, 3, 0)])
def test_a_pilot_that_does_not_settle_is_made_longer(forgets, pilots, settles):
    plan = plan_of(CHAIN, "empty")
    slowest = plan.system.kind_scale.max()
    run = Relaxing(forgets * slowest)
    warmup, unsettled = choose_warmup(plan, run)
    assert np.diff(np.log2(run.spans)) == pytest.approx([1] * (pilots - 1), abs=0.1)
    assert unsettled == (None if settles else pytest.approx(run.spans[-1]))
    assert warmup > (2 * forgets * slowest if settles else run.spans[-1] / 3)


def test_pilots_are_not_made_longer_than_arrivals_allow():
    plan = plan_of(Scenario.single(PAPER, 0.8, 400_000), "empty")
    run = Relaxing(30.0)
    _, unsettled = choose_warmup(plan, run)
    assert run.spans == [pytest.approx(unsettled)]


@pytest.mark.long
def test_a_warm_up_that_may_be_too_short_is_said_to_be():
    # From an empty start, the busy servers approach equilibrium as slowly as t to the power -0.2.
    workload = Workload((JobClass("a", 5000.0, SpeedUp([1]), size=Pareto(1.2)),))
    options = {"start": "empty", "jobs": 500, "replications": 4, "seed": 1}
    answer = simulate(Scenario(workload, 10_000), threads=1, **options)
    assert any(
        "the pilot run did not reach equilibrium within" in warning for warning in answer.warnings
    )
    assert numbers(simulate(Scenario(workload, 10_000), threads=2, **options)) == numbers(answer)
    given = simulate(Scenario(workload, 10_000), warmup=5, **options)
    assert not any("pilot" in warning for warning in given.warnings)


def test_mser_cuts_a_transient_and_nothing_else():
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, 200)
    assert mser(noise) <= 20
    transient = noise + 5 * np.exp(-np.arange(200) / 10)
    assert 20 <= mser(transient) <= 70


def test_without_equilibrium_a_warning_is_given():
    n = 2000
    scenario = Scenario.single(PAPER, 0.8, n)
    hurried = simulate(scenario, start={1: 10}, warmup=0.0, jobs=3000, replications=40, seed=1)
    assert any("not in equilibrium" in warning for warning in hurried.warnings)


def test_slow_classes_get_the_warm_up_they_need():
    classes = (
        JobClass("a", 3.0, SpeedUp([1])),
        JobClass("b", 0.003, SpeedUp([1]), mean_size=1000.0),
    )
    answer = simulate(
        Scenario(Workload(classes), 7), start="empty", jobs=3000, replications=200, seed=1
    )
    mean_size = (3.0 + 3.0) / 3.003
    assert answer.detail.warmup * mean_size >= 6000
    exact = erlang_b(6.0, 7)
    assert abs(answer.blocking.value - exact) < 2 * answer.blocking.half_width


@pytest.mark.parametrize("shape", [1.5, 1.2, 1.1, 1.05])
def test_gaps_without_a_variance_are_warmed_up_in_bounded_time(shape):
    n = 10
    scenario = Scenario.single(SpeedUp([1]), 0.8, n, arrivals=Renewal(Pareto(shape)))
    answer = simulate(scenario, jobs=1000, replications=200, seed=3)
    assert answer.detail.warmup < 100
    exact = takacs.blocking(lambda s: takacs.pareto_transform(shape, 1 / 8, s), n)
    error = answer.blocking.half_width / 1.97
    assert abs(answer.blocking.value - exact) < 3 * error
    assert error < 0.01 * exact
    # Most gaps are then far shorter than their mean, and a pilot does not see the others.
    heavy = shape < 1.15
    assert heavy <= any(
        "the pilot run did not reach equilibrium" in warning for warning in answer.warnings
    )


def test_a_warm_up_counts_arrivals_where_time_stands_still():
    # All gaps that are ever seen are shorter than 1e-50: no time would pass.
    scenario = Scenario.single(SpeedUp([1]), 0.8, 10, arrivals=Renewal(Lognormal(1e100)))
    answer = simulate(
        scenario,
        jobs=100,
        replications=4,
        seed=1,
        warmup=5,
    )
    assert answer.detail.warmup == 5
    assert answer.detail.arrivals == 400
    assert any("no time passed" in warning for warning in answer.warnings)


@pytest.mark.parametrize("waiting", [0, 5])
@pytest.mark.parametrize("load", [0.3, 1e-3])
def test_runs_in_equilibrium_are_not_reported_to_be_out_of_it(waiting, load):
    """Of rare jobs of one size hardly any runs at the ends of the window, so nothing is noise."""
    scenario = Scenario.single([1], load, 1, size=Deterministic(), waiting=waiting)
    answer = simulate(scenario, "fixed:1", jobs=2000, replications=32, seed=1)
    assert not any("not in equilibrium" in text for text in answer.warnings)
