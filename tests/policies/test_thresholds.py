"""Tables from idle servers to widths."""

from __future__ import annotations

import pytest

from moldable import (
    JobClass,
    Policy,
    Scenario,
    SpeedUp,
    Thresholds,
    Workload,
    read_policy_file,
    write_policy_file,
)
from moldable.errors import PolicyError

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
GAPS = SpeedUp({2: 1.9, 4: 3.5})
SCENARIO = Scenario.single(PAPER, 0.8, 40)


def widths_by_idle(policy, job_class, most):
    return [next(iter(policy.decide(job_class, idle))) for idle in range(most + 1)]


def test_each_row_holds_from_its_idle_count_on():
    policy = Thresholds({"jobs": {1: 1, 4: 2, 10: 3}})
    (job_class,) = SCENARIO.workload.classes
    assert widths_by_idle(policy, job_class, 12) == [1] * 4 + [2] * 6 + [3] * 3
    assert policy.reach(job_class, 40) == 10
    assert policy.reach(job_class, 6) == 6
    (rows,) = policy.tabulate(SCENARIO.workload, (40,)).rows
    assert rows.argmax(axis=1)[1:].tolist() == [0] * 3 + [1] * 6 + [2]


def test_below_the_first_row_a_job_gets_the_narrowest_width():
    gaps = Workload((JobClass("jobs", 1.0, GAPS),))
    policy = Thresholds({"jobs": {6: 4}})
    assert widths_by_idle(policy, gaps.classes[0], 7) == [2] * 6 + [4] * 2
    (rows,) = policy.tabulate(gaps, (20,)).rows
    assert rows.tolist() == [*[[0, 0]] * 2, *[[1, 0]] * 4, [0, 1]]


def test_widths_may_fall_again():
    policy = Thresholds({"jobs": {3: 3, 5: 1}})
    assert widths_by_idle(policy, SCENARIO.workload.classes[0], 6) == [1, 1, 1, 3, 3, 1, 1]


def test_a_row_may_draw_between_widths():
    policy = Thresholds({"jobs": {1: 1, 4: {1: 0.25, 2: 0.75}, 6: 2}})
    (job_class,) = SCENARIO.workload.classes
    assert policy.decide(job_class, 5) == {1: 0.25, 2: 0.75}
    (rows,) = policy.tabulate(SCENARIO.workload, (40,)).rows
    assert rows[:, :2].tolist() == [[0, 0], *[[1, 0]] * 3, *[[0.25, 0.75]] * 2, [0, 1]]
    assert policy.describe() == "1 server from 1 idle, 1 (25 %) or 2 (75 %) from 4, 2 from 6"
    assert Thresholds({"jobs": {2: {1: 0.5, 2: 0.5}}}).describe() == (
        "1 (50 %) or 2 (50 %) servers from 2 idle"
    )


@pytest.mark.parametrize("servers", [1, 3, 9, 40])
def test_the_table_is_what_is_decided(servers):
    dips = SpeedUp({1: 1.0, 2: 1.9, 3: 1.7, 6: 2.5})
    workload = Workload((JobClass("jobs", 1.0, dips),))
    policy = Thresholds({"jobs": {3: 3, 7: {2: 0.5, 6: 0.5}, 12: 1, 30: 6}})
    (rows,) = policy.tabulate(workload, (servers,)).rows
    (plain,) = Policy.tabulate(policy, workload, (servers,)).rows
    assert rows.tolist() == plain.tolist()


def test_a_width_of_billions_takes_no_memory():
    workload = Workload((JobClass("jobs", 1.0, SpeedUp({1: 1.0, 2**32: 1.8})),))
    (rows,) = Thresholds({"jobs": {1: 1, 4: 1}}).tabulate(workload, (4,)).rows
    assert rows.tolist() == [[0, 0], [1, 0], [1, 0], [1, 0], [1, 0]]


def test_tables_are_described_in_words():
    assert Thresholds({"jobs": {4: 2, 10: 3}}).describe() == "2 servers from 4 idle, 3 from 10"
    assert Thresholds({"a": {1: 1}, "b": {4: 2, 8: 4}}).describe() == (
        "a: 1 server from 1 idle; b: 2 servers from 4 idle, 4 from 8"
    )


def test_width_0_refuses_jobs_that_would_fit(tmp_path):
    policy = Thresholds({"jobs": {1: 0, 5: 2, 9: {0: 0.25, 3: 0.75}}})
    assert policy.describe() == "refused from 1 idle, 2 from 5, refused (25 %) or 3 (75 %) from 9"
    (rows,) = policy.tabulate(SCENARIO.workload, (12,)).rows
    (plain,) = Policy.tabulate(policy, SCENARIO.workload, (12,)).rows
    assert rows.tolist() == plain.tolist()
    assert rows.sum(axis=1).tolist() == [0.0] * 5 + [1.0] * 4 + [0.75]
    write_policy_file(policy, tmp_path / "policy.json")
    assert read_policy_file(tmp_path / "policy.json").tables == policy.tables


def test_later_changes_of_the_table_given_do_not_reach_the_policy():
    table = {1: 1}
    policy = Thresholds({"jobs": table})
    table[2] = 2
    assert policy.tables == {"jobs": {1: 1}}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "has no row"),
        (3, "3 has no row"),
        ({2: 3}, "width 3 from 2 idle is more than are idle; start that row at 3"),
        ({4: 2, 1: 1}, "the row for 1 idle servers comes after that for 4; .* sort the rows"),
        ({0: 1}, "idle count=0 must be a whole number from 1"),
        ({1: -1}, "width=-1 must be a whole number from 0"),
        ({1: 0.5}, "width=0.5 must be a whole number"),
        ({4: {1: 0.5, 2: 0.4}}, "probabilities sum to 0.9"),
        ({4: {1: 0.5, 5: 0.5}}, "width 5 from 4 idle is more than are idle"),
        ({4: {}}, "probabilities sum to 0"),
    ],
)
def test_invalid_tables_are_refused(table, message):
    with pytest.raises(PolicyError, match=f"thresholds, class 'jobs': .*{message}"):
        Thresholds({"jobs": table})


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"job": {1: 1}}, "names class 'job', .* did you mean 'jobs'"),
        ({}, "thresholds has no table for class 'jobs'; it knows no class at all"),
        ({"jobs": {1: 1, 90: 8}}, "no width 8; choose one of its widths: 1, 2, 3, 4, 5"),
    ],
)
def test_tables_that_do_not_match_the_workload_are_refused(tables, message):
    with pytest.raises(PolicyError, match=message):
        Thresholds(tables).tabulate(SCENARIO.workload, (40,))


def test_a_decision_asked_for_by_hand_is_checked_too():
    with pytest.raises(PolicyError, match="no width 8"):
        Thresholds({"jobs": {8: 8}}).decide(SCENARIO.workload.classes[0], 9)
