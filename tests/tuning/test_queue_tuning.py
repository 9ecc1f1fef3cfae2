"""Policies tuned for clusters that queue."""

from __future__ import annotations

import json
import math
import pickle

import pytest

from moldable import JobClass, Scenario, Workload, evaluate, tune
from moldable.arrivals import ArrivalTimes
from moldable.errors import ControlError, UnstableError
from moldable.optimal import optimal_queueing
from moldable.tuning.queue_evaluator import QueueEvaluator
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.queue_tuning import QueueSearch, pattern_search

CURVE = [1, 1.8, 2.5]
TWO = Workload([JobClass("a", 3.0, CURVE), JobClass("b", 1.0, [1, 1.9], 1.5)])
APART = Workload([JobClass("a", 2.0, CURVE), JobClass("b", 0.5, {2: 1.0, 4: 1.7}, 1.5)])


def queue(load=0.8, servers=8, waiting=math.inf, curve=CURVE, **options):
    return Scenario.single(curve, load, servers, waiting=waiting, **options)


def response(answer):
    return answer.queueing.mean_response_time.value


@pytest.mark.parametrize(
    "scenario",
    [
        queue(),
        queue(load=0.97, servers=4),
        queue(load=0.7, servers=10, curve={1: 1, 2: 1.8, 4: 3.0, 8: 4.5}),
        queue(load=0.35, curve={2: 1.0, 4: 1.8}),
        queue(servers=1, curve=[1.0]),
        Scenario(TWO, 8, waiting="unlimited"),
        Scenario(APART, 8, waiting="unlimited"),
    ],
    ids=["plain", "near 1", "gaps", "widths from 2", "one server", "two classes", "apart"],
)
def test_the_tuned_policy_is_between_the_optimum_and_every_simple_policy(scenario):
    tuned = tune(scenario, seed=1)
    assert tuned.performance.method != "simulate"
    assert response(tuned.performance) <= response(evaluate(scenario, "even-price")) * (1 + 1e-9)
    for width in range(1, 9):
        try:
            fixed = evaluate(scenario, f"fixed:{width}", method="chain")
        except ValueError:  # no class has it, or it is not stable
            continue
        assert response(tuned.performance) <= response(fixed) * (1 + 1e-9)
    if tuned.optimum is not None:
        best = optimal_queueing(scenario).mean_response_time
        assert best * (1 - 1e-4) <= response(tuned.performance) <= 1.03 * best
    assert response(tuned.performance) >= tuned.best_execution_time
    # The optimum is computed where all classes have the same narrowest width.
    narrowest = {int(each.speedup.widths[0]) for each in scenario.workload.classes}
    assert (tuned.optimum is None) == (len(narrowest) > 1)
    again = evaluate(scenario, tuned.policy)
    assert response(again) == pytest.approx(response(tuned.performance), rel=1e-9)


@pytest.mark.parametrize(
    ("places", "limit", "without", "figure"),
    [
        (math.inf, {"max_wait_probability": 0.5}, {}, lambda a: a.queueing.wait_probability),
        (math.inf, {"max_mean_wait": 0.15}, {}, lambda a: a.queueing.mean_wait),
        (6, {"max_blocking": 0.013}, {"blocking_cost": 0.1}, lambda a: a.blocking),
    ],
)
def test_a_limit_that_the_best_policy_breaks_is_kept_exactly(places, limit, without, figure):
    scenario = queue(load=0.7, waiting=places)
    tuned = tune(scenario, **limit, seed=1)
    ((name, value),) = limit.items()
    exact = evaluate(scenario, tuned.policy, method="auto")
    assert exact.method != "simulate"
    assert figure(exact).value <= value
    assert tuned.certified
    assert tuned.target == {name: value}
    free = evaluate(scenario, tune(scenario, **without, seed=1).policy)
    assert figure(free).value > value
    assert response(free) < response(exact)


def test_the_cost_of_blocking_is_minimised_as_in_the_optimum():
    scenario = queue(load=1.1, servers=6, waiting=5)
    tuned, best = tune(scenario, blocking_cost=3.0, seed=1), optimal_queueing(scenario, 3.0)
    lost = tuned.performance.blocking.value
    cost = (1.0 - lost) * response(tuned.performance) + 3.0 * lost
    assert best.cost * (1 - 1e-4) <= cost <= 1.02 * best.cost


