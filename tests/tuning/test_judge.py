"""A judge moves a knob until the limit is kept, and wastes little of it."""

from __future__ import annotations

import pytest

from moldable import (
    Deterministic,
    JobClass,
    PricePolicy,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
    greedy_p,
)
from moldable.tuning.judge import WASTE, Judge
from moldable.tuning.knob import Knob
from moldable.tuning.static_family import StaticFamily
from moldable.tuning.targets import Target
from moldable.tuning.trials import Trials

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SERVERS = 16
SMALL = Scenario.single(CURVE, 0.8, SERVERS)


def judge(target, servers=SERVERS, workload=SMALL.workload):
    return Judge(Trials(workload, servers, 1, 1), target, 0.05)


def design(load):
    return Knob(load, lambda value: greedy_p(SMALL, min(value, 0.999)), 0.01)


@pytest.mark.parametrize("start", [0.7, 0.8, 0.95])
def test_a_limit_on_blocking_is_kept_and_used_from_either_side(start):
    knob, answer, sure = judge(Target.of(0.2, None, None, 1.0)).settle([design(start)])
    assert sure
    assert (1 - WASTE) * 0.2 <= answer.blocking.value <= 0.2
    assert answer.blocking == evaluate(SMALL, greedy_p(SMALL, knob.value)).blocking


def test_a_limit_on_time_is_kept_and_used():
    _, answer, sure = judge(Target.of(None, None, 0.6, 1.0)).settle([design(0.8)])
    assert sure
    assert (1 - WASTE) * 0.6 <= answer.mean_execution_time.value <= 0.6


def test_without_a_limit_the_best_finalist_wins():
    target = Target.of(None, 4.0, None, 1.0)
    knobs = [design(load) for load in (0.75, 0.9, 0.99)]
    knob, answer, sure = judge(target).settle(knobs)
    costs = []
    for each in knobs:
        found = evaluate(SMALL, each.policy)
        costs.append(target.cost(found.blocking.value, found.mean_execution_time.value))
    assert target.cost(answer.blocking.value, answer.mean_execution_time.value) == min(costs)
    assert knob is knobs[costs.index(min(costs))]
    assert sure


def test_what_cannot_be_kept_is_not_called_sure():
    knob, answer, sure = judge(Target.of(1e-3, None, None, 1.0)).settle([design(0.9)])
    assert not sure
    assert answer.blocking.value > 1e-3
    assert knob.value >= 0.9


def test_the_best_design_load_is_the_least_that_keeps_the_limit():
    target = Target.of(0.15, None, None, 1.0)
    found = StaticFamily(Trials(SMALL.workload, SERVERS, 1, 1)).best(judge(target))
    assert found.performance.blocking.value <= 0.15
    less = evaluate(SMALL, greedy_p(SMALL, found.design_load - 0.01))
    assert less.blocking.value > 0.15


def test_a_limit_below_all_design_loads_has_none():
    family = StaticFamily(Trials(SMALL.workload, SERVERS, 1, 1))
    assert family.best(judge(Target.of(1e-3, None, None, 1.0))) is None


def test_simulated_answers_count_enough_for_a_rare_limit():
    servers = 400
    scenario = Scenario.single(CURVE, 0.7, servers)
    target = Target.of(2e-4, None, None, 1.0)
    answer = judge(target, servers, scenario.workload).evaluate(PricePolicy.exponential(1.5, 15.0))
    assert answer.method == "simulate"
    assert answer.blocking.half_width < 0.25 * 2e-4


def test_what_counting_refutes_is_moved_even_where_it_could_not_certify(monkeypatch):
    """Deterministic sizes and a limit below what is counted, but blocking is far above both."""
    monkeypatch.setattr("moldable.tuning.judge.JOBS", 20_000)
    jobs = JobClass("jobs", 0.2 * SERVERS, CURVE, size=Deterministic())
    workload = Workload((jobs,))
    own = judge(Target.of(5e-6, None, None, 1.0), workload=workload)
    assert own.blind
    start = Knob(-2.0, lambda q0: PricePolicy.exponential(q0, 2.0), 0.1)
    assert own.refuted(own.evaluate(start.policy))
    knob, answer, _ = own.settle([start], -2.0)
    assert knob.value > start.value
    assert not own.refuted(answer)


def test_far_beyond_capacity_the_best_design_load_is_found():
    scenario = Scenario.single(SpeedUp([1, 1.8]), 3.0, 10)
    target = Target.of(None, 1.0, None, 1.0)
    own = judge(target, 10, scenario.workload)
    found = StaticFamily(own.trials).best(own)
    loads = [greedy_p(scenario, load) for load in (0.5, 0.6, 0.8, 0.99)]
    costs = [target.merit_of(evaluate(scenario, policy)) for policy in loads]
    assert target.merit_of(found.performance) <= min(costs) * (1 + 1e-9)


def test_a_load_beyond_the_first_that_keeps_the_limit_may_be_faster():
    """On few servers the mean time is not monotone in the design load."""
    scenario = Scenario.single(CURVE, 0.6, 12)
    own = judge(Target.of(0.2, None, None, 1.0), 12, scenario.workload)
    found = StaticFamily(own.trials).best(own).performance
    loads = (greedy_p(scenario, load) for load in (0.777, 0.8, 0.829, 0.85))
    answers = [evaluate(scenario, policy) for policy in loads]
    times = [a.mean_execution_time.value for a in answers if a.blocking.value <= 0.2]
    assert found.blocking.value <= 0.2
    assert found.mean_execution_time.value <= min(times) * 1.001
