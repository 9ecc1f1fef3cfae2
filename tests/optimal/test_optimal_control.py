"""The best of all policies: against HiGHS, value iteration, brute force and Erlang's formula."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

from moldable import (
    JobClass,
    MoldableError,
    Observation,
    Policy,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
)
from moldable.exact import erlang_b
from moldable.optimal.control import optimal_control
from moldable.sizes import Deterministic
from naive.optimal_control import NaiveControl
from naive.random_systems import random_workload
from tuning.systems import SUBLINEAR, SYSTEMS, TWO_CLASSES


@pytest.mark.parametrize("blocking_cost", [0.0, 0.5, 2.0, 16.0])
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_cost_is_that_of_the_linear_programme(system, blocking_cost):
    workload, servers = SYSTEMS[system]
    found = optimal_control(Scenario(workload, servers), blocking_cost, tolerance=1e-9)
    assert found.cost == pytest.approx(
        NaiveControl(workload, servers).least_cost(blocking_cost), rel=1e-7
    )
    assert found.gap <= 1e-9
    assert found.lower_bound <= found.cost * (1 + 1e-12)
    assert found.cost <= found.upper_bound * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random_systems_agree_with_the_linear_programme(seed):
    rng = np.random.default_rng(seed)
    servers = int(rng.integers(5, 9))
    workload = random_workload(rng, servers, classes=1 + seed % 3, most_widths=3)
    blocking_cost = float(rng.uniform(0.2, 20.0))
    naive = NaiveControl(workload, servers)
    found = optimal_control(Scenario(workload, servers), blocking_cost, tolerance=1e-9)
    assert found.states == len(naive.states)
    assert found.cost == pytest.approx(naive.least_cost(blocking_cost), rel=1e-7)


@pytest.mark.parametrize(
    ("system", "servers"),
    [
        ("sub-linear", 7),
        pytest.param("sub-linear", 10, marks=pytest.mark.long),
        ("two classes", 8),
    ],
)
def test_textbook_value_iteration_finds_the_same_cost(system, servers):
    workload, _ = SYSTEMS[system]
    found = optimal_control(Scenario(workload, servers), 3.0, tolerance=1e-9)
    assert found.cost == pytest.approx(NaiveControl(workload, servers).iterate(3.0), rel=1e-8)


class Table(Policy):
    """Width by idle servers."""

    def __init__(self, widths):
        self.widths = widths

    def decide(self, job_class, idle):  # noqa: ARG002
        return {self.widths[idle]: 1.0}


@pytest.mark.parametrize("curve", [(1.0, 1.8, 2.5), (1.0, 2.0, 3.0), (1.0, 2.5, 2.0)])
def test_no_table_of_idle_counts_is_better(curve):
    servers, blocking_cost = 6, 2.0
    scenario = Scenario.single(SpeedUp(curve), 0.8, servers)
    found = optimal_control(scenario, blocking_cost, tolerance=1e-9)
    costs = []
    options = [(1,), (1,), (1, 2), *([(1, 2, 3)] * 4)]
    for widths in itertools.product(*options):
        result = evaluate(scenario, Table(widths), method="chain")
        blocking = result.blocking.value
        costs.append((1 - blocking) * result.mean_execution_time.value + blocking_cost * blocking)
    assert found.cost <= min(costs) * (1 + 1e-9)
    # Nor is the optimum far from the best of them, which a wrong cost would be.
    assert found.cost >= 0.97 * min(costs)


@pytest.mark.parametrize("blocking_cost", [0.1, 1.0, 50.0])
def test_one_width_is_erlang_whatever_the_cost(blocking_cost):
    workload = Workload((JobClass("jobs", 7.0, SpeedUp({3: 2.0})),))
    found = optimal_control(Scenario(workload, 20), blocking_cost)
    assert found.blocking == pytest.approx(erlang_b(6, 3.5), rel=1e-12)
    assert found.mean_execution_time == pytest.approx(0.5, rel=1e-12)
    assert found.cost == pytest.approx((1 - found.blocking) * 0.5 + blocking_cost * found.blocking)


def test_the_figures_are_those_of_the_policys_law():
    found = optimal_control(Scenario(TWO_CLASSES, 12), 3.0)
    rates = np.array([part.arrival_rate for part in TWO_CLASSES.classes])
    lost = np.array([part.blocking.value for part in found.classes])
    assert found.law.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.blocking == pytest.approx(rates @ lost / rates.sum(), rel=1e-12)
    # By Little's law the accepted time per arrival is the mean number of jobs by the arrival rate.
    jobs = sum(sum(part.mean_jobs.values()) for part in found.classes) * 12
    assert found.accepted_time == pytest.approx(jobs / rates.sum(), rel=1e-10)
    for part in found.classes:
        assert sum(part.width_shares.values()) == pytest.approx(1.0)
    # The cost of a blocked job is in mean sizes, 2 x 0.9 and 1 x 2 over 2.9 jobs.
    assert found.cost == pytest.approx(found.accepted_time + 3.0 * (3.8 / 2.9) * found.blocking)


def test_units_of_time_only_scale_the_cost():
    slow = dataclasses.replace(
        TWO_CLASSES,
        classes=tuple(
            dataclasses.replace(
                part, arrival_rate=part.arrival_rate / 60, mean_size=part.mean_size * 60
            )
            for part in TWO_CLASSES.classes
        ),
    )
    one, other = (
        optimal_control(Scenario(w, 10), 4.0, tolerance=1e-9) for w in (TWO_CLASSES, slow)
    )
    assert other.blocking == pytest.approx(one.blocking, rel=1e-9)
    assert other.cost == pytest.approx(60 * one.cost, rel=1e-9)


def test_two_equal_classes_are_one():
    whole = optimal_control(Scenario.single(SUBLINEAR, 0.8, 9), 4.0, tolerance=1e-9)
    halves = Workload(tuple(JobClass(name, 3.6, SUBLINEAR) for name in "ab"))
    found = optimal_control(Scenario(halves, 9), 4.0, tolerance=1e-9)
    assert found.cost == pytest.approx(whole.cost, rel=1e-8)


def test_decisions_are_widths_that_fit_and_jobs_are_blocked_only_if_none_does():
    found = optimal_control(Scenario(TWO_CLASSES, 8), 3.0)
    idle = found.problem.idle()
    for j, narrowest in enumerate((2, 1)):
        kinds = found.decisions[j]
        assert np.array_equal(kinds < 0, idle < narrowest)
        granted = kinds >= 0
        assert (found.problem.widths[kinds[granted]] <= idle[granted]).all()
        assert (found.problem.owner[kinds[granted]] == j).all()


def test_grants_look_the_state_up():
    found = optimal_control(Scenario(TWO_CLASSES, 8), 3.0)
    wide, narrow = TWO_CLASSES.classes
    assert found.grant(wide, Observation(1, running={"wide": {2: 1, 5: 1}})) == 0
    crowded = Observation(1, running={"wide": {2: 1, 5: 1}, "narrow": {1: 0}})
    assert found.grant(narrow, crowded, 0.9) == 1
    assert found.grant(wide, Observation(2, running={"narrow": {3: 2}})) == 2
    assert found.grant(wide, Observation(8, running={})) in {2, 3, 5}


@pytest.mark.parametrize(
    ("job_class", "observation", "words"),
    [
        ("wild", Observation(8, running={}), "did you mean 'wide'"),
        ("wide", Observation(8), "depends on the running jobs"),
        ("wide", Observation(7, running={}), "idle=7, but the running jobs leave 8 of 8"),
        ("wide", Observation(4, running={"wide": {4: 1}}), "no job of class 'wide' can run on 4"),
        ("wide", Observation(0, running={"wide": {5: 2}}), "hold 10 servers, but there are 8"),
        ("wide", Observation(0, running={"wide": {5: -1}}), "must be a whole number from 1"),
    ],
)
def test_grants_refuse_invalid_requests(job_class, observation, words):
    found = optimal_control(Scenario(TWO_CLASSES, 8), 3.0)
    asked = dataclasses.replace(TWO_CLASSES.classes[0], name=job_class)
    with pytest.raises(MoldableError, match=words):
        found.grant(asked, observation)


def test_the_table_by_idle_servers_is_nearly_as_good():
    scenario = Scenario.single(SUBLINEAR, 0.8, 20)
    found = optimal_control(scenario, 4.0)
    widths = found.widths_by_idle["jobs"]
    assert widths[0] == 0
    assert len(widths) == 21
    result = evaluate(scenario, Table([max(1, width) for width in widths]), method="chain")
    blocking = result.blocking.value
    cost = (1 - blocking) * result.mean_execution_time.value + 4.0 * blocking
    assert found.cost * (1 - 1e-9) <= cost <= 1.01 * found.cost
    assert 0.9 < found.idle_only <= 1.0


def test_a_start_at_another_cost_does_not_change_the_answer():
    scenario = Scenario.single(SUBLINEAR, 0.8, 20)
    near = optimal_control(scenario, 4.0, tolerance=1e-9)
    cold = optimal_control(scenario, 5.0, tolerance=1e-9)
    warm = optimal_control(scenario, 5.0, tolerance=1e-9, start=near)
    assert warm.cost == pytest.approx(cold.cost, rel=1e-9)
    assert warm.iterations <= cold.iterations


def test_known_optimum_of_30_servers():
    found = optimal_control(Scenario.single(SUBLINEAR, 0.8, 30), 4.0)
    assert found.states == 5326
    assert found.gap < 1e-6
    assert "gap=" in repr(found)
    assert json.loads(json.dumps(found.to_dict()))["states"] == 5326


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"blocking_cost": -1.0}, "blocking_cost=-1 must be from 0 to 1e\\+12"),
        ({"blocking_cost": math.inf}, "use least_blocking"),
        ({"blocking_cost": "four"}, "blocking_cost='four' is not a number"),
        ({"tolerance": 0.0}, "tolerance=0.0 must lie between"),
        ({"servers": 0}, "servers=0 must be a whole number from 1"),
        ({"servers": 400}, "400 servers with 5 kinds of jobs have .* more than the 5,000,000"),
        (
            {"workload": Workload((JobClass("a", 1.0, SpeedUp({9: 5.0})),)), "servers": 8},
            "narrowest width is 9, but there are 8 servers",
        ),
        (
            {"workload": Workload((JobClass("a", 1.0, SUBLINEAR, size=Deterministic()),))},
            "exponential sizes only",
        ),
        ({"workload": dataclasses.replace(TWO_CLASSES, sharing="reserved")}, "reserved servers"),
    ],
)
def test_bad_requests_are_refused(change, words):
    request = {
        "workload": Scenario.single(SUBLINEAR, 0.8, 10).workload,
        "servers": 10,
        "blocking_cost": 2.0,
    }
    asked = {**request, **change}
    with pytest.raises(MoldableError, match=words):
        optimal_control(Scenario(asked.pop("workload"), asked.pop("servers")), **asked)


def test_a_start_of_another_system_is_refused():
    start = optimal_control(Scenario.single(SUBLINEAR, 0.8, 10), 2.0)
    with pytest.raises(MoldableError, match="another scenario"):
        optimal_control(Scenario.single(SUBLINEAR, 0.8, 11), 2.0, start=start)


def test_more_widths_than_can_be_encoded_are_refused():
    wide = SpeedUp(dict.fromkeys(range(151, 290), 1.5))
    with pytest.raises(MoldableError, match="more than 127"):
        optimal_control(Scenario.single(wide, 0.001, 300), 1.0)
