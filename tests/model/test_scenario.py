"""Scenarios: what they hold, and what they refuse."""

from __future__ import annotations

import math
import pickle

import pytest

from moldable import (
    JobClass,
    Scenario,
    SpeedUp,
    Workload,
    compare,
    evaluate,
    greedy_p,
    reserve,
    reserve_whole,
    simulate,
    value_policy,
)
from moldable.arrivals import Poisson, Renewal
from moldable.errors import WorkloadError
from moldable.exact import stationary_law
from moldable.optimal import optimal_control
from moldable.sizes import Lognormal

CURVE = SpeedUp([1, 1.8, 2.5])


def value_policy_at_4(scenario):
    return value_policy(scenario, 4.0)


TWO = Workload((JobClass("a", 6.0, CURVE), JobClass("b", 3.0, CURVE, mean_size=2.0)))


def test_a_single_class_is_the_papers_workload_on_its_servers():
    scenario = Scenario.single(CURVE, 0.8, 100)
    (jobs,) = scenario.workload.classes
    assert jobs == JobClass("jobs", 80.0, CURVE)
    assert scenario.servers == 100
    assert scenario.arrivals == Poisson()
    assert scenario.load == pytest.approx(0.8, rel=1e-15)
    bursty = Scenario.single(CURVE, 0.8, 100, size=Lognormal(2.0), arrivals=Renewal(Lognormal(3.0)))
    assert bursty.workload.classes[0].size == Lognormal(2.0)
    assert bursty.arrivals == Renewal(Lognormal(3.0))


def test_the_load_is_offered_work_per_server_and_scales_all_rates_alike():
    scenario = Scenario(TWO, 16)
    assert scenario.load == pytest.approx((6.0 + 3.0 * 2.0) / 16)
    half = scenario.at_load(scenario.load / 2)
    assert [part.arrival_rate for part in half.workload.classes] == pytest.approx([3.0, 1.5])
    assert (half.servers, half.arrivals) == (16, scenario.arrivals)


def test_the_assumptions_list_every_size_law_once():
    laws = ("exponential", "lognormal:1", "exponential", "weibull:0.7")
    classes = tuple(JobClass(f"c{k}", 1.0, [1], size=law) for k, law in enumerate(laws))
    for count, sizes in ((1, "exponential"), (2, "exponential and lognormal:1")):
        scenario = Scenario(Workload(classes[:count]), 10)
        assert scenario.assumptions == f"Poisson arrivals, {sizes} sizes"
    every = "exponential, lognormal:1 and weibull:0.7 sizes"
    assert Scenario(Workload(classes), 10).assumptions == f"Poisson arrivals, {every}"


def test_a_scenario_is_a_value():
    scenario = Scenario(TWO, 16.0)
    assert scenario == Scenario(TWO, 16) != Scenario(TWO, 17)
    assert pickle.loads(pickle.dumps(scenario)) == scenario  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    "ask",
    [
        *(evaluate, simulate, stationary_law, reserve, reserve_whole, greedy_p),
        lambda *asked: compare(*asked, [None]),
        lambda *asked: optimal_control(*asked, 2.0),
    ],
)
def test_a_workload_alone_cannot_run_on_whatever_number_of_servers(ask):
    """A workload made for 20 servers would run on 40 at half its load, and nobody would notice."""
    made_for_20 = Scenario.single(CURVE, 0.8, 20).workload
    with pytest.raises((WorkloadError, TypeError)):
        ask(made_for_20, 40)
    with pytest.raises(WorkloadError, match=r"Workload, not Scenario; pass Scenario\(workload"):
        ask(made_for_20)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Scenario(TWO, 0), "servers=0 must be a whole number"),
        (lambda: Scenario(TWO, 4.5), "servers=4.5 must be a whole number"),
        (lambda: Scenario([JobClass("a", 1.0, CURVE)], 4), "list, not Workload"),
        (lambda: Scenario(TWO, 4, "poison"), "unknown arrivals 'poison'; did you mean 'poisson'"),
        (lambda: Scenario(TWO, 4, Poisson), "arrivals=.* is of type"),
        (lambda: Scenario.single(CURVE, -1, 4), "load=-1 must be finite and above 0"),
        (lambda: Scenario(TWO, 4).at_load(0), "load=0 must be finite and above 0"),
        (
            lambda: Scenario.single(SpeedUp({8: 6.0}), 0.5, 4),
            "class 'jobs': its narrowest width is 8, but there are 4 servers",
        ),
    ],
)
def test_what_is_not_a_scenario_is_refused(build, words):
    with pytest.raises(WorkloadError, match=words):
        build()


@pytest.mark.parametrize(
    ("given", "places", "written"),
    [
        (0, 0, 0),
        (3, 3, 3),
        (3.0, 3, 3),
        ("12", 12, 12),
        (math.inf, math.inf, "unlimited"),
        ("unlimited", math.inf, "unlimited"),
        (" Unlimited ", math.inf, "unlimited"),
    ],
)
def test_waiting_places_are_a_number_or_unlimited(given, places, written):
    scenario = Scenario(TWO, 16, waiting=given)
    assert scenario.waiting == places
    assert scenario.to_dict()["waiting"] == written
    assert Scenario.single(CURVE, 0.8, 16, waiting=given).waiting == places


@pytest.mark.parametrize("given", [-1, 2.5, -math.inf, math.nan, "many", None, True, 10**12])
def test_waiting_places_that_cannot_be_are_refused(given):
    with pytest.raises(WorkloadError, match="waiting="):
        Scenario(TWO, 16, waiting=given)


def test_classes_that_own_their_servers_have_no_common_queue():
    reserved = Workload(TWO.classes, "reserved")
    with pytest.raises(WorkloadError, match=r"waiting=5 waiting places, but 2 classes"):
        Scenario(reserved, 16, waiting=5)
    assert Scenario(Workload(TWO.classes[:1], "reserved"), 16, waiting=5).waiting == 5


@pytest.mark.parametrize(
    "ask", [stationary_law, lambda scenario: optimal_control(scenario, 4.0), value_policy_at_4]
)
def test_what_is_defined_for_lost_jobs_refuses_waiting_places(ask):
    with pytest.raises(WorkloadError, match=r"waiting=5: .* is defined for jobs that are lost"):
        ask(Scenario.single(CURVE, 0.8, 8, waiting=5))
