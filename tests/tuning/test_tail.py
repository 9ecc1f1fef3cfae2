"""Blocking too rare to count is reached by strides, and limits are refused where it turns."""

from __future__ import annotations

import math

import pytest

from moldable import (
    Deterministic,
    JobClass,
    MoldableError,
    PricePolicy,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
)
from moldable.tuning.knob import Knob
from moldable.tuning.tail import strode, turned_down
from moldable.tuning.trials import Trials


def knob(q0, ell):
    # Like the tuner's own, it stops where no price changes a decision any more.
    return Knob(q0, lambda value: PricePolicy.exponential(min(value, 100.0), ell), 0.05)


def test_a_limit_too_rare_to_count_is_reached():
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.6, 100)
    found, slope = turned_down(
        Trials(scenario.workload, 100, 1, None), knob(1.5, 10.0), 0.3, 1e-4, 1e-6
    )
    assert slope < 0.0
    ratio = evaluate(scenario, found.policy, method="chain").blocking.value / 1e-6
    assert 0.5 < ratio < 2.0


def test_a_slack_system_begins_with_the_widest_jobs():
    # All prices up to q0 = -1 are one table, that of the widest jobs, with blocking of 2e-6.
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.3, 60)
    widest = evaluate(scenario, PricePolicy.exponential(-4.0, 8.0)).blocking.value
    found, _ = turned_down(
        Trials(scenario.workload, 60, 1, None), knob(-4.0, 8.0), 0.3, 1e-4, widest / 100
    )
    ratio = evaluate(scenario, found.policy, method="chain").blocking.value / widest
    assert 0.002 < ratio < 0.05


def test_a_limit_kept_at_once_leaves_the_knob_alone():
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.3, 60)
    found, slope = turned_down(
        Trials(scenario.workload, 60, 1, None), knob(-4.0, 8.0), 0.3, 1e-4, 0.9
    )
    assert (found.value, slope) == (-4.0, 0.0)


def test_a_limit_below_the_least_that_prices_reach_is_refused():
    # At n = 100 and load 0.8 blocking turns near 2e-3 as widths fall to one.
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.8, 100)
    with pytest.raises(MoldableError, match="the least blocking found is"):
        turned_down(Trials(scenario.workload, 100, 1, None), knob(1.5, 10.0), 0.3, 1e-2, 1e-8)


def test_strides_grow_until_they_show_something():
    asked = []

    def log_blocking(value):
        asked.append(value)
        return -9.0 - 0.01 * value

    found, slope = strode(log_blocking, lambda at, k: at + k, knob(0.0, 1.0), -9.0, 1e-7)
    assert log_blocking(found.value) == pytest.approx(math.log(1e-7))
    assert slope == pytest.approx(-0.01)
    assert len(asked) < 20  # 711 strides of one


def test_sizes_without_phases_are_carried_on_from_what_can_be_counted():
    curve = SpeedUp([1, 1.8, 2.5])
    workload = Workload((JobClass("jobs", 14.0, curve, size=Deterministic()),))
    trials = Trials(workload, 40, 1, None)
    trials.measure = lambda policies, _: [
        (math.exp(-4.0 - 3.0 * policy.price.q0), 0.5) for policy in policies
    ]
    found, slope = turned_down(trials, knob(1.5, 5.0), 0.3, 1e-4, 1e-7)
    assert -4.0 - 3.0 * found.value == pytest.approx(math.log(1e-7))
    assert slope == pytest.approx(-3.0)
    trials.measure = lambda policies, _: [(0.0, 0.5)] * len(policies)
    with pytest.raises(MoldableError, match="narrower jobs stop helping"):
        turned_down(trials, knob(1.5, 5.0), 0.3, 1e-4, 1e-7)
