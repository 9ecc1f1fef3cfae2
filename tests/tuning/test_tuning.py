"""Tuned policies reach their targets, and are certified only if their interval allows it."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import JobClass, Scenario, SpeedUp, Thresholds, Workload, evaluate, tune
from moldable.arrivals import Renewal
from moldable.errors import ControlError
from moldable.exact import erlang_b
from moldable.policies import GreedyP
from moldable.results import Estimate
from moldable.sizes import Deterministic, Hyperexponential
from moldable.tuning import tuning
from moldable.tuning.evaluator import Evaluator
from tuning.systems import TWO_CLASSES, cost

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SMALL = Scenario.single(CURVE, 0.8, 16)


def test_a_blocking_cost_is_met_within_half_a_per_cent_of_the_optimum():
    tuned = tune(SMALL, blocking_cost=4.0, seed=1)
    best = tuned.optimum
    least = (1 - best.blocking) * best.mean_execution_time + 4.0 * best.blocking
    own = cost(tuned.performance, 4.0)
    assert least * (1 - 1e-4) <= own <= 1.005 * least
    assert own < cost(tuned.static.performance, 4.0)
    assert own < cost(tuned.greedy_p, 4.0)
    assert (tuned.blocking_cost, tuned.certified, tuned.seed) == (4.0, True, None)


@pytest.mark.parametrize(
    "limit",
    [
        0.0807,
        pytest.param(0.12, marks=pytest.mark.long),
        0.2,
        pytest.param(0.3, marks=pytest.mark.long),
    ],
)
def test_a_limit_on_blocking_is_kept_used_up_and_close_to_the_optimum(limit):
    tuned = tune(SMALL, max_blocking=limit, seed=1)
    answer = tuned.performance
    assert 0.9995 * limit <= answer.blocking.value <= limit
    assert tuned.certified
    best = tuned.optimum.mean_execution_time
    assert best * (1 - 1e-4) <= answer.mean_execution_time.value <= 1.005 * best
    assert answer.mean_execution_time.value <= tuned.static.performance.mean_execution_time.value
    again = evaluate(SMALL, tuned.policy)
    assert again.blocking == answer.blocking


@pytest.mark.parametrize(
    "limit",
    [pytest.param(0.4, marks=pytest.mark.long), 0.7, pytest.param(0.9, marks=pytest.mark.long)],
)
def test_a_limit_on_time_is_kept_used_up_and_close_to_the_optimum(limit):
    tuned = tune(SMALL, max_time=limit, seed=1)
    answer = tuned.performance
    assert 0.9995 * limit <= answer.mean_execution_time.value <= limit
    assert tuned.optimum.blocking * (1 - 1e-4) <= answer.blocking.value
    assert answer.blocking.value <= 1.01 * tuned.optimum.blocking
    assert answer.blocking.value <= tuned.static.performance.blocking.value


def test_several_classes_share_one_limit():
    tuned = tune(Scenario(TWO_CLASSES, 8), max_blocking=0.11, seed=1)
    assert 0.1095 <= tuned.performance.blocking.value <= 0.11
    least = tuned.optimum.mean_execution_time
    assert least * (1 - 1e-4) <= tuned.performance.mean_execution_time.value <= 1.015 * least
    assert tuned.thresholds.startswith("wide: ")
    assert "; narrow: " in tuned.thresholds


def test_limits_that_do_not_bind_leave_the_fastest_or_the_safest_policy():
    fastest = tune(SMALL, max_blocking=0.9, seed=1)
    assert fastest.performance.mean_execution_time.value == pytest.approx(
        fastest.optimum.mean_execution_time, rel=0.005
    )
    safest = tune(SMALL, max_time=5.0, seed=1)
    assert safest.performance.blocking.value == pytest.approx(safest.optimum.blocking, rel=0.001)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"max_blocking": 1e-6}, "least blocking of any policy on 16 servers is 0.07889; allow"),
        ({"max_time": 0.2}, "least mean execution time of any policy on 16 servers is 0.33"),
        ({"max_time": 0.3}, "least mean execution time of any policy on 16 servers is 0.33"),
        ({}, "give exactly one of max_blocking, blocking_cost, max_time; got none"),
        ({"max_time": 1.0, "max_blocking": 0.1}, "got max_blocking and max_time"),
        ({"max_blocking": 1.5}, "max_blocking=1.5 must be above 0 and below 1"),
        ({"blocking_cost": 0.0}, "blocking_cost=0 must be above 0"),
    ],
)
def test_targets_that_cannot_be_reached_are_refused_with_what_can_be(target, message):
    with pytest.raises(ControlError, match=message):
        tune(SMALL, **target)


def test_where_the_optimum_is_unknown_the_error_gives_the_least_value_found():
    constant = JobClass("jobs", 12.8, CURVE, size=Deterministic())
    message = r"was not reached; .* the least found is 0.07.*, the upper end of a 95 % confidence"
    with pytest.raises(ControlError, match=message):
        tune(Scenario(Workload((constant,)), 16), max_blocking=0.01, seed=1, precision=0.1)
    with pytest.raises(ControlError, match=r"even on the fastest width .* take 0.2942 on average"):
        tune(Scenario(Workload((constant,)), 16), max_time=0.2)


@pytest.mark.long
def test_a_simulated_limit_is_certified_on_other_random_numbers():
    scenario = Scenario.single(CURVE, 0.8, 400)
    tuned = tune(scenario, max_blocking=0.01, seed=1, precision=0.05)
    assert tuned.performance.method == "simulate"
    assert tuned.performance.blocking.interval[1] <= 0.01
    assert tuned.performance.blocking.value > 0.009
    assert tuned.certified
    assert tuned.seed == 1
    again = tune(scenario, max_blocking=0.01, seed=1, precision=0.05, threads=1)
    assert again.performance.blocking == tuned.performance.blocking
    assert tuned.performance.mean_execution_time.value < 0.46  # static widths take 0.51


def test_a_limit_just_above_the_least_blocking_is_certified_by_a_longer_run(monkeypatch):
    """In the search the limit lies within every interval that would otherwise be below it."""
    whole = Evaluator.__call__

    def wide(self, policy, attempt=0):
        answer = whole(self, policy, attempt)
        if attempt or answer.blocking.value > 0.12:
            return answer
        blocking = Estimate(answer.blocking.value, (0.0, 0.120001))
        return dataclasses.replace(answer, blocking=blocking)

    monkeypatch.setattr(Evaluator, "__call__", wide)
    tuned = tune(SMALL, max_blocking=0.12, seed=1)
    assert tuned.certified
    assert tuned.performance.blocking.value <= 0.12


def test_static_widths_are_returned_where_they_are_better(monkeypatch):
    """Only greedy(p) is let through."""
    whole = Evaluator.__call__

    def worse(self, policy, attempt=0):
        answer = whole(self, policy, attempt)
        if isinstance(policy, Thresholds):
            slower = Estimate(9.0, answer.mean_execution_time.interval)
            return dataclasses.replace(answer, mean_execution_time=slower)
        return answer

    monkeypatch.setattr(Evaluator, "__call__", worse)
    tuned = tune(SMALL, max_blocking=0.15, seed=1)
    assert isinstance(tuned.policy, GreedyP)
    assert tuned.blocking_cost is None
    assert tuned.performance == tuned.static.performance
    assert tuned.thresholds.endswith("servers, or as many as are idle")


@pytest.mark.long
def test_other_arrivals_are_simulated_and_keep_their_limit():
    bursty = Scenario.single(CURVE, 0.5, 16, arrivals=Renewal(Hyperexponential(4.0)))
    tuned = tune(bursty, max_blocking=0.15, seed=1, precision=0.05)
    assert tuned.performance.method == "simulate"
    assert tuned.performance.blocking.interval[1] <= 0.15
    smooth = tune(Scenario(bursty.workload, 16), max_blocking=0.15, seed=1)
    time = smooth.performance.mean_execution_time.value
    assert time < tuned.performance.mean_execution_time.value


def test_a_limit_that_was_missed_is_aimed_at_lower(monkeypatch):
    """The first attempt to certify a policy is made to fail."""
    whole, attempts = Evaluator.__call__, []

    def unlucky(self, policy, attempt=0):
        answer = whole(self, policy, attempt)
        if attempt:
            attempts.append(answer.blocking.value)
        if attempt == 1:
            worse = Estimate(0.125, (0.124, 0.126))
            return dataclasses.replace(answer, blocking=worse)
        return answer

    monkeypatch.setattr(Evaluator, "__call__", unlucky)
    tuned = tune(SMALL, max_blocking=0.12, seed=1)
    assert tuned.certified
    assert attempts[0] == pytest.approx(0.12, rel=1e-3)
    assert attempts[1] == pytest.approx(0.12 * 0.12 / 0.126 * 0.99, rel=2e-3)


def test_weights_are_warned_of_and_kept_out_of_the_figures():
    (job_class,) = SMALL.workload.classes
    other = JobClass("other", 2.0, CURVE, weight=3.0)
    workload = Workload((dataclasses.replace(job_class, arrival_rate=9.0), other))
    tuned = tune(Scenario(workload, 12), max_blocking=0.2, seed=1)
    assert tuned.performance.blocking.value <= 0.2
    assert "weights (jobs 1, other 3) make the value policy" in tuned.performance.warnings[0]


def test_a_single_class_that_owns_its_servers_shares_them_with_itself():
    owned = Scenario(dataclasses.replace(SMALL.workload, sharing="reserved"), 16)
    assert tune(owned, blocking_cost=4.0).thresholds == tune(SMALL, blocking_cost=4.0).thresholds


@pytest.mark.parametrize(
    "target",
    [pytest.param({"max_blocking": 0.3}, marks=pytest.mark.long), {"blocking_cost": 4.0}],
)
def test_the_unit_of_time_does_not_matter(target):
    hours, milliseconds = (
        tune(Scenario(Workload((JobClass("a", 6.4 / size, CURVE, mean_size=size),)), 8), **target)
        for size in (1.0, 3.6e6)
    )
    assert milliseconds.thresholds == hours.thresholds
    time = hours.performance.mean_execution_time.value
    assert milliseconds.performance.mean_execution_time.value == pytest.approx(3.6e6 * time)


def test_a_very_high_blocking_cost_gives_the_least_blocking():
    tuned = tune(SMALL, blocking_cost=1e9)
    assert tuned.performance.blocking.value == pytest.approx(tuned.optimum.blocking, rel=0.001)


@pytest.mark.long
def test_blocking_too_rare_to_count_is_met_by_an_exact_chain():
    tuned = tune(Scenario.single(SpeedUp([1, 1.8]), 0.7, 200), max_blocking=1e-6)
    assert tuned.performance.method == "chain"
    assert 0.999e-6 < tuned.performance.blocking.value <= 1e-6


@pytest.mark.long
def test_blocking_too_rare_to_count_is_certified_by_splitting():
    tuned = tune(Scenario.single(CURVE, 0.5, 150), max_blocking=1e-6, seed=1, precision=0.1)
    assert "splitting" in tuned.performance.reason
    assert 0.5e-6 < tuned.performance.blocking.interval[1] <= 1e-6
    assert tuned.certified
    assert tuned.static is None


@pytest.mark.long
def test_rare_blocking_of_sizes_without_phases_is_not_certified():
    constant = Workload((JobClass("jobs", 40.0, CURVE, size=Deterministic()),))
    tuned = tune(Scenario(constant, 100), max_blocking=1e-9, precision=0.2, seed=1)
    assert not tuned.certified
    assert any("not at the upper end" in words for words in tuned.performance.warnings)


def test_the_optimum_of_more_states_is_computed_if_asked_for(monkeypatch):
    monkeypatch.setattr(tuning, "AT_ONCE", 10)
    assert tune(SMALL, max_blocking=0.12).optimum is None
    assert tune(SMALL, max_blocking=0.12, optimum=True).optimum.gap < 1e-4


def test_an_unknown_optimum_does_not_prevent_tuning():
    tuned = tune(Scenario.single(CURVE, 0.01, 12), max_blocking=1e-18, optimum=True)
    assert tuned.certified
    assert tuned.optimum is None
    assert any("true optimum is not known" in words for words in tuned.performance.warnings)


def test_steps_are_reported_and_json_has_the_policy_and_its_figures():
    steps = []
    tuned = tune(SMALL, max_blocking=0.2, progress=steps.append)
    assert steps[0] == "tuning the blocking cost"
    assert steps[-2:] == [
        "computing the true optimum",
        "evaluating burstier arrivals and more load",
    ]
    found = tuned.to_dict()
    assert found["target"] == {"max_blocking": 0.2}
    assert found["policy"]["policy"] == "thresholds"
    assert found["blocking"] == tuned.performance.blocking.value
    assert found["static"]["design_load"] == tuned.static.design_load
    assert found["blocking_cost"] == tuned.blocking_cost


@pytest.mark.long
def test_the_best_design_load_is_found_where_most_loads_block_no_job():
    servers, limit = 4000, 1e-4
    # Two servers for every job are one of the static policies, and keep the limit.
    assert erlang_b(servers // 2, servers * 0.8 / 1.8) < limit
    tuned = tune(Scenario.single(CURVE, 0.8, servers), max_blocking=limit, seed=1)
    assert tuned.static.performance.mean_execution_time.value <= 1.0 / 1.8


@pytest.mark.long
def test_a_limit_between_two_very_different_tables_is_used_up():
    # With 22 servers, one table fills the cluster with widths 5 and 4, the next with width 4.
    curve, limit = SpeedUp([1, 1.87, 2.32, 2.61, 2.66]), 0.325
    tuned = tune(Scenario.single(curve, 0.68, 22), max_blocking=limit, seed=1)
    assert 0.995 * limit <= tuned.performance.blocking.value <= limit
    least = tuned.optimum.mean_execution_time
    assert tuned.performance.mean_execution_time.value < 1.005 * least
