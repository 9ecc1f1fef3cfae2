"""Trade-offs side by side: the best of each family at every price."""

from __future__ import annotations

import pytest

from moldable import (
    Greedy,
    JobClass,
    MoldableError,
    PricePolicy,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
    families,
    tune,
)
from tuning.systems import cost

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
PRICES = (1.0, 4.0, 16.0)


def test_price_policies_come_close_to_the_optimum_and_are_what_their_numbers_say():
    scenario = Scenario.single(CURVE, 0.8, 20)
    found = families(scenario.workload, 20, PRICES, seed=1)
    for control, own, static in zip(
        found.optimum.controls, found.price_policy, found.static, strict=True
    ):
        again = evaluate(scenario, PricePolicy.exponential(*own.numbers))
        assert again.blocking == own.performance.blocking
        assert control.cost * (1 - 1e-9) <= cost(own.performance, own.price) < 1.01 * control.cost
        if own.price == PRICES[0]:  # both give every job four servers, which fill the cluster
            assert cost(own.performance, own.price) == cost(static.performance, own.price)
        else:
            assert cost(own.performance, own.price) < cost(static.performance, own.price)
    assert found.greedy.blocking == evaluate(scenario, Greedy()).blocking


def test_the_price_policy_of_a_trade_off_is_as_good_as_the_tuned_one():
    scenario = Scenario.single(CURVE, 0.7, 30)
    found = families(scenario.workload, 30, [8.0], seed=1)
    tuned = tune(scenario.workload, 30, blocked_job_price=8.0, seed=1)
    assert cost(found.price_policy[0].performance, 8.0) < 1.002 * cost(tuned.performance, 8.0)


def test_a_load_that_cannot_be_carried_has_no_shares_of_the_papers():
    found = families(Scenario.single(CURVE, 1.2, 12).workload, 12, [4.0], seed=1)
    assert found.greedy_p is None
    assert found.to_dict()["greedy_p"] is None
    assert cost(found.price_policy[0].performance, 4.0) <= cost(found.greedy, 4.0)


def test_prices_are_laid_beside_one_another_in_ascending_order_each_once():
    found = families(Scenario.single(CURVE, 0.8, 10).workload, 10.0, [8.0, 2.0, 8.0], seed=1)
    rows = (found.optimum.controls, found.price_policy, found.static)
    assert [[part.price for part in row] for row in rows] == [[2.0, 8.0]] * 3


def test_the_static_family_is_as_good_as_beside_a_tuned_price():
    scenario = Scenario.single(CURVE, 0.8, 20)
    static = families(scenario.workload, 20, [2.0], seed=1).static[0]
    tuned = tune(scenario.workload, 20, blocked_job_price=2.0, seed=1).static
    assert cost(static.performance, 2.0) == pytest.approx(cost(tuned.performance, 2.0), rel=1e-6)


def test_long_tails_are_named_by_a_third_number():
    """NEMO on Skylake nodes (UoB-HPC/benchmarks): two run it 2.22 times as fast as one."""
    scenario = Scenario.single(SpeedUp({1: 1.0, 2: 2.22, 4: 5.295, 8: 9.099}), 0.8, 20)
    (own,) = families(scenario.workload, 20, [16.0], seed=1).price_policy
    again = evaluate(scenario, PricePolicy.long_tailed(*own.numbers))
    assert again.blocking == own.performance.blocking


def test_weights_are_said_not_to_count():
    pair = JobClass("a", 4.0, SpeedUp([1, 1.7])), JobClass("b", 2.0, SpeedUp([1, 1.9]), weight=2.0)
    told = families(Workload(pair), 8, [4.0], seed=1).to_dict()["warnings"]
    assert any("weights (a 1, b 2)" in words for words in told)


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ([], "no price was given"),
        (4.0, "no list of prices"),
        ([-1.0], "at least 0"),
        ([0], "above 0"),
    ],
)
def test_bad_prices_are_refused(prices, message):
    with pytest.raises(MoldableError, match=message):
        families(Scenario.single(CURVE, 0.8, 10).workload, 10, prices, seed=1)


@pytest.mark.parametrize("bad", [{"seed": -1}, {"threads": 0}, {"precision": 2.0}])
def test_bad_numbers_are_refused_before_any_work(bad):
    with pytest.raises(MoldableError, match="must"):
        families(Scenario.single(CURVE, 0.8, 20).workload, 20, PRICES, **bad)
