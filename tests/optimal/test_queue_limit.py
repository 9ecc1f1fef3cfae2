"""The least mean response time under a limit on blocking."""

from __future__ import annotations

import math

import pytest

from moldable import JobClass, Scenario, Workload, evaluate
from moldable.errors import ChainError, InfeasibleError
from moldable.optimal import least_response, optimal_queueing

CURVE = [1, 1.8, 2.5, 3, 3.4]
CLUSTER = Scenario.single(CURVE, 0.8, 9, waiting=2)
PAIR = Workload([JobClass("a", 3.0, CURVE[:3]), JobClass("b", 1.0, [1, 1.9], mean_size=1.5)])


@pytest.mark.parametrize("scenario", [CLUSTER, Scenario(PAIR, 7, waiting=3)], ids=["one", "two"])
@pytest.mark.parametrize("cost", [1.5, 4.0, 20.0])
def test_the_optimum_at_a_cost_is_the_least_response_at_its_blocking(scenario, cost):
    best = optimal_queueing(scenario, cost)
    found = least_response(scenario, best.blocking)
    assert found.blocking == pytest.approx(best.blocking, rel=1e-9)
    assert found.mean_response_time == pytest.approx(best.mean_response_time, rel=3e-6)
    assert found.lower_bound <= best.mean_response_time * (1 + 1e-12)
    assert found.gap < 3e-6


def test_between_two_policies_the_optimum_is_their_mixture():
    few, many = optimal_queueing(CLUSTER, 30.0), optimal_queueing(CLUSTER, 1.0)
    for share in (0.2, 0.7):
        blocking = share * few.blocking + (1.0 - share) * many.blocking
        mixed = share * few.accepted_time + (1.0 - share) * many.accepted_time
        found = least_response(CLUSTER, blocking)
        assert found.blocking == pytest.approx(blocking, rel=1e-9)
        assert found.mean_response_time < mixed / (1.0 - blocking)
        waited = found.mean_response_time - found.mean_wait
        assert 1 / 3.4 < waited < 1.0
        assert 0.0 < found.wait_probability < 1.0


def test_no_policy_within_the_limit_is_faster():
    for policy in ("even-price", "idle-share", "fixed:1", "fixed:3", "greedy", "even-price:1,5"):
        answer = evaluate(CLUSTER, policy)
        least = least_response(CLUSTER, answer.blocking.value)
        assert least.lower_bound <= answer.queueing.mean_response_time.value * (1 + 1e-12)
        assert least.blocking <= answer.blocking.value * (1 + 1e-12)


def test_a_limit_that_does_not_bind_gives_the_least_response_of_all():
    loose, looser = least_response(CLUSTER, 0.6), least_response(CLUSTER, 0.9)
    assert loose.blocking == looser.blocking < 0.6
    assert loose.mean_response_time == looser.mean_response_time
    assert evaluate(CLUSTER, "greedy").queueing.mean_response_time >= loose.lower_bound


@pytest.mark.parametrize(
    ("scenario", "limit", "error", "message"),
    [
        (CLUSTER, 1e-4, InfeasibleError, "was not reached on 9 servers"),
        (CLUSTER, 1.5, ChainError, "max_blocking"),
        (Scenario.single(CURVE, 0.8, 9, waiting=math.inf), 0.1, ChainError, "no job is blocked"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(scenario, limit, error, message):
    with pytest.raises(error, match=message):
        least_response(scenario, limit)
