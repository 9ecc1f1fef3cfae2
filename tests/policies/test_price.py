"""A price for a server, set by how many are idle."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moldable import (
    Greedy,
    JobClass,
    PricePolicy,
    Scenario,
    SpeedUp,
    Workload,
    erlang_b,
    optimum,
    read_policy_file,
    reserve,
    stationary_law,
)
from moldable.errors import PolicyError
from moldable.files.policy_file import to_json
from moldable.policies.price import FORMS
from naive.price import cheapest
from strategies import curves, job_classes

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(PAPER, 0.8, 40)
(JOBS,) = SCENARIO.workload.classes

forms = st.sampled_from(FORMS)
exponentials = st.builds(PricePolicy.exponential, st.floats(-4.0, 8.0), st.floats(0.3, 40.0), forms)
long_tails = st.builds(
    PricePolicy.long_tailed,
    st.floats(-4.0, 8.0),
    st.floats(0.3, 40.0),
    st.floats(0.5, 20.0),
    forms,
)
power_laws = st.builds(PricePolicy.power_law, st.floats(0.01, 1e3), st.floats(0.0, 4.0), forms)
tables = st.builds(
    lambda prices, form: PricePolicy.from_prices(sorted(prices, reverse=True), form),
    st.lists(st.floats(0.0, 20.0), min_size=1, max_size=25),
    forms,
)
policies = st.one_of(exponentials, long_tails, power_laws, tables)


def of_curve(curve, weight=1.0):
    return JobClass("jobs", 1.0, curve, weight=weight)


def widths_by_idle(policy, job_class, servers):
    """What is granted with the narrowest width's count of idle servers, and with more."""
    first = int(job_class.speedup.widths[0])
    return [next(iter(policy.decide(job_class, idle))) for idle in range(first, servers + 1)]


@given(curves(12), policies, st.integers(0, 60), st.floats(0.1, 5.0))
def test_decisions_are_the_cheapest_width_found_by_trying_all(curve, policy, idle, weight):
    def price(count):
        return float(policy.price.at(np.array([count]))[0])

    speedups = dict(zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True))
    found = cheapest(speedups, price, idle, policy.form, weight)
    job_class = of_curve(curve, weight)
    assert list(policy.minimisers(job_class, idle)) == found
    assert policy.decide(job_class, idle) == {(found or curve.widths.tolist())[0]: 1.0}


def test_prices_are_what_their_names_say():
    idle = np.array([1, 2, 10])
    assert PricePolicy.exponential(1, 4).price.at(idle) == pytest.approx(
        [math.exp(1 - z / 4) for z in (1, 2, 10)], rel=1e-15
    )
    assert PricePolicy.long_tailed(1, 4, 2).price.at(idle) == pytest.approx(
        [math.e / (1 + z / 8) ** 2 for z in (1, 2, 10)], rel=1e-15
    )
    assert PricePolicy.power_law(3, 2).price.at(idle) == pytest.approx([3 / 4, 3 / 9, 3 / 121])
    assert PricePolicy.constant(0.3).price.at(idle).tolist() == [0.3] * 3
    assert PricePolicy.from_prices([2, 1, 0.5]).price.at(idle).tolist() == [2, 1, 0.5]


def test_a_long_tail_lies_between_the_power_law_and_the_exponential():
    idle = np.arange(1, 100)
    steep = PricePolicy.long_tailed(1, 4, 1e9).price.at(idle)
    assert steep == pytest.approx(PricePolicy.exponential(1, 4).price.at(idle), rel=1e-6)
    power = PricePolicy.long_tailed(math.log(3), 0.5, 2).price.at(idle)
    assert power == pytest.approx(PricePolicy.power_law(3, 2).price.at(idle), rel=1e-12)


@given(curves(10), policies, st.integers(1, 80))
@settings(max_examples=50)
def test_from_the_reach_on_nothing_changes_and_just_before_it_something_does(
    curve, policy, servers
):
    job_class = of_curve(curve)
    reach = policy.reach(job_class, servers)
    widths = [policy.minimisers(job_class, idle)[:1] for idle in range(servers + 1)]
    assert reach <= servers
    assert len(set(widths[reach:])) == 1
    assert reach == 0 or widths[reach - 1] != widths[reach]


@given(curves(30), st.one_of(exponentials, long_tails, power_laws))
def test_widths_never_fall_with_more_idle_if_the_price_falls_ever_more_slowly(curve, policy):
    granted = widths_by_idle(policy, of_curve(curve), 80)
    assert granted == sorted(granted)


@given(
    curves(30),
    st.builds(PricePolicy.from_prices, tables.map(lambda p: p.price.prices), st.just("present")),
)
def test_widths_never_fall_in_the_present_form_whatever_the_price(curve, policy):
    granted = widths_by_idle(policy, of_curve(curve), 80)
    assert granted == sorted(granted)


