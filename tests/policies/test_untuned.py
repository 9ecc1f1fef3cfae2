"""A price without tuning: near the best where that is known exactly, sensible where it is not."""

from __future__ import annotations

import math

import pytest

from moldable import (
    JobClass,
    MoldableError,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
    optimal_control,
    untuned_price,
)

SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def numbers(curve, load, servers, price=8.0):
    policy = untuned_price(Scenario.single(curve, load, servers).workload, servers, price)
    return policy.price.q0, policy.price.ell


@pytest.mark.parametrize("load", [0.7, 0.8, 0.9])
@pytest.mark.parametrize("price", [4.0, 16.0])
@pytest.mark.parametrize(
    "curve", [SUB_LINEAR, SpeedUp.linear(3), SpeedUp([1, 1.699, 2.345, 2.797])]
)
def test_it_costs_a_few_per_cent_more_than_the_best_of_all_policies(curve, load, price):
    scenario = Scenario.single(curve, load, 20)
    found = evaluate(scenario, untuned_price(scenario.workload, 20, price), method="chain")
    blocking = found.blocking.value
    cost = (1 - blocking) * found.mean_execution_time.value + price * blocking
    least = optimal_control(scenario, price, tolerance=1e-4).cost
    assert least * (1 - 1e-4) <= cost <= 1.05 * least


def test_ell_is_the_same_number_of_square_roots_of_n_at_every_n():
    assert numbers(SUB_LINEAR, 0.8, 10_000)[1] == pytest.approx(
        10 * numbers(SUB_LINEAR, 0.8, 100)[1]
    )


def test_a_linear_curve_has_a_steeper_price():
    assert numbers(SpeedUp.linear(5), 0.8, 100)[1] < 0.6 * numbers(SUB_LINEAR, 0.8, 100)[1]


def test_the_price_never_exceeds_that_of_a_blocked_job():
    for price in (0.5, 2.0, 8.0):
        assert numbers(SUB_LINEAR, 0.8, 20, price)[0] <= math.log(price) + 1e-12


def test_q0_falls_with_n_but_not_below_the_shadow_price():
    values = [numbers(SUB_LINEAR, 0.9, n)[0] for n in (20, 200, 2000, 20_000, 20_000_000)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(math.log(1.75) + 0.94)  # the slope between widths 2 and 3


def test_an_overload_is_priced_about_like_blocked_jobs():
    assert numbers(SUB_LINEAR, 1.5, 100, 8.0)[0] == pytest.approx(math.log(8.0), abs=0.01)


def test_widths_that_double_cost_what_they_cost_a_doubling():
    doubling = numbers(SpeedUp({2: 1.0, 8: 2.56}), 0.3, 100)[1]  # 1.6 times as fast, twice
    assert doubling == pytest.approx(numbers(SpeedUp([1, 1.6]), 0.6, 100)[1])


def test_one_width_and_several_classes_are_served():
    assert numbers(SpeedUp([1.0]), 0.5, 50)[1] > 0
    pair = Workload((JobClass("a", 4.0, SUB_LINEAR), JobClass("b", 2.0, SpeedUp.linear(2))))
    assert untuned_price(pair, 10).price.ell > numbers(SpeedUp.linear(2), 0.6, 10)[1]


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_prices_are_refused(price):
    with pytest.raises(MoldableError, match="blocked job price"):
        untuned_price(Scenario.single(SUB_LINEAR, 0.8, 20).workload, 20, price)


def test_classes_that_own_their_servers_have_no_common_price():
    pair = JobClass("a", 4.0, SUB_LINEAR), JobClass("b", 4.0, SUB_LINEAR)
    with pytest.raises(MoldableError, match=r"made for one pool: let them share"):
        untuned_price(Workload(pair, "reserved"), 16)
