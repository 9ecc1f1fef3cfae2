"""Tables that are improved on the true chain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.exact import stationary_law
from moldable.policies.kinds import Kinds
from moldable.policies.value import value_function
from moldable.sizes import Deterministic
from moldable.tuning.polish import Polish
from tuning.systems import SYSTEMS


def cost_of(kinds, table, blocking_cost):
    scenario = kinds.scenario
    law = stationary_law(scenario, kinds.policy(table))
    answer = law.performance()
    blocking = answer.blocking.value
    charge = blocking_cost * kinds.mean_size
    return (1.0 - blocking) * answer.mean_execution_time.value + charge * blocking


def test_the_best_of_all_tables_is_found_where_they_can_be_counted():
    """Each of 3 x 3 x 3 x 2 tables of one class on 5 servers is solved exactly."""
    kinds = Kinds.of(Scenario.single(SpeedUp([1, 2.2, 3.5]), 0.9, 5))
    polish = Polish.of(kinds)
    rows = itertools.product([-1], [0], [0, 1], *[[0, 1, 2]] * 3)
    least = min(cost_of(kinds, np.array([row]), 8.0) for row in rows)
    found = polish(value_function(kinds, 8.0).table, 8.0)
    assert cost_of(kinds, found, 8.0) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("blocking_cost", [3.0, 20.0])
def test_no_table_gets_worse(name, blocking_cost):
    kinds = Kinds.of(Scenario(*SYSTEMS[name]))
    polish = Polish.of(kinds)
    table = value_function(kinds, blocking_cost).table
    before = cost_of(kinds, table, blocking_cost)
    assert cost_of(kinds, polish(table, blocking_cost), blocking_cost) <= before * (1 + 1e-9)


def test_many_states_other_sizes_weights_and_units_are_left_alone():
    curve = SpeedUp([1, 1.8, 2.5, 3, 3.4])
    weighted = Workload((JobClass("a", 2.0, curve), JobClass("b", 2.0, curve, weight=2.0)))
    constant = Workload((JobClass("a", 2.0, curve, size=Deterministic()),))
    for scenario in (
        Scenario.single(curve, 0.8, 400),
        Scenario(weighted, 8),
        Scenario(constant, 8),
        Scenario.single(SpeedUp({2: 1.9, 4: 3.5}), 0.5, 8),
    ):
        assert Polish.of(Kinds.of(scenario)) is None