def test_a_price_that_drops_from_a_cliff_can_make_a_job_narrower():
    policy = PricePolicy.from_prices([10, 10, 10, 0])
    assert widths_by_idle(policy, of_curve(SpeedUp.linear(2)), 5) == [1, 2, 2, 1, 2]


@given(curves(60), st.floats(0.01, 1.0), forms)
def test_at_the_constant_shadow_price_the_cheapest_widths_are_the_optimums(curve, share, form):
    best = optimum(curve, share * float(np.max(curve.speedups / curve.widths)))
    assume(best.unique)
    policy = PricePolicy.constant(best.shadow_price, form)
    found = policy.minimisers(of_curve(curve), 10_000)
    if len(best.support) == 2 or best.shadow_price == 0.0:
        assert found == best.support
    else:  # at a vertex that price is one end of those that single it out
        assert set(best.support) < set(found)
        left = -best.frontier.slope_left(best.mix)
        inside = min(2.0 * best.shadow_price, (best.shadow_price + left) / 2.0)
        middle = PricePolicy.constant(inside, form)
        assert middle.minimisers(of_curve(curve), 10_000) == best.support


@given(job_classes(4, 12), st.floats(0.05, 0.95), forms)
def test_one_constant_price_divides_a_cluster_among_classes_as_the_optimum_does(
    classes, load, form
):
    # Server-time at each class's most efficient width is the least that all need.
    least = sum(c.offered * float(np.min(c.speedup.widths / c.speedup.speedups)) for c in classes)
    servers = math.ceil(least / load) + max(int(c.speedup.widths[-1]) for c in classes)
    division = reserve(Scenario(Workload(classes), servers))
    policy = PricePolicy.constant(division.shadow_price, form)
    for part in division.classes:
        assert set(part.support) <= set(policy.minimisers(part.job_class, 10_000))


@given(policies, st.integers(1, 4), st.integers(1, 6), st.floats(0.2, 1.2))
@settings(max_examples=25, deadline=None)
def test_one_width_is_erlangs_loss_system_whatever_the_price(policy, width, slots, load):
    servers = width * slots
    job_class = JobClass("jobs", slots * load, SpeedUp({width: 1.0}))
    law = stationary_law(Scenario(Workload((job_class,)), servers), policy, method="chain")
    blocking = law.performance().blocking.value
    assert blocking == pytest.approx(erlang_b(slots, slots * load), rel=1e-9)


@given(st.integers(1, 12), st.floats(-4.0, 8.0), st.floats(0.3, 40.0))
def test_on_a_linear_curve_the_present_form_is_greedy(d, q0, ell):
    scenario = Scenario.single(SpeedUp.linear(d), 0.8, 30)
    policy = PricePolicy.exponential(q0, ell, "present")
    one, two = (each.tabulate(scenario.workload, (30,)).rows[0] for each in (policy, Greedy()))
    assert np.array_equal(one, two)


def test_on_a_linear_curve_the_stepwise_form_keeps_servers_back():
    scenario = Scenario.single(SpeedUp.linear(5), 0.8, 30)
    assert PricePolicy.exponential(1.63, 2.74).describe(scenario.workload, 30) == (
        "1 server from 1 idle, 2 from 3, 3 from 6, 4 from 9, 5 from 11"
    )


@pytest.mark.parametrize(
    "policy",
    [
        PricePolicy.exponential(1.26, 5.28),
        PricePolicy.exponential(1.83, 6.87, "present"),
        PricePolicy.power_law(20.0, 1.5),
        PricePolicy.from_prices([3.0, 2.0, 1.0, 0.25]),
    ],
    ids=lambda policy: policy.name,
)
def test_export_import_and_evaluation_agree(policy, tmp_path):
    scenario = Scenario.single(PAPER, 0.8, 20)
    written = policy.thresholds(scenario.workload, 20)
    answers = set()
    for number, each in enumerate((policy, written)):
        path = tmp_path / f"{number}.json"
        path.write_text(to_json(each))
        again = read_policy_file(path)
        for one in (each, again):
            assert np.array_equal(
                one.tabulate(scenario.workload, (20,)).rows[0],
                policy.tabulate(scenario.workload, (20,)).rows[0],
            )
            performance = stationary_law(scenario, one).performance()
            answers.add((performance.blocking.value, performance.mean_execution_time.value))
    assert read_policy_file(tmp_path / "0.json") == policy
    assert len(answers) == 1


def test_files_hold_the_two_numbers_and_the_form():
    policy = PricePolicy.exponential(1, 8, "present")
    assert json.loads(to_json(policy)) == {
        "policy": "price",
        "q0": 1.0,
        "ell": 8.0,
        "form": "present",
    }


