"""Decisions of several policies side by side."""

from __future__ import annotations

import pytest

from moldable import (
    Greedy,
    JobClass,
    Scenario,
    SpeedUp,
    Thresholds,
    Workload,
    greedy_p,
    value_policy,
)
from moldable.policies import FixedWidth
from moldable.policies.decisions import decisions

CURVE = SpeedUp([1.0, 1.8, 2.5])
TWO = Workload((JobClass("a", 3.0, CURVE), JobClass("b", 1.0, SpeedUp({2: 1.9, 4: 3.0}), 2.0)))
THREE_OR_TWO = Thresholds({"jobs": {1: 1, 4: 2, 8: 3}})


def single(servers):
    return Scenario.single(CURVE, 0.8, servers).workload


def test_rows_are_the_ranges_in_which_no_policy_changes_its_mind():
    (found,) = decisions(Scenario(single(12), 12), {"own": THREE_OR_TWO, "greedy": Greedy()})
    assert [(row.least, row.most) for row in found.rows] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 7),
        (8, 12),
    ]
    assert [row.shares["own"] for row in found.rows] == [{1: 1}, {1: 1}, {1: 1}, {2: 1}, {3: 1}]
    assert [row.shares["greedy"] for row in found.rows] == [{1: 1}, {2: 1}, {3: 1}, {3: 1}, {3: 1}]


@pytest.mark.parametrize("servers", [6, 16])
def test_every_idle_count_stands_in_one_row_that_says_what_is_granted(servers):
    policies = {
        "value": value_policy(Scenario(TWO, servers), 4.0),
        "greedy_p": greedy_p(Scenario(TWO, servers)),
        "greedy": Greedy(),
    }
    pools = (servers, servers)
    found = decisions(Scenario(TWO, servers), policies)
    assert [part.job_class for part in found] == ["a", "b"]
    for j, part in enumerate(found):
        widths = TWO.classes[j].speedup.widths
        covered = [idle for row in part.rows for idle in range(row.least, row.most + 1)]
        assert covered == list(range(1, servers + 1))
        for name, policy in policies.items():
            table = policy.tabulate(TWO, pools).rows[j]
            for row in part.rows:
                for idle in range(row.least, row.most + 1):
                    truth = dict(
                        zip(widths.tolist(), table[min(idle, len(table) - 1)], strict=True)
                    )
                    assert row.shares[name] == {w: p for w, p in truth.items() if p > 0}


def test_a_cluster_of_thousands_takes_a_handful_of_rows():
    policies = {"value": value_policy(Scenario(single(4000), 4000), 4.0), "greedy": Greedy()}
    (found,) = decisions(Scenario(single(4000), 4000), policies)
    assert len(found.rows) <= 9
    assert found.rows[-1].most == 4000


def test_widths_that_do_not_fit_are_blocked_and_so_are_strict_wishes():
    policies = {"greedy": Greedy(), "strict": FixedWidth(2, strict=True)}
    (found,) = decisions(Scenario(Workload((JobClass("b", 1.0, SpeedUp({2: 1.9})),)), 3), policies)
    assert [(row.least, row.most) for row in found.rows] == [(1, 1), (2, 3)]
    assert found.rows[0].shares == {"greedy": {}, "strict": {}}


def test_in_json_widths_are_text_and_ranges_are_pairs():
    (found,) = decisions(Scenario(single(3), 3), {"own": FixedWidth(2)})
    assert found.to_dict() == {
        "class": "jobs",
        "rows": [{"idle": [1, 1], "own": {"1": 1.0}}, {"idle": [2, 3], "own": {"2": 1.0}}],
    }
