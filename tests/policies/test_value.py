"""Widths from the value of idle servers."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Observation, Scenario, SpeedUp, Thresholds, Workload, value_policy
from moldable.errors import PolicyError
from moldable.exact import stationary_law
from moldable.optimal import optimal_control
from moldable.policies.kinds import Kinds
from moldable.policies.value import value_function
from naive.value import value_table

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
GAPS = SpeedUp({1: 1.0, 2: 1.9, 4: 3.5})
SYSTEMS = {
    "one class": Scenario.single(PAPER, 0.8, 24),
    "linear": Scenario.single(SpeedUp.linear(3), 0.7, 18),
    "super-linear": Scenario.single(SpeedUp([1, 2.2, 3.5]), 0.6, 15),
    "a dip": Scenario.single(SpeedUp({1: 1.0, 2: 1.9, 3: 1.7, 4: 2.6}), 0.6, 16),
    "overload": Scenario.single(PAPER, 1.4, 12),
    "two classes with weights": Scenario(
        Workload(
            (
                JobClass("a", 5.0, PAPER, weight=2.0),
                JobClass("b", 2.0, GAPS, mean_size=2.0),
            )
        ),
        16,
    ),
}


def cost_above_optimum(scenario, blocking_cost):
    answer = stationary_law(scenario, value_policy(scenario, blocking_cost)).performance()
    blocking, time = answer.blocking.value, answer.mean_execution_time.value
    charge = blocking_cost * Kinds.of(scenario).mean_size
    optimum = optimal_control(scenario, blocking_cost, tolerance=1e-5)
    return ((1.0 - blocking) * time + charge * blocking) / optimum.cost - 1.0


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("blocking_cost", [4.0, 16.0])
def test_table_and_values_are_those_of_dense_equations(name, blocking_cost):
    kinds = Kinds.of(SYSTEMS[name])
    found = value_function(kinds, blocking_cost)
    assert found.settled
    listed = list(
        zip(
            kinds.owner.tolist(),
            kinds.widths.tolist(),
            kinds.times.tolist(),
            kinds.weights.tolist(),
            strict=True,
        )
    )
    charge = blocking_cost * kinds.mean_size
    table, law, shares, g, a, rent = value_table(
        listed, kinds.rates.tolist(), kinds.servers, charge
    )
    met = law > 1e-10
    wide = found.table[:, np.minimum(np.arange(law.size), found.table.shape[1] - 1)]
    np.testing.assert_array_equal(wide[:, met], np.array(table)[:, met])
    np.testing.assert_allclose(found.law, law, atol=1e-9)
    np.testing.assert_allclose(found.shares, shares, atol=1e-7)
    np.testing.assert_allclose(found.rent, rent, rtol=1e-5)
    np.testing.assert_allclose(found.kind_values, a, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.values - found.values[0], g - g[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("scenario", "blocking_cost", "most"),
    [
        (Scenario.single(PAPER, 0.8, 30), 2.0, 0.001),
        (Scenario.single(PAPER, 0.8, 30), 32.0, 0.001),
        (Scenario.single(SpeedUp.linear(4), 0.8, 30), 8.0, 0.005),
        (Scenario.single(SpeedUp.amdahl(0.9, 5), 0.9, 20), 4.0, 0.002),
        (Scenario.single(SpeedUp({2: 1.9, 4: 3.5, 8: 5.0}), 0.5, 31), 8.0, 0.002),
        (Scenario.single(SpeedUp([1, 2.2, 3.5, 4.9]), 0.5, 20), 8.0, 0.005),
        (Scenario(Workload((JobClass("a", 6.0, PAPER), JobClass("b", 2.0, GAPS, 2.0))), 18), 4.0,
         0.002),
    ],
)  # fmt: skip
def test_cost_is_close_to_the_optimum_of_all_policies(scenario, blocking_cost, most):
    assert -1e-5 < cost_above_optimum(scenario, blocking_cost) < most


@pytest.mark.parametrize(("load", "servers"), [(0.8, 2_000), (0.3, 1_500)])
def test_cutting_off_idle_counts_that_are_never_met_changes_nothing(load, servers):
    kinds = Kinds.of(Scenario.single(PAPER, load, servers))
    cut, whole = (value_function(kinds, 8.0, cut=on) for on in (True, False))
    assert cut.law.size < whole.law.size == servers + 1
    assert whole.law[cut.law.size :].sum() < 1e-15
    assert cut.law[-5:].sum() < 1e-15
    assert cut.policy.tables == whole.policy.tables
    assert cut.blocking == pytest.approx(whole.blocking, rel=1e-6, abs=0.0)
    assert cut.mean_execution_time == pytest.approx(whole.mean_execution_time, rel=1e-9)
    assert cut.rent == pytest.approx(whole.rent, rel=1e-6, abs=1e-12)


def test_a_million_servers_have_a_table_near_that_of_a_hundred_thousand():
    policies = [value_policy(Scenario.single(PAPER, 0.8, n), 8.0) for n in (100_000, 1_000_000)]
    few, many = ({w: z for z, w in p.tables["jobs"].items()} for p in policies)
    assert set(few) == set(many) == {1, 2, 3, 4}
    assert all(abs(few[width] - many[width]) <= 2 for width in (1, 2, 3))
    # The threshold between the two widths of the fluid optimum grows as the logarithm of n.
    assert 30 < many[4] - few[4] < 90


def test_rent_tends_to_the_shadow_price():
    kinds = [Kinds.of(Scenario.single(PAPER, 0.8, n)) for n in (1_000, 100_000)]
    few, many = (value_function(k, 8.0).rent for k in kinds)
    assert 0.5 < many < few
    assert many == pytest.approx(0.5, rel=0.05)


def test_a_start_at_another_cost_leads_to_the_same_table():
    kinds = Kinds.of(Scenario.single(PAPER, 0.8, 400))
    direct = value_function(kinds, 16.0)
    near = value_function(kinds, 16.0, value_function(kinds, 15.0))
    assert near.policy.tables == direct.policy.tables
    assert near.rounds < direct.rounds


def test_a_higher_blocking_cost_blocks_less_and_takes_longer():
    kinds = Kinds.of(Scenario.single(PAPER, 0.8, 200))
    found = [value_function(kinds, cost) for cost in (1.0, 4.0, 16.0, 64.0)]
    assert (np.diff([each.blocking for each in found]) < 0.0).all()
    assert (np.diff([each.mean_execution_time for each in found]) > 0.0).all()


def test_widths_with_a_common_divisor_count_servers_by_it():
    kinds = Kinds.of(Scenario.single(SpeedUp({2: 1.9, 4: 3.5, 8: 5.0}), 0.5, 31))
    assert (kinds.unit, kinds.servers) == (2, 15)
    policy = value_function(kinds, 8.0).policy
    assert all(idle % 2 == 0 for idle in policy.tables["jobs"])


def test_a_draw_between_two_tables_is_written_where_they_differ():
    kinds = Kinds.of(Scenario.single(PAPER, 0.8, 10))
    one, two = np.array([[-1, 0, 0, 1, 1]]), np.array([[-1, 0, 1, 1, 2]])
    policy = kinds.policy(one, two, 0.25)
    assert policy.tables == {"jobs": {1: 1, 2: {1: 0.75, 2: 0.25}, 3: 2, 4: {2: 0.75, 3: 0.25}}}
    assert isinstance(policy, Thresholds)


def test_one_server_and_one_width_leave_nothing_to_choose():
    assert value_policy(Scenario.single(PAPER, 0.8, 1), 8.0).tables == {"jobs": {1: 1}}
    seven = Scenario.single(SpeedUp({7: 5.0}), 0.5, 10)
    assert value_policy(seven, 8.0).tables == {"jobs": {7: 7}}


@pytest.mark.parametrize("cost", [-1.0, 1e12, float("nan")])
def test_impossible_costs_are_refused(cost):
    with pytest.raises(PolicyError, match=r"blocking_cost=.* at least 0 and below 1e"):
        value_policy(Scenario.single(PAPER, 0.8, 10), cost)


def test_classes_that_do_not_share_are_refused():
    two = (JobClass("a", 1.0, PAPER), JobClass("b", 1.0, SpeedUp({20: 9.0})))
    with pytest.raises(PolicyError, match="2 classes have reserved servers"):
        value_policy(Scenario(Workload(two, "reserved"), 30), 8.0)


def test_a_load_under_which_nearly_all_jobs_are_blocked_has_a_policy():
    # 1 - blocking is below the last digit of 1.
    policy = value_policy(Scenario.single([1, 2], 9007199254740993.0, 4), 0.5)
    assert policy.grant("jobs", Observation(idle=1)) == 1
