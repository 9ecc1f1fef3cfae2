"""What is granted, and which policies and tables are refused."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import Greedy, JobClass, Policy, Scenario, SpeedUp, Thresholds, Workload, simulate
from moldable.errors import PolicyError
from moldable.policies.policy_table import PolicyTable, grantable
from moldable.system.loss_system import build_system

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(PAPER, 0.8, 40)


class Always(Policy):
    """Whatever it was given."""

    def __init__(self, wishes, reach=None, *, strict=False):
        self.wishes, self.asked, self.strict = wishes, reach, strict

    def decide(self, job_class, idle):  # noqa: ARG002
        return self.wishes

    def reach(self, job_class, servers):  # noqa: ARG002
        return servers if self.asked is None else self.asked


def test_what_is_granted_is_the_fastest_that_fits_and_the_narrowest_of_equals():
    dipping = SpeedUp({2: 1.9, 3: 1.7, 5: 1.9, 6: 2.5})
    # 0, 1: nothing; 2..5: width 2; 6 and more: width 6.
    assert grantable(dipping, 7).tolist() == [-1, -1, 0, 0, 0, 0, 3, 3]


def test_a_strict_policy_gives_the_very_width_or_nothing():
    dipping = Scenario.single(SpeedUp({1: 1.0, 2: 1.9, 3: 1.7}), 0.5, 4)
    (loose,) = Always({3: 0.75, 1: 0.25}).tabulate(dipping.workload, (4,)).rows
    (strict,) = Always({3: 0.75, 1: 0.25}, strict=True).tabulate(dipping.workload, (4,)).rows
    assert loose.tolist() == [[0, 0, 0], [1, 0, 0], *[[0.25, 0.75, 0]] * 3]
    assert strict.tolist() == [[0, 0, 0], *[[0.25, 0, 0]] * 2, *[[0.25, 0, 0.75]] * 2]


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({1: 0.5}, "40 idle|0 idle: probabilities sum to 0.5; they must sum to 1"),
        ({}, "sum to 0"),
        ({1: 1.5, 2: -0.5}, "probability 1.5 must lie in"),
        ({1: float("nan")}, "probability nan must lie in"),
        ({1: "all"}, "probability of width 1='all' is not a number"),
        ({-1: 1.0}, "width=-1 must be a whole number from 0"),
        ({1.5: 1.0}, "width=1.5 must be a whole number"),
        (3, r"3 is not a choice of widths; write \{width: probability, ...\}"),
    ],
)
def test_invalid_decisions_are_refused(wishes, message):
    with pytest.raises(PolicyError, match=message):
        Always(wishes).tabulate(SCENARIO.workload, (40,))


@pytest.mark.parametrize("reach", [-1, 2.5, float("nan"), "far"])
def test_a_reach_that_is_no_idle_count_is_refused(reach):
    with pytest.raises(PolicyError, match="policy Always: reach"):
        Always({1: 1.0}, reach).tabulate(SCENARIO.workload, (40,))


def test_a_strict_wish_for_a_width_that_is_not_there_names_those_that_are():
    with pytest.raises(PolicyError, match="no width 6; choose one of its widths: 1, 2, 3, 4, 5"):
        Always({6: 1.0}, strict=True).tabulate(SCENARIO.workload, (40,))


def test_tables_too_long_to_make_are_refused_with_the_way_out():
    many = Workload((JobClass("jobs", 1.0, PAPER),))
    with pytest.raises(PolicyError, match="override reach"):
        Always({1: 1.0}).tabulate(many, (10**6,))


class OwnTable(Policy):
    """A policy with its own table."""

    def __init__(self, *rows):
        self.rows = rows

    def decide(self, job_class, idle):
        raise NotImplementedError

    def tabulate(self, workload, pools):  # noqa: ARG002
        return PolicyTable(workload.classes, self.rows, self.name)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[[0, 0], [1, 0], [0, 1]], [[0, 0]]], "tables for 2 classes, but the workload has 1"),
        ([[0, 0]], r"shape \(2,\).*2 columns"),
        ([np.zeros((0, 2))], r"shape \(0, 2\)"),
        ([[[0], [1]]], r"shape \(2, 1\)"),
        ([[[0, 0], [-0.5, 0]]], "width 1 to class 'jobs' with 1 idle with probability -0.5"),
        ([[[0, 0], [np.nan, 0]]], "probability nan; probabilities must be at least 0"),
        ([[[0, 0], [1, 0], [0, 0], [0.6, 0.6]]], "3 idle: probabilities sum to 1.2"),
        (
            [[[0, 0], [1, 0], [1, 0], [0.5, 0.5]]],
            "OwnTable grants width 4 to class 'jobs' with 3 idle; .* more servers than are idle",
        ),
    ],
)
def test_tables_that_no_cluster_could_follow_are_refused(rows, message):
    scenario = Scenario.single(SpeedUp({1: 1.0, 4: 3.0}), 0.5, 8)
    with pytest.raises(PolicyError, match=message):
        simulate(scenario, OwnTable(*rows), jobs=10, seed=1)


def test_a_table_of_lists_is_as_good_as_one_of_arrays():
    table = PolicyTable(SCENARIO.workload.classes, ([[0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0]],))
    assert table.rows[0].dtype == np.float64
    assert table.name == "without a name"


@pytest.mark.parametrize("policy", [Greedy(), Thresholds({"jobs": {1: 1, 40_000: 40_000}})])
def test_a_table_beyond_memory_is_refused_with_its_size(policy):
    scenario = Scenario.single(SpeedUp.amdahl(0.99, 40_000), 0.8, 100_000)
    with pytest.raises(PolicyError, match=r"40,\d+ idle counts x 40,000 widths, 12.\d GB; at most"):
        policy.tabulate(scenario.workload, (100_000,))


def test_tables_that_fit_alone_but_not_together_are_refused():
    curve = SpeedUp.linear(2_000)
    classes = tuple(JobClass(f"class {j}", 1.0, curve) for j in range(4))
    with pytest.raises(PolicyError, match=r"8,004 idle counts x 8,000 widths, 0.5 GB"):
        build_system(Scenario(Workload(classes), 2_001), Greedy())
