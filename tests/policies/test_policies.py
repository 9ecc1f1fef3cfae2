"""What any policy must do, and what the paper's do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from moldable import Greedy, GreedyP, JobClass, Policy, SpeedUp, Workload, greedy_p, optimum
from moldable.errors import PolicyError
from moldable.policies.policy_table import grantable

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
WORKLOAD = Workload.single(PAPER, 0.8, 40)


class HalfOfIdle(Policy):
    """A user's own policy: never more than half of what is idle."""

    def decide(self, job_class, idle):
        return {max(1, min(idle // 2, int(job_class.speedup.widths[-1]))): 1.0}


POLICIES = [greedy_p(WORKLOAD, 40), greedy_p(WORKLOAD, 40, 0.9), Greedy(), HalfOfIdle()]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_tables_grant_what_fits_and_agree_with_decide(policy):
    (rows,) = policy.tabulate(WORKLOAD, (40,)).rows
    widths = PAPER.widths
    assert np.all(rows >= 0)
    for idle, row in enumerate(rows):
        assert np.all(widths[row > 0] <= idle)
        assert row.sum() == pytest.approx(1 if idle else 0)
        wishes = policy.decide(WORKLOAD.classes[0], idle)
        granted = {}
        for width, share in wishes.items():
            fitting = min(width, idle)
            granted[fitting] = granted.get(fitting, 0) + share
        if idle:
            assert dict(zip(widths[row > 0].tolist(), row[row > 0], strict=True)) == pytest.approx(
                granted
            )
    assert pickle.loads(pickle.dumps(policy)).name == policy.name  # noqa: S301 - our own bytes


def test_greedy_p_uses_the_optimum():
    policy = greedy_p(WORKLOAD, 40)
    best = optimum(PAPER, 0.8)
    assert policy.shares["jobs"] == pytest.approx(
        dict(zip(best.support, best.mix.shares, strict=True))
    )
    designed = greedy_p(WORKLOAD, 40, design_load=0.9)
    assert set(designed.shares["jobs"]) == set(optimum(PAPER, 0.9).support)


def test_what_is_granted_is_the_fastest_that_fits_and_the_narrowest_of_equals():
    dipping = SpeedUp({2: 1.9, 3: 1.7, 5: 1.9, 6: 2.5})
    # 0, 1: nothing; 2..5: width 2; 6 and more: width 6.
    assert grantable(dipping, 7).tolist() == [-1, -1, 0, 0, 0, 0, 3, 3]


class Broken(Policy):
    def __init__(self, wishes):
        self.wishes = wishes

    def decide(self, job_class, idle):  # noqa: ARG002
        return self.wishes


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({1: 0.5}, "sum to 0.5"),
        ({}, "sum to 0"),
        ({1: 1.5, 2: -0.5}, "must lie in"),
        ({0: 1.0}, "width 0"),
        ({1.5: 1.0}, "width 1.5"),
    ],
)
def test_broken_policies_are_refused(wishes, message):
    with pytest.raises(PolicyError, match=message):
        Broken(wishes).tabulate(WORKLOAD, (40,))


def test_policies_for_other_classes_are_refused():
    with pytest.raises(PolicyError, match="no shares for class 'jobs'"):
        GreedyP({"other": {1: 1.0}}).tabulate(WORKLOAD, (40,))
    with pytest.raises(PolicyError, match="design load -1"):
        greedy_p(WORKLOAD, 40, -1)


def test_tables_too_long_to_make_are_refused_with_the_way_out():
    many = Workload((JobClass("jobs", 1.0, PAPER),))
    with pytest.raises(PolicyError, match="override reach"):
        HalfOfIdle().tabulate(many, (10**6,))
