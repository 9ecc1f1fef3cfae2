"""Targets that cannot be reached: what is said of them, and what any policy could reach."""

from __future__ import annotations

import pytest

from moldable import Hyperexponential, JobClass, MoldableError, Scenario, SpeedUp, Workload, tune
from moldable.tuning import refusals
from moldable.tuning.yardstick import least_possible_blocking

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SMALL = Scenario.single(CURVE, 0.8, 16)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "exactly one"),
        ({"max_blocking": 0.1, "max_time": 1.0}, "exactly one"),
        ({"max_blocking": 0.0}, "above 0 and below 1"),
        ({"blocked_job_price": -4.0}, "below 1e\\+12, in mean sizes"),
        ({"blocked_job_price": 1e15}, "=1e\\+15 must be above 0 and below 1e\\+12"),
        ({"max_time": float("nan")}, "above 0"),
        ({"max_blocking": 0.001}, "the least blocking of any policy on 16 servers is"),
        ({"max_time": 0.1}, r"the least mean execution time of any policy on 16 servers is 0\.3"),
        ({"max_blocking": "0.1"}, "not a number"),
        ({"max_blocking": 0.1, "seed": -1}, "seed=-1 must be a whole number from 0"),
        ({"max_blocking": 0.1, "threads": 0}, "threads=0 must be a whole number from 1"),
    ],
)
def test_targets_that_are_none_or_out_of_reach_are_refused(target, message):
    with pytest.raises(MoldableError, match=message):
        tune(SMALL.workload, 16, **{"seed": 1, **target})


@pytest.mark.parametrize("least", [0.103514, 0.3, 1.0, 9.9999, 3.2e-9, 123456.0])
def test_a_least_value_is_told_so_that_it_can_be_asked_for(least):
    assert least <= float(refusals.rounded_up(least)) * (1 + 1e-12) <= 1.001 * least


def test_a_limit_out_of_the_family_s_reach_is_told_with_what_others_reach():
    scenario = Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.8, 10)
    with pytest.raises(MoldableError, match=r"not reached in this family; .* go down to 0\.45"):
        tune(scenario.workload, 10, max_time=0.46, seed=1)


def test_a_limit_that_no_policy_keeps_is_told_as_such_where_a_longer_programme_shows_it():
    scenario = Scenario.single(CURVE, 0.8, 40)
    with pytest.raises(MoldableError, match="least blocking of any policy on 40 servers is"):
        tune(scenario.workload, 40, max_blocking=0.02, seed=1)


def test_a_rare_limit_that_no_price_reaches_is_told_with_the_least_found(monkeypatch):
    monkeypatch.setattr(refusals, "MOST_STATES", 10)
    scenario = Scenario.single(CURVE, 0.9, 100)
    with pytest.raises(MoldableError, match="the least blocking found is"):
        tune(scenario.workload, 100, max_blocking=1e-7, seed=1)


def test_reserved_classes_have_no_common_price():
    reserved = Workload((JobClass("a", 4.0, CURVE), JobClass("b", 4.0, CURVE)), "reserved")
    with pytest.raises(MoldableError, match=r"these 2 classes own .* let them share"):
        tune(reserved, 16, max_blocking=0.1)


def test_only_the_family_is_spoken_of_where_the_programme_does_not_fit(monkeypatch):
    monkeypatch.setattr(refusals, "AT_ONCE", 10)
    monkeypatch.setattr(refusals, "MOST_STATES", 10)
    with pytest.raises(MoldableError, match="not reached in this family") as refusal:
        tune(SMALL.workload, 16, max_blocking=0.001, seed=1)
    assert "any policy" not in str(refusal.value)
    assert "policies outside it" not in str(refusal.value)


def test_a_load_that_no_programme_can_hold_is_refused_without_its_words():
    with pytest.raises(MoldableError, match=r"5e\+20 arrivals.* lower the load") as refusal:
        tune(Scenario.single(SpeedUp([1, 1.5]), 1e20, 5).workload, 5, max_blocking=0.5, seed=1)
    assert "tolerance" not in str(refusal.value)


def test_less_time_than_the_fastest_width_takes_is_refused_before_any_search():
    """Two hundred servers have too many states for the programme."""
    said = []
    with pytest.raises(
        MoldableError, match=r"max_time=0.29 .* even on the fastest .* 0.2942 .* allow"
    ):
        tune(Scenario.single(CURVE, 0.8, 200).workload, 200, max_time=0.29, progress=said.append)
    assert len(said) == 1


def test_widths_that_do_not_fit_make_nothing_faster(monkeypatch):
    monkeypatch.setattr(refusals, "AT_ONCE", 1)
    with pytest.raises(MoldableError, match=r"take 0\.4 on average"):
        tune(Scenario.single(CURVE, 0.5, 3).workload, 3, max_time=0.35, seed=1)


def test_the_least_blocking_is_not_told_where_rounding_hides_it():
    """Erlang's formula gives 1.7e-20, which no bound can prove."""
    assert least_possible_blocking(Scenario.single(CURVE, 0.01, 12).workload, 12) is None
    assert least_possible_blocking(Scenario.single(CURVE, 0.1, 12).workload, 12) == pytest.approx(
        5.606e-9
    )


def test_a_least_value_of_nothing_can_be_told():
    assert refusals.rounded_up(0.0) == "0"
    assert refusals.rounded_up(0.012341) == "0.01235"


def test_sizes_that_no_simulation_brings_to_equilibrium_are_refused_at_once():
    workload = Workload((JobClass("jobs", 24.0, CURVE, size=Hyperexponential(1e6)),))
    with pytest.raises(MoldableError, match=r"have 5e\+11 left on average.*smaller coefficient"):
        tune(workload, 30, max_blocking=0.08, seed=1)
