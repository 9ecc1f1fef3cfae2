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
from moldable.tuning.evaluator import QueueEvaluator
from moldable.tuning.line_search import nearly_used_up, pattern_search
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.queue_tuning import QueueSearch

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
        pytest.param(queue(load=0.97, servers=4), marks=pytest.mark.long),
        pytest.param(
            queue(load=0.7, servers=10, curve={1: 1, 2: 1.8, 4: 3.0, 8: 4.5}),
            marks=pytest.mark.long,
        ),
        queue(load=0.35, curve={2: 1.0, 4: 1.8}),
        queue(servers=1, curve=[1.0]),
        pytest.param(Scenario(TWO, 8, waiting="unlimited"), marks=pytest.mark.long),
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
        assert best * (1 - 1e-4) <= response(tuned.performance) <= 1.02 * best
    assert response(tuned.performance) >= tuned.best_execution_time
    # The optimum is computed where all classes have the same narrowest width.
    narrowest = {int(each.speedup.widths[0]) for each in scenario.workload.classes}
    assert (tuned.optimum is None) == (len(narrowest) > 1)
    again = evaluate(scenario, tuned.policy)
    assert response(again) == pytest.approx(response(tuned.performance), rel=1e-9)


@pytest.mark.parametrize(
    ("places", "limit", "without", "figure"),
    [
        pytest.param(
            *(math.inf, {"max_wait_probability": 0.5}, {}, lambda a: a.queueing.wait_probability),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(math.inf, {"max_mean_wait": 0.15}, {}, lambda a: a.queueing.mean_wait),
            marks=pytest.mark.long,
        ),
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


@pytest.mark.parametrize(
    ("load", "servers", "places"), [(1.1, 6, 5), (0.7, 8, 3), (0.95, 8, 3), (1.2, 8, 10)]
)
def test_the_cost_of_blocking_is_minimised_as_in_the_optimum(load, servers, places):
    scenario = queue(load=load, servers=servers, waiting=places, curve=[1, 1.8, 2.5, 3, 3.4])
    tuned, best = tune(scenario, blocking_cost=3.0, seed=1), optimal_queueing(scenario, 3.0)
    lost = tuned.performance.blocking.value
    cost = (1.0 - lost) * response(tuned.performance) + 3.0 * lost
    assert best.cost * (1 - 1e-4) <= cost <= 1.01 * best.cost


@pytest.mark.parametrize(
    ("load", "servers", "places"),
    [
        pytest.param(0.7, 12, 3, marks=pytest.mark.long),
        (0.7, 8, 3),
        pytest.param(1.2, 8, 10, marks=pytest.mark.long),
    ],
)
def test_a_limit_on_blocking_is_used_up_by_drawing_between_tables(load, servers, places):
    scenario = queue(load=load, servers=servers, waiting=places, curve=[1, 1.8, 2.5, 3, 3.4])
    # The optimum for a cost has the least response of all policies that block as little.
    best = optimal_queueing(scenario, 8.0)
    tuned = tune(scenario, max_blocking=best.blocking, seed=1)
    assert 0.997 * best.blocking <= tuned.performance.blocking.value <= best.blocking
    least = best.mean_response_time
    assert least * (1 - 1e-4) <= response(tuned.performance) <= 1.005 * least
    assert tuned.optimum.mean_response_time == pytest.approx(least, rel=2e-5)
    assert tuned.optimum.blocking == pytest.approx(best.blocking, rel=1e-4)


def test_a_limit_on_waiting_has_the_optimum_without_it_as_a_bound():
    tuned = tune(queue(load=0.7), max_wait_probability=0.5, seed=1)
    best = optimal_queueing(queue(load=0.7))
    assert tuned.optimum is None
    assert tuned.limits_waiting
    bound = tuned.performance.response_bound
    assert bound == pytest.approx(best.mean_response_time, rel=2e-5)
    assert evaluate(queue(load=0.7), "equi").queueing.mean_response_time < 0.99 * bound
    assert bound <= response(tuned.performance)


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
        (queue(load=1.0), {}, UnstableError, "rate 8, but the servers complete at most 8 per"),
        (queue(load=1.2), {}, UnstableError, "load 1.2 must be below 1: lower it, add servers"),
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


@pytest.mark.long
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


def test_one_more_server_never_lengthens_the_response():
    jobs = Workload([JobClass("jobs", 6.0, {1: 1, 2: 1.8, 4: 3.0})])
    few, more = (Scenario(jobs, servers, waiting="unlimited") for servers in (8, 9))
    assert response(tune(more, seed=1).performance) <= response(tune(few, seed=1).performance)


def test_a_cluster_smaller_than_the_widest_width_is_tuned():
    found = tune(queue(load=0.6, servers=3, curve={1: 1, 2: 1.8, 4: 3.0}))
    best = optimal_queueing(queue(load=0.6, servers=3, curve={1: 1, 2: 1.8}))
    assert response(found.performance) < 1.03 * best.mean_response_time


@pytest.mark.parametrize("power", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("limit", [0.9, 0.2, 0.02])
def test_a_charge_that_nearly_uses_a_limit_up_is_found_with_few_evaluations(power, limit):
    tried = []

    def excess(charge):
        tried.append(charge)
        return (1.0 + charge) ** -power / limit

    high = 2.0 * limit ** (-1.0 / power)
    charge = nearly_used_up(excess, high)
    assert 0.95 <= (1.0 + charge) ** -power / limit <= 1.0
    assert len(tried) <= 6


def test_a_charge_is_found_although_the_queue_grows_without_it():
    charge = nearly_used_up(lambda x: math.inf if x < 1.0 else 4.0 / (1.0 + x), 63.0)
    assert 4.0 / (1.0 + charge) <= 1.0
    assert charge < 63.0
