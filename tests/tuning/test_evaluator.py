"""Policies are evaluated exactly, by counting, or by splitting."""

from __future__ import annotations

import pytest

from moldable import JobClass, Scenario, SpeedUp, Thresholds, Workload, evaluate
from moldable.errors import ControlError
from moldable.model.sizes import Lognormal
from moldable.sizes import Deterministic
from moldable.tuning.evaluator import LossEvaluator
from moldable.tuning.targets import Target

CURVE = SpeedUp([1, 1.8, 2.5])
TABLE = Thresholds({"jobs": {1: 1, 4: 2, 9: 3}})


def evaluator(scenario, limit=0.01):
    target = Target("max_blocking", limit, 1.0)
    return LossEvaluator(scenario, target, precision=0.2, seed=1, threads=2)


def test_small_chains_are_solved_once():
    scenario = Scenario.single(CURVE, 0.8, 12)
    own = evaluator(scenario)
    found = own(TABLE)
    assert found.blocking == evaluate(scenario, TABLE).blocking
    assert own(TABLE, 3) is found
    assert not own.simulated


def test_simulations_of_search_and_certification_share_no_random_numbers():
    constant = JobClass("jobs", 9.6, CURVE, size=Deterministic())
    own = evaluator(Scenario(Workload((constant,)), 12))
    answers = [own(TABLE, attempt) for attempt in (0, 1, 2)]
    assert own.simulated
    assert len({answer.detail.seed for answer in answers}) == 3
    assert len({answer.blocking.value for answer in answers}) == 3
    assert answers[1].detail.arrivals > answers[0].detail.arrivals
    assert own(TABLE) is answers[0]


def test_rare_blocking_is_split_only_where_the_limit_is_rare():
    scenario = Scenario(Workload((JobClass("jobs", 70.0, SpeedUp([1, 1.8, 2.5, 3, 3.4])),)), 120)
    table = Thresholds({"jobs": {1: 1, 12: 2, 20: 3, 30: 4, 40: 5}})
    assert "splitting" not in evaluator(scenario)(table).reason
    rare = evaluator(scenario, 1e-7)(table)
    assert "splitting" in rare.reason
    assert 0.0 < rare.blocking.value < 1e-4


def test_sizes_that_never_come_to_equilibrium_are_refused():
    wild = JobClass("jobs", 9.6, CURVE, size=Lognormal(1e6))
    with pytest.raises(ControlError, match=r"have .* left on average"):
        evaluator(Scenario(Workload((wild,)), 12))(TABLE)
