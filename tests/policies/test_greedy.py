"""The paper's schemes."""

from __future__ import annotations

import pytest

from moldable import Greedy, Scenario, SpeedUp, greedy_p, optimum
from moldable.errors import PolicyError
from moldable.policies import GreedyP

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(PAPER, 0.8, 40)


def test_greedy_p_uses_the_optimum():
    policy = greedy_p(SCENARIO)
    best = optimum(PAPER, 0.8)
    assert policy.shares["jobs"] == pytest.approx(
        dict(zip(best.support, best.mix.shares, strict=True))
    )
    designed = greedy_p(SCENARIO, design_load=0.9)
    assert set(designed.shares["jobs"]) == set(optimum(PAPER, 0.9).support)


def test_greedy_gives_all_that_is_idle_up_to_the_widest():
    (rows,) = Greedy().tabulate(SCENARIO.workload, (40,)).rows
    assert rows.tolist() == [[0.0] * 5, *([float(k == i) for k in range(5)] for i in range(5))]


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"job": {1: 1.0}}, "names class 'job', which .* does not have; did you mean 'jobs'"),
        ({"jobs": {1: 1.0}, "other": {1: 1.0}}, "names class 'other'"),
        ({}, "no shares for class 'jobs'; it knows no class at all"),
        ({"jobs": {}}, "class 'jobs': probabilities sum to 0"),
        ({"jobs": {7: 1.0}}, "class 'jobs' has no width 7; choose one of its widths"),
        ({"jobs": {1: 0.9}}, "sum to 0.9"),
        ({"jobs": {"1": 1.0}}, "class 'jobs': width='1' is not a number; write it without"),
        ({"jobs": {1: "1"}}, "the probability of width 1='1' is not a number"),
        ({"jobs": [1.0]}, r"\[1.0\] is not a choice of widths; write {width: probability"),
        ([1.0], r"\[1.0\] is not a mapping; write {'name of class'"),
    ],
)
def test_shares_that_do_not_match_the_workload_are_refused(shares, message):
    with pytest.raises(PolicyError, match=message):
        GreedyP(shares).tabulate(SCENARIO.workload, (40,))


def test_a_design_load_must_be_a_load():
    with pytest.raises(PolicyError, match="design load=-1"):
        greedy_p(SCENARIO, -1)