def test_classes_are_described_one_by_one():
    workload = Workload((JOBS, JobClass("wide", 1.0, SpeedUp({2: 2, 4: 3.5, 8: 6}), 3.0)))
    policy = PricePolicy.exponential(1, 4)
    assert policy.describe(workload, 40) == (
        "jobs: 1 server from 1 idle, 2 from 2, 3 from 7, 4 from 12, 5 from 15; "
        "wide: 2 servers from 2 idle, 4 from 9, 8 from 16"
    )
    assert policy.describe(workload, 8) == (
        "jobs: 1 server from 1 idle, 2 from 2, 3 from 7; wide: 2 servers from 2 idle"
    )


def test_names_say_the_price_and_the_form():
    assert PricePolicy.exponential(0.5, 32).name == "price, q0 0.5, ell 32"
    assert PricePolicy.long_tailed(0.5, 32, 2).name == "price, q0 0.5, ell 32, tail 2"
    assert PricePolicy.constant(0.25, "present").name == "price, constant 0.25, present form"
    assert PricePolicy.power_law(2, 1.5).name == "price, power law 2, 1.5"
    assert PricePolicy.from_prices([2, 1]).name == "price, table of 2 prices"


def test_a_class_that_counts_more_pays_as_if_servers_were_cheaper():
    halved = PricePolicy.exponential(1 - math.log(2), 4)
    for idle in range(1, 30):
        assert PricePolicy.exponential(1, 4).minimisers(of_curve(PAPER, 2.0), idle) == (
            halved.minimisers(JOBS, idle)
        )


def test_large_tables_are_quick():
    scenario = Scenario.single(SpeedUp.amdahl(0.999, 1024), 0.3, 20_000)
    policy = PricePolicy.exponential(3, 5_000)
    begun = time.perf_counter()
    (rows,) = policy.tabulate(scenario.workload, (20_000,)).rows
    assert time.perf_counter() - begun < 20  # a second where nothing else runs
    assert rows.shape[1] == 1024
    assert 15_000 < len(rows) <= 20_001
    for idle in (1, 900, 5_000, len(rows) - 1):
        (width,) = policy.decide(scenario.workload.classes[0], idle)
        assert rows[idle].argmax() == width - 1


def test_a_price_that_hardly_falls_is_refused_only_on_clusters_too_large_for_a_table():
    slow = PricePolicy.exponential(1, 1e9)
    assert slow.reach(JOBS, 100_000) < 10
    with pytest.raises(PolicyError, match=r"more than 200000: .* make it fall faster"):
        slow.reach(JOBS, 10**9)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PricePolicy.exponential(1, 0), "price: ell=0 must be finite and above 0"),
        (lambda: PricePolicy.exponential(1, -2), "ell=-2 must .* divides the price by e"),
        (lambda: PricePolicy.exponential(1, math.nan), "ell=nan must be finite"),
        (lambda: PricePolicy.exponential(1, "x"), "ell='x' is not a number"),
        (lambda: PricePolicy.exponential(math.nan, 1), "q0=nan must lie between -230 and 230"),
        (lambda: PricePolicy.exponential(1e3, 1), "q0=1000.0 must .* logarithm of a price"),
        (lambda: PricePolicy.exponential(1, 8, "presnt"), "form 'presnt' .* mean 'present'"),
        (lambda: PricePolicy.exponential(1, 8, 3), "form 3 is unknown"),
        (lambda: PricePolicy.long_tailed(1e3, 1, 2), "q0=1000.0 must .* logarithm of a price"),
        (lambda: PricePolicy.long_tailed(1, 0, 2), "price: ell=0 must be finite and above 0"),
        (lambda: PricePolicy.long_tailed(1, 1, math.inf), "tail=inf must .* for the exponential"),
        (lambda: PricePolicy.constant(-1), "price with 1 idle is -1.0; prices must be at least 0"),
        (lambda: PricePolicy.constant(math.inf), "is inf; prices must be at least 0 and finite"),
        (lambda: PricePolicy.from_prices([1, math.nan]), "price with 2 idle is nan"),
        (lambda: PricePolicy.from_prices([1, 2]), "rises from 1 with 1 idle to 2 with 2; .* lower"),
        (lambda: PricePolicy.from_prices([]), "there is no price; give the one with 1 idle"),
        (lambda: PricePolicy.from_prices(3), "prices=3 is no list"),
        (lambda: PricePolicy.from_prices("12"), "price with 1 idle='1' is not a number"),
        (lambda: PricePolicy.power_law(0, 1), "scale=0 must be finite and above 0"),
        (lambda: PricePolicy.power_law(1, -1), "exponent=-1.0 must be at least 0 and finite"),
        (lambda: PricePolicy(0.5), r"price=0.5 is no price; .* PricePolicy.exponential\(q0, ell\)"),
    ],
)
def test_what_is_no_price_is_refused(build, message):
    with pytest.raises(PolicyError, match=message):
        build()


def test_servers_that_are_no_whole_number_are_refused():
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.8, 10)
    with pytest.raises(PolicyError, match="must be a whole number"):
        PricePolicy.exponential(1.0, 2.0).describe(scenario.workload, 1.5)