@pytest.mark.parametrize(
    ("scenario", "limits", "error", "message"),
    [
        (queue(waiting=5), {}, ControlError, "give max_blocking"),
        (queue(), {"max_blocking": 0.1}, ControlError, "max_blocking=0.1 has no effect"),
        (queue(), {"max_time": 0.5}, ControlError, "max_mean_wait or max_wait_probability"),
        (queue(), {"max_mean_wait": -1}, ControlError, "max_mean_wait=-1 must be finite"),
        (queue(), {"max_wait_probability": 1.0}, ControlError, "above 0 and below 1"),
        (
            queue(),
            {"max_wait_probability": 0.1, "max_mean_wait": 0.1},
            ControlError,
            "at most one target",
        ),
        (queue(), {"max_mean_wait": 1e-6}, ControlError, "the least mean wait found is 0."),
        (queue(load=1.0), {}, UnstableError, "it can carry loads below 1 here"),
        (queue(load=1.2), {}, UnstableError, "it can carry load 1 here, not 1.2"),
    ],
)
def test_requests_that_cannot_be_met_are_refused_with_the_reason(scenario, limits, error, message):
    with pytest.raises(error, match=message):
        tune(scenario, **limits, seed=1)


def test_a_wide_curve_is_searched_for_its_best_fixed_width():
    curve = [1 / (0.03 + 0.97 / width) for width in range(1, 25)]
    scenario = queue(load=0.5, servers=24, curve=curve)
    evaluated = QueueEvaluator(scenario, precision=0.1, seed=1, threads=1)
    search = QueueSearch(scenario, QueueTarget.of(scenario), evaluated)
    found = search.fixed()
    dividing = [w for w in range(1, 25) if 24 % w == 0]
    stable = []
    for width in dividing:
        try:
            stable.append(response(evaluate(scenario, f"fixed:{width}")))
        except UnstableError:
            continue
    assert response(found.answer) <= min(stable)
    assert found.policy.width >= 8
    assert len(search.found) < 20


def test_a_list_of_arrival_times_has_no_bound_and_no_load_of_its_own():
    times = [0.5 * k for k in range(400)]
    scenario = queue(load=5.0, servers=8, arrivals=ArrivalTimes(times))
    answer = evaluate(scenario, "greedy", seed=1, precision=0.2)
    assert answer.response_bound is None
    assert response(answer) < 1.0


def test_simulated_policies_are_certified_on_other_random_numbers():
    scenario = queue(servers=6, size="deterministic")
    tuned = tune(scenario, max_wait_probability=0.6, seed=3, precision=0.05, threads=1)
    assert tuned.performance.method == "simulate"
    assert tuned.certified
    assert tuned.performance.queueing.wait_probability.interval[1] <= 0.6
    assert tuned.seed == 3


def test_a_result_is_plain_data():
    tuned = tune(queue(servers=4), seed=1)
    found = tuned.to_dict()
    json.dumps(found, allow_nan=False)
    assert pickle.loads(pickle.dumps(tuned)).to_dict() == found  # noqa: S301 - our own bytes
    assert "least_response" in repr(tuned)
    assert found["family"] == tuned.family


@pytest.mark.parametrize("start", [(0.0, 0.0), (2.0, -1.0)])
def test_a_pattern_search_comes_closer_to_the_least_point(start):
    def square(point):
        return (point[0] - 0.7) ** 2 + (point[1] - 0.2) ** 2

    found = pattern_search(square, start, (0.4, 0.4))
    assert square(found) < max(0.1, 0.3 * square(start))


def test_a_pattern_search_stays_where_nothing_else_is_allowed():
    assert pattern_search(lambda p: 0.0 if p == (1.0,) else math.inf, (1.0,), (0.5,)) == (1.0,)


def test_a_limit_far_from_the_best_response_is_used_better_than_by_any_price_of_a_grid():
    scenario = queue(servers=16, waiting=1, curve=[1, 1.8, 2.5, 3, 3.4])
    tuned = tune(scenario, max_blocking=0.2, seed=1)
    grid = [
        evaluate(scenario, f"even-price:{q0},{ell}") for q0 in (0.4, 0.8, 1.2) for ell in (4, 8, 16)
    ]
    kept = [response(one) for one in grid if one.blocking.value <= 0.2]
    assert tuned.performance.blocking.value <= 0.2
    assert response(tuned.performance) <= 1.005 * min(kept)
