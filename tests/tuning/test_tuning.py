"""Tuned prices reach their targets, and say so only when it is sure."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import (
    Deterministic,
    Estimate,
    FixedWidth,
    JobClass,
    PricePolicy,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
    greedy_p,
    tune,
)
from moldable.tuning import tuning
from moldable.tuning.static_family import Static, StaticFamily
from tuning.systems import cost

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SMALL = Scenario.single(CURVE, 0.8, 16)


def test_a_price_on_blocked_jobs_is_met_within_a_per_cent_of_the_true_optimum():
    tuned = tune(SMALL.workload, 16, blocked_job_price=4.0, seed=1)
    best = tuned.optimum
    least = (1 - best.blocking) * best.mean_execution_time + 4.0 * best.blocking
    own = cost(tuned.performance, 4.0)
    assert least * (1 - 1e-9) <= own <= 1.01 * least
    assert own <= cost(tuned.static.performance, 4.0)
    assert own < cost(tuned.greedy_p, 4.0)
    assert tuned.certified


def test_a_limit_on_blocking_is_kept_and_beats_the_static_family():
    tuned = tune(SMALL.workload, 16, max_blocking=0.12, seed=1)
    assert tuned.performance.blocking.value <= 0.12
    assert tuned.certified
    assert tuned.performance.method == "chain"
    time = tuned.performance.mean_execution_time.value
    assert tuned.optimum.mean_execution_time * (1 - 1e-6) <= time
    assert time < tuned.static.performance.mean_execution_time.value
    again = evaluate(SMALL, PricePolicy.exponential(tuned.q0, tuned.ell))
    assert again.blocking == tuned.performance.blocking


def test_a_limit_on_time_is_kept():
    tuned = tune(SMALL.workload, 16, max_time=0.7, seed=1)
    assert tuned.performance.mean_execution_time.value <= 0.7
    assert tuned.optimum.mean_execution_time == pytest.approx(0.7, rel=1e-6)
    assert tuned.optimum.blocking <= tuned.performance.blocking.value
    assert tuned.performance.blocking.value < tuned.static.performance.blocking.value


def test_more_time_never_blocks_more():
    found = [
        tune(SMALL.workload, 16, max_time=limit, seed=1).performance
        for limit in (0.7, 0.9, 1.0, 50.0)
    ]
    blocking = [answer.blocking.value for answer in found]
    assert blocking == sorted(blocking, reverse=True)
    # One server each takes a mean time of 1 here, and is not what blocks least.
    assert blocking[-1] < evaluate(SMALL, FixedWidth(1)).blocking.value


def test_a_limit_on_time_is_used_up():
    scenario = Scenario.single(CURVE, 0.8, 300)
    tuned = tune(scenario.workload, 300, max_time=0.41, seed=1)
    assert 0.995 * 0.41 < tuned.performance.mean_execution_time.interval[1] <= 0.41
    static = tuned.static.performance
    assert 0.995 * 0.41 < static.mean_execution_time.value <= 0.41
    assert tuned.performance.blocking.value < static.blocking.value


def test_a_limit_on_a_plateau_of_the_price_is_reached():
    # Above the load that can be carried the best prices are nearly constant: small steps of q0
    # change nothing, the next one everything.
    scenario = Scenario.single(CURVE, 1.05, 1000)
    tuned = tune(scenario.workload, 1000, max_blocking=0.2, precision=0.05, seed=1)
    assert tuned.performance.blocking.interval[1] <= 0.2
    assert tuned.greedy_p is None
    assert tuned.to_dict()["greedy_p"] is None


def test_two_classes_share_one_price():
    pair = Workload((JobClass("a", 4.0, SpeedUp([1, 1.8])), JobClass("b", 2.0, SpeedUp.linear(2))))
    tuned = tune(pair, 10, blocked_job_price=4.0, seed=1)
    best = tuned.optimum
    least = (1 - best.blocking) * best.mean_execution_time + 4.0 * best.blocking
    assert cost(tuned.performance, 4.0) <= 1.02 * least
    assert tuned.thresholds.startswith("a: ")
    assert "b: " in tuned.thresholds


def test_weights_are_said_not_to_count():
    def pair(weight):
        return Workload(
            (JobClass("a", 4.0, CURVE, weight=weight), JobClass("b", 2.0, SpeedUp([1, 1.8])))
        )

    for weight, said in ((1.0, False), (5.0, True)):
        tuned = tune(pair(weight), 10, blocked_job_price=4.0, seed=1)
        told = [words for words in tuned.performance.warnings if "weights (a " in words]
        assert bool(told) == said


def test_a_single_class_that_owns_its_servers_is_a_pool():
    reserved = dataclasses.replace(SMALL.workload, sharing="reserved")
    tuned, pooled = (tune(w, 16.0, max_blocking=0.12, seed=1) for w in (reserved, SMALL.workload))
    assert tuned.to_dict()["blocking"] == pooled.to_dict()["blocking"]


def test_a_limit_just_above_the_least_blocking_of_the_family_is_kept():
    tuned = tune(Scenario.single(CURVE, 0.8, 64).workload, 64, max_blocking=0.00846, seed=1)
    assert tuned.certified
    assert tuned.performance.blocking.value <= 0.00846


def test_large_clusters_are_tuned_by_simulation_and_certified_by_the_interval():
    scenario = Scenario.single(CURVE, 0.8, 1000)
    tuned = tune(scenario.workload, 1000, max_blocking=0.03, precision=0.05, seed=2)
    assert tuned.performance.method == "simulate"
    assert tuned.performance.blocking.interval[1] <= 0.03
    assert tuned.certified
    assert tuned.optimum is None
    # The paper's scheme at its own load blocks more and is slower at the same blocking.
    assert tuned.greedy_p.blocking.value > 0.03
    static = tuned.static.performance.mean_execution_time.value
    assert tuned.performance.mean_execution_time.value < static


def test_the_true_optimum_of_more_states_is_computed_if_asked_for(monkeypatch):
    monkeypatch.setattr(tuning, "AT_ONCE", 10)
    for target in ({"max_blocking": 0.12}, {"blocked_job_price": 4.0}, {"max_time": 0.7}):
        assert tune(SMALL.workload, 16, **target, seed=1).optimum is None
        found = tune(SMALL.workload, 16, **target, optimum=True, seed=1)
        assert found.optimum.gap < 1e-4


def test_the_result_is_ready_for_json():
    answer = tune(SMALL.workload, 16, max_blocking=0.12, seed=1).to_dict()
    keys = {
        "q0",
        "ell",
        "thresholds",
        "blocking",
        "blocking_interval",
        "mean_execution_time",
        "mean_execution_time_interval",
        "greedy_p",
        "static",
        "optimum",
        "certified",
        "precision",
    }
    assert keys <= set(answer)
    assert set(answer["greedy_p"]) == {"blocking", "mean_execution_time"}
    assert answer["policy"].items() >= {"policy": "price", "q0": answer["q0"]}.items()
    assert set(answer["static"]) == {"design_load", "blocking", "mean_execution_time"}
    assert answer["target"] == {"max_blocking": 0.12}
    assert answer["seed"] is None  # all of it is exact


def test_an_answer_names_the_seed_that_finds_it_again():
    scenario = Scenario.single(CURVE, 0.8, 30)
    first = tune(scenario.workload, 30, blocked_job_price=8.0)
    again = tune(scenario.workload, 30, blocked_job_price=8.0, seed=first.seed)
    assert isinstance(first.seed, int)
    assert (again.q0, again.ell, again.static.design_load) == (
        first.q0,
        first.ell,
        first.static.design_load,
    )


@pytest.mark.parametrize("target", [{"max_blocking": 0.3}, {"blocked_job_price": 4.0}])
def test_the_unit_of_time_does_not_matter(target):
    """In milliseconds, costs and times are beyond any bound that would do for hours."""
    hours, milliseconds = (
        tune(Workload((JobClass("a", 6.4 / size, CURVE, mean_size=size),)), 8, **target, seed=1)
        for size in (1.0, 3.6e6)
    )
    assert milliseconds.thresholds == hours.thresholds
    assert milliseconds.performance.blocking.value == pytest.approx(
        hours.performance.blocking.value, rel=1e-9
    )
    time = hours.performance.mean_execution_time.value
    assert milliseconds.performance.mean_execution_time.value == pytest.approx(3.6e6 * time)


def test_a_very_dear_blocked_job_is_tuned_for_the_least_blocking():
    tuned = tune(SMALL.workload, 16, blocked_job_price=1e9, seed=1)
    assert tuned.performance.blocking.value == pytest.approx(tuned.optimum.blocking, rel=0.01)


@pytest.mark.parametrize(
    ("load", "target"),
    [(0.02, {"max_time": 0.4}), (0.01, {"max_blocking": 1e-18}), (1e6, {"max_time": 0.6})],
)
def test_an_optimum_that_cannot_be_told_loses_nothing(load, target):
    tuned = tune(Scenario.single(CURVE, load, 12).workload, 12, **target, optimum=True, seed=1)
    assert tuned.certified
    assert tuned.optimum is None
    assert any("true optimum is not known" in words for words in tuned.performance.warnings)


def test_widths_beyond_the_cluster_are_left_out_of_everything():
    """Only 1 and 2 fit, which lose efficiency; 8 would gain."""
    scenario = Scenario.single(SpeedUp({1: 1.0, 2: 1.8, 8: 12.0}), 0.8, 4)
    tuned = tune(scenario.workload, 4, blocked_job_price=4.0, seed=1)
    assert tuned.static is not None


def test_the_static_family_is_what_its_design_load_says():
    tuned = tune(SMALL.workload, 16, max_blocking=0.2, seed=1)
    again = evaluate(SMALL, greedy_p(SMALL, tuned.static.design_load))
    assert again.blocking.value == tuned.static.performance.blocking.value <= 0.2


def test_a_simpler_policy_that_is_better_is_named(monkeypatch):
    """On a made-up verdict: the best design load is said to be far faster at no blocking."""
    better = evaluate(SMALL, greedy_p(SMALL))
    better = dataclasses.replace(
        better, blocking=Estimate.exact(0.0), mean_execution_time=Estimate.exact(0.1)
    )
    monkeypatch.setattr(StaticFamily, "best", lambda *_: Static(0.8512345678, better))
    tuned = tune(SMALL.workload, 16, blocked_job_price=4.0, seed=1)
    assert any("use greedy-p:0.8512345678" in warning for warning in tuned.performance.warnings)


@pytest.mark.parametrize("limit", [1e-5, 1e-7])
def test_a_slack_system_keeps_rare_limits(limit):
    # The widest jobs alone block less than can be counted.
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.7, 400)
    tuned = tune(scenario.workload, 400, max_blocking=limit, seed=1)
    assert tuned.performance.blocking.value <= limit
    assert tuned.static.performance.blocking.value <= limit
    assert tuned.performance.mean_execution_time.value < 0.57
    assert tuned.static.performance.mean_execution_time.value > 0.6


def test_rare_blocking_without_an_exact_chain_is_certified_by_descents():
    scenario = Scenario.single(CURVE, 0.5, 200)
    tuned = tune(scenario.workload, 200, max_blocking=1e-7, seed=1)
    assert tuned.performance.method == "simulate"
    assert "splitting" in tuned.performance.reason
    assert 0.5e-7 < tuned.performance.blocking.interval[1] <= 1e-7
    assert tuned.certified


def test_blocking_too_rare_to_count_of_sizes_without_phases_is_not_certified():
    # Width 1 alone would block 1e-15 of the jobs, so that the limit can be reached.
    workload = Workload((JobClass("jobs", 40.0, CURVE, size=Deterministic()),))
    tuned = tune(workload, 100, max_blocking=2e-8, precision=0.05, seed=1)
    assert not tuned.certified
    assert any("cannot be certified" in warning for warning in tuned.performance.warnings)


def test_blocking_too_rare_to_count_is_certified_by_an_exact_chain():
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.8, 400)
    tuned = tune(scenario.workload, 400, max_blocking=1e-6, seed=1)
    assert tuned.performance.method == "chain"
    assert 0.5e-6 < tuned.performance.blocking.value <= 1e-6
    assert tuned.certified


def test_an_optimum_that_a_first_look_misses_by_a_little_is_looked_for_more_closely():
    scenario = Scenario.single(SpeedUp([1, 2.2, 3.5]), 2.0, 10)
    tuned = tune(scenario.workload, 10, max_blocking=0.526475, seed=1)
    assert tuned.optimum.gap < 1e-4


def test_the_best_design_load_uses_a_limit_up_where_figures_are_exact():
    scenario = Scenario.single(CURVE, 0.8, 30)
    tuned = tune(scenario.workload, 30, max_blocking=0.08, seed=1)
    better = evaluate(scenario, greedy_p(scenario, 0.9446))
    assert better.blocking.value <= 0.08
    time = tuned.static.performance.mean_execution_time.value
    assert time <= better.mean_execution_time.value * 1.0005


def test_it_is_said_that_the_optimum_is_not_known_closely():
    small = JobClass("small", 5000.0, SpeedUp([1, 1.7]), mean_size=0.0005)
    large = JobClass("large", 0.001, SpeedUp({1: 1, 2: 1.9, 4: 3.5}), mean_size=1000.0)
    tuned = tune(Workload((small, large)), 8, blocked_job_price=4.0, long_tail=False, seed=1)
    assert tuned.optimum is None
    assert tuning.NOT_CLOSELY in tuned.performance.warnings
