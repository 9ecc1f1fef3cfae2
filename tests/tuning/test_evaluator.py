"""Policies are evaluated exactly, by counting, or by splitting."""

from __future__ import annotations

import math

import pytest

from moldable import JobClass, Scenario, SpeedUp, Thresholds, Workload, evaluate
from moldable.errors import ControlError
from moldable.exact.queue_size import predicted_queue_states
from moldable.model.sizes import Lognormal
from moldable.policies import EvenPrice
from moldable.policies.even_price import even_price
from moldable.sizes import Deterministic
from moldable.system.loss_system import build_system
from moldable.tuning.evaluator import LossEvaluator, QueueEvaluator
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


@pytest.mark.parametrize(("room", "method"), [(0, "chain"), (-1, "simulate")])
def test_policies_with_a_queue_are_all_solved_or_all_simulated_while_searching(room, method):
    scenario = Scenario.single(CURVE, 0.8, 8, waiting=math.inf)
    usual, narrow, wide = even_price(scenario), EvenPrice(2.0, 2.0), EvenPrice(-1.0, 6.0)
    size, least, most = (
        predicted_queue_states(build_system(scenario, policy)) for policy in (usual, narrow, wide)
    )
    assert least < size - 1 < size < most
    options = {"precision": 0.2, "seed": 1, "threads": 1, "effort": 0.05}
    own = QueueEvaluator(scenario, states=size + room, **options)
    assert {own(policy).method for policy in (usual, narrow, wide)} == {method}


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
