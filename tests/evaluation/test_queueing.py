"""Clusters whose jobs may wait: the choice of the method, and its answers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from moldable import JobClass, Scenario, Workload, compare, evaluate, simulate
from moldable.errors import ChainError, SimulationError, UnstableError

CURVE = [1, 1.8, 2.5, 3, 3.4]
KEYS = (
    *("mean_response_time", "mean_wait", "wait_probability", "queue_length"),
    *("wait_quantiles", "response_quantiles", "slowdown", "bounded_slowdown"),
)


def queue(servers=16, load=0.8, waiting=math.inf, **options):
    return Scenario.single(CURVE, load, servers, waiting=waiting, **options)


def z_score(estimate, truth):
    return (estimate.value - truth) / (estimate.half_width / 1.96)


@pytest.mark.parametrize(
    ("scenario", "policy", "method"),
    [
        (queue(), "fixed:2", "closed-form"),
        (queue(waiting=3), "fixed:4", "closed-form"),
        (queue(), "equi", "closed-form"),
        (queue(servers=10), "even-price", "chain"),
        (queue(servers=11, waiting=4), "greedy", "chain"),
        (queue(servers=10, size="lognormal:2"), "fixed:2", "simulate"),
        (queue(servers=10, arrivals="renewal:2"), "fixed:2", "simulate"),
        (queue(servers=200), "even-price", "simulate"),
    ],
)
def test_the_best_method_is_chosen_and_named(scenario, policy, method):
    answer = evaluate(scenario, policy, precision=0.5, seed=1)
    assert answer.method == method
    assert answer.queueing is not None
    assert answer.reason


@pytest.mark.parametrize("waiting", [1, 4, math.inf])
@pytest.mark.parametrize("policy", ["even-price", "idle-share", "fixed:3"])
def test_simulated_figures_agree_with_the_chain(policy, waiting):
    scenario = queue(servers=10, load=0.7, waiting=waiting)
    exact = evaluate(scenario, policy, method="chain")
    found = simulate(scenario, policy, jobs=40_000, replications=32, seed=5)
    pairs = [(found.mean_execution_time, exact.mean_execution_time)]
    if math.isfinite(waiting):
        pairs.append((found.blocking, exact.blocking))
    pairs += [(getattr(found.queueing, name), getattr(exact.queueing, name)) for name in KEYS[:4]]
    for estimate, truth in pairs:
        assert abs(z_score(estimate, truth)) < 4.0
    # A response that is 3 % off would be noticed.
    response = exact.queueing.mean_response_time
    assert abs(z_score(found.queueing.mean_response_time, 1.03 * response)) > 4.0


def test_simulated_quantiles_agree_with_the_formula():
    scenario = queue(load=0.7)
    exact, found = evaluate(scenario, "fixed:2"), simulate(scenario, "fixed:2", jobs=50_000, seed=3)
    for name in ("wait_quantiles", "response_quantiles"):
        for level, truth in getattr(exact.queueing, name).items():
            low, high = getattr(found.queueing, name)[level].interval
            half = (high - low) / 2.0
            assert low - half <= truth <= high + half  # twice the 95 % interval
            assert half < 0.05 * max(truth, 0.1)


def test_classes_share_one_queue():
    classes = [JobClass("a", 4.0, CURVE), JobClass("b", 1.0, [1, 1.9], mean_size=3.0)]
    scenario = Scenario(Workload(classes), 10, waiting=math.inf)
    exact = evaluate(scenario, "fixed:1")
    found = simulate(scenario, "fixed:1", jobs=40_000, replications=32, seed=2)
    for part, truth in zip(found.classes, exact.classes, strict=True):
        # Every class has a width of 1, so both wait alike.
        assert truth.queueing.mean_wait == pytest.approx(exact.queueing.mean_wait, rel=1e-9)
        assert abs(z_score(part.queueing.mean_wait, truth.queueing.mean_wait)) < 4.0
        whole = truth.queueing.mean_wait + truth.mean_execution_time
        assert truth.queueing.mean_response_time == pytest.approx(whole)


def test_a_bounded_slowdown_uses_ten_seconds_by_habit():
    jobs = JobClass("jobs", 12.0, CURVE)
    scenario = Scenario(Workload([jobs]), 16, waiting=math.inf, time_unit="minutes")
    answer = simulate(scenario, jobs=5000, replications=8, seed=1)
    assert answer.slowdown_threshold == pytest.approx(10 / 60)
    assert 1.0 < answer.queueing.bounded_slowdown < 20.0
    other = simulate(scenario, jobs=5000, replications=8, seed=1, slowdown_threshold="1 min")
    assert other.slowdown_threshold == 1.0
    assert other.queueing.bounded_slowdown < answer.queueing.bounded_slowdown
    unitless = simulate(queue(), jobs=5000, replications=8, seed=1)
    assert unitless.queueing.bounded_slowdown is None


def test_the_mean_slowdown_is_infinite_where_sizes_come_close_to_zero():
    exponential = simulate(queue(), jobs=5000, replications=8, seed=1).queueing
    assert math.isinf(exponential.slowdown)
    assert exponential.to_dict()["slowdown"] is None
    lognormal = simulate(queue(size="lognormal:1"), jobs=5000, replications=8, seed=1).queueing
    assert 1.0 < lognormal.slowdown < 10.0


def test_sizes_without_a_variance_keep_what_is_valid():
    answer = simulate(queue(size="pareto:1.5"), jobs=5000, replications=8, seed=1)
    assert answer.queueing.mean_wait.interval is None
    assert answer.queueing.wait_probability.interval is not None
    assert any("wait probability and the quantiles are valid" in w for w in answer.warnings)


def test_json_has_every_key_with_its_interval():
    for answer in (evaluate(queue(), "fixed:2"), simulate(queue(), jobs=2000, seed=1)):
        found = json.loads(json.dumps(answer.to_dict()))
        for key in KEYS:
            assert key in found
            assert f"{key}_interval" in found
        assert found["response_bound"] == pytest.approx(0.6125500399, rel=1e-9)
        assert found["response_bound_interval"] == [found["response_bound"]] * 2
        assert found["inputs"]["scenario"]["waiting"] == "unlimited"
    limited = evaluate(queue(waiting=3), "fixed:2").to_dict()
    assert limited["response_bound"] is limited["response_bound_interval"] is None
    assert "mean_wait" not in evaluate(queue(waiting=0), "fixed:2").to_dict()


def test_the_bound_lies_below_every_policy():
    for load in (0.3, 0.6, 0.8):
        for policy in ("even-price", "fixed:1", "idle-share"):
            answer = evaluate(queue(servers=10, load=load), policy)
            assert answer.response_bound < answer.queueing.mean_response_time


def test_policies_are_compared_by_response_and_blocking():
    found = compare(queue(), ["even-price", "fixed:2", "fixed:1", "equi"])
    assert found.pareto_optimal == ("even-price",)
    gaps = [part.mean_response_time_difference.value for part in found.policies]
    assert gaps[0] == 0.0
    assert gaps[1] > 0.0 > gaps[3]
    limited = compare(queue(waiting=2), ["even-price", "fixed:1", "fixed:5"])
    assert len(limited.pareto_optimal) >= 2  # less blocking or shorter responses


def test_a_queue_that_grows_without_limit_is_refused_before_anything_is_solved():
    for ask in (evaluate, lambda *given: compare(given[0], [given[1]])):
        with pytest.raises(UnstableError, match=r"load 0.68.* not 0.8; the even price carries 1"):
            ask(queue(servers=40), "greedy")


def test_a_simulated_queue_that_grows_is_refused_rather_than_averaged():
    with pytest.raises(UnstableError, match=r"load 0.68.* not 0.8; the even price carries 1"):
        simulate(queue(servers=40), "greedy", jobs=20_000, replications=8, seed=1)
    overloaded = queue(servers=10, load=1.3, size="lognormal:2")
    with pytest.raises(UnstableError, match="grew throughout the run"):
        simulate(overloaded, "fixed-strict:3", jobs=20_000, replications=8, seed=1)


def test_what_waiting_does_not_have_is_refused():
    with pytest.raises(SimulationError, match="completed_only"):
        simulate(queue(), estimator="completed_only")
    with pytest.raises(ChainError, match="no closed form"):
        evaluate(queue(), "even-price", method="closed-form")
    with pytest.raises(SimulationError, match="slowdown_threshold=1 has no effect"):
        simulate(queue(waiting=0), slowdown_threshold=1)
    with pytest.raises(ChainError, match="exponential sizes only"):
        evaluate(queue(size="lognormal:2"), "equi")


@pytest.mark.parametrize("waiting", [0, 5, math.inf])
def test_the_same_seed_gives_the_same_numbers_on_any_number_of_threads(waiting):
    scenario = queue(size="lognormal:2", waiting=waiting)
    one, two = (
        simulate(scenario, "fixed:2", jobs=3000, replications=8, seed=4, threads=threads)
        for threads in (1, 2)
    )
    assert (one.blocking, one.queueing) == (two.blocking, two.queueing)


def test_an_unstable_policy_does_not_hide_the_others():
    found = compare(queue(), ["greedy", "fixed:2", "equi", "fixed:1"])
    assert [part.name for part in found.policies] == ["fixed:2", "equi", "fixed:1"]
    assert found.pareto_optimal == ("fixed:2",)
    assert (
        "it can carry load 0.7 here, not 0.8; the even price carries 1" in found.unstable["greedy"]
    )
    assert found.policies[0].mean_response_time_difference.value == 0.0
    assert found.to_dict()["unstable"] == found.unstable
    assert "unstable: greedy" in repr(found)
    alone = evaluate(queue(), "fixed:1").queueing
    assert found.policies[-1].performance.queueing == alone


def test_policies_that_are_all_unstable_are_an_error():
    with pytest.raises(UnstableError, match="fixed width 4"):
        compare(queue(), ["greedy", "fixed:4"])


def test_at_its_largest_load_a_policy_is_not_said_to_carry_it():
    with pytest.raises(UnstableError, match="it can carry loads below 1 here, not 1: lower"):
        evaluate(queue(load=1.0), "even-price")


def test_loads_that_hardly_differ_are_told_apart():
    with pytest.raises(UnstableError, match=r"it can carry load 0.7 here, not 0.7001; the even"):
        evaluate(queue(load=0.7001), "greedy")


def test_a_queue_that_changes_too_slowly_to_be_simulated_is_named_as_the_reason():
    with pytest.raises(SimulationError, match=r"queue changes so slowly.*fewer waiting places"):
        simulate(queue(load=0.69999), "greedy", seed=1)


def mean_wait_in_m_d_c(slots, arrivals, service):
    """The exact mean wait of M/D/c, by Crommelin's argument.

    Who is in service now has left after one service time, so the number of jobs then is what waits
    now plus the arrivals in between.
    """
    size = 400
    mean = arrivals * service
    logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(size)]
    poisson = np.exp(logs)
    matrix = np.zeros((size, size))
    for jobs in range(size):
        left = max(jobs - slots, 0)
        matrix[jobs, left:] = poisson[: size - left]
        matrix[jobs, -1] += 1.0 - matrix[jobs].sum()
    law = np.linalg.solve(
        np.vstack([(matrix.T - np.eye(size))[1:], np.ones(size)]), np.eye(size)[-1]
    )
    return float(law @ np.maximum(np.arange(size) - slots, 0)) / arrivals


@pytest.mark.parametrize(("servers", "load"), [(2, 0.6), (8, 0.7), (12, 0.8)])
def test_deterministic_sizes_wait_as_in_m_d_c(servers, load):
    scenario = queue(servers=servers, load=load, size="deterministic")
    found = simulate(scenario, "fixed:2", jobs=60_000, replications=32, seed=8)
    truth = mean_wait_in_m_d_c(servers // 2, servers * load, 1 / 1.8)
    assert abs(z_score(found.queueing.mean_wait, truth)) < 4.0
    assert abs(z_score(found.queueing.mean_wait, 1.1 * truth)) > 4.0


TWO = Workload(
    [
        JobClass("a", 4.0, CURVE[:3], size="lognormal:1"),
        JobClass("b", 1.0, [1, 1.9], mean_size=2.0),
    ]
)
# Blocking and mean execution time by the version without waiting places. Both follow from counts;
# only the order in which numpy adds the products for the mean time depends on the processor.
WITHOUT_QUEUES = [
    (queue(waiting=0), "greedy-p", 0.24762223991285037, 0.4278368695587607),
    (queue(waiting=0), "fixed:2", 0.17946245125581786, 0.5555555555555556),
    (queue(waiting=0, size="lognormal:2"), "greedy-p", 0.25575, 0.43264409858296327),
    (queue(waiting=0, size="lognormal:2"), "fixed:2", 0.18704166666666666, 0.5555555555555556),
    (
        Scenario(TWO, 10, "mmpp:0.2,3:0.5,1", waiting=0),
        "greedy-p",
        0.3749166666666667,
        0.603731744149513,
    ),
]


@pytest.mark.parametrize(("scenario", "policy", "blocking", "time"), WITHOUT_QUEUES)
def test_no_waiting_places_give_the_numbers_of_before_bit_by_bit(scenario, policy, blocking, time):
    found = simulate(scenario, policy, jobs=3000, replications=8, seed=4)
    assert found.queueing is None
    assert found.blocking.value == blocking
    assert found.mean_execution_time.value == pytest.approx(time, rel=1e-14, abs=0)
