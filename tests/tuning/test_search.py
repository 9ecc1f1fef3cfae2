"""Searches along the parameter of a family of policies."""

from __future__ import annotations

import dataclasses
import math

import pytest

from moldable import Scenario, SpeedUp, evaluate
from moldable.policies.kinds import Kinds
from moldable.policies.thresholds import Thresholds
from moldable.system.estimate import Estimate
from moldable.tuning.evaluator import LossEvaluator
from moldable.tuning.families import DesignLoads, Family, ValueTables
from moldable.tuning.search import LimitSearch, least_cost
from moldable.tuning.targets import Target

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(CURVE, 0.8, 20)
SOME = evaluate(SCENARIO)


class Line(Family):
    """A made-up family: blocking exp(-parameter), time 1 + parameter."""

    low, high, step, evaluations = 0.0, 20.0, 2.0, 8

    def __init__(self, begin):
        self.begin = begin

    def policy(self, parameter):
        return Thresholds({"jobs": {round(1e6 * parameter) + 1: 1}})

    def first(self, aim):  # noqa: ARG002
        return self.begin


class Made:
    """Evaluates the made-up family."""

    rare = False

    def __init__(self):
        self.count = 0

    def __call__(self, policy, attempt=0):  # noqa: ARG002
        self.count += 1
        parameter = (min(policy.tables["jobs"]) - 1) / 1e6
        return dataclasses.replace(
            SOME,
            blocking=Estimate.exact(math.exp(-parameter)),
            mean_execution_time=Estimate.exact(1.0 + parameter),
        )


@pytest.mark.parametrize("begin", [0.0, 3.0, 20.0])
@pytest.mark.parametrize(
    "target", [Target("max_blocking", 0.01, 1.0), Target("max_time", 5.6, 1.0)]
)
def test_limits_are_closed_in_on_from_anywhere(begin, target):
    made = Made()
    points = LimitSearch(Line(begin), made, target, 0.0).run()
    assert made.count <= 20
    best = min(points, key=lambda point: target.objective(point.answer))
    assert target.kept(best.answer)
    assert -0.1 < best.used <= 0.0


def test_an_aim_below_the_limit_is_kept_instead_of_it():
    target = Target("max_blocking", 0.01, 1.0)
    points = LimitSearch(Line(3.0), Made(), target, math.log(0.5)).run()
    assert all(point.answer.blocking.value <= 0.005 for point in points)


def test_limits_beyond_the_ends_give_the_ends_or_nothing():
    assert LimitSearch(Line(3.0), Made(), Target("max_blocking", 1e-12, 1.0), 0.0).run() == []
    assert LimitSearch(Line(3.0), Made(), Target("max_time", 0.5, 1.0), 0.0).run() == []
    points = LimitSearch(Line(3.0), Made(), Target("max_time", 50.0, 1.0), 0.0).run()
    assert max(point.parameter for point in points) == 20.0


def test_the_least_cost_of_a_family_is_found():
    target = Target("blocking_cost", 100.0, 1.0)
    found = least_cost(Line(3.0), Made(), target)
    costs = [
        (1 - math.exp(-k / 100)) * (1 + k / 100) + 100 * math.exp(-k / 100) for k in range(2001)
    ]
    assert target.objective(found.answer) <= 1.01 * min(costs)


def test_the_parameter_of_tables_starts_where_the_model_meets_the_limit():
    for target in (Target("max_blocking", 0.05, 1.0), Target("max_time", 0.6, 1.0)):
        tables = ValueTables(Kinds.of(SCENARIO), target)
        near = tables.at(tables.first(0.0))
        # Tables are few: the next one on either side is further off.
        assert abs(target.modelled(near) - math.log(target.value)) < 0.2


def test_design_loads_narrow_and_stay_below_a_table_that_caps_them():
    target = Target("max_blocking", 0.05, 1.0)
    evaluator = LossEvaluator(SCENARIO, target, precision=0.01, seed=1, threads=1)
    plain = DesignLoads(SCENARIO)
    wide, narrow = (evaluator(plain.policy(load)) for load in (plain.low, plain.high))
    assert wide.mean_execution_time.value < narrow.mean_execution_time.value
    assert wide.blocking.value > narrow.blocking.value
    cap = Thresholds({"jobs": {1: 1, 6: 2, 12: 4}})
    capped = DesignLoads(SCENARIO, cap).policy(0.85)
    shares = plain.policy(0.85).shares["jobs"]
    widest = max(shares)
    assert capped.tables["jobs"][1] == 1
    for idle, choice in capped.tables["jobs"].items():
        drawn = choice if isinstance(choice, dict) else {choice: 1.0}
        assert max(drawn) <= min(widest, cap.tables["jobs"][idle])
        assert sum(drawn.values()) == pytest.approx(1.0)
