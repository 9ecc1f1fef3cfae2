"""`--policy` as every command reads it."""

from __future__ import annotations

import json

import pytest

from moldable import Greedy, Scenario, SpeedUp, Thresholds, value_policy
from moldable.cli.scenario_options import read_policy
from moldable.errors import MoldableError
from moldable.policies import Equi, FixedWidth, Rigid

SCENARIO = Scenario.single(SpeedUp([1, 1.8, 2.5, 3, 3.4]), 0.8, 40)
SYSTEM = ("--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--servers", "40")
QUICK = ("--jobs", "1e4", "--seed", "1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("greedy-p", None),
        ("greedy", Greedy()),
        ("fixed:3", FixedWidth(3)),
        (" fixed-strict:3 ", FixedWidth(3, strict=True)),
        ("equi", Equi()),
    ],
)
def test_names_are_read(text, expected):
    assert read_policy(text, SCENARIO) == expected


def test_design_loads_files_and_rigid_jobs_are_read(tmp_path):
    assert read_policy("greedy-p:0.9", SCENARIO).name == "greedy(p*) for load 0.9"
    assert isinstance(read_policy("rigid", SCENARIO), Rigid)
    assert read_policy("value:8", SCENARIO).tables == value_policy(SCENARIO, 8.0).tables
    path = tmp_path / "table.JSON"
    path.write_text('{"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2}}}')
    assert isinstance(read_policy(str(path), SCENARIO), Thresholds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("greedi", "unknown policy 'greedi'; did you mean 'greedy'.*or a file FILE.json"),
        ("fixd:3", "did you mean 'fixed'"),
        ("", "unknown policy ''; known: equi, even-price, fixed, fixed-strict, greedy, greedy-p"),
        ("greedy:3", "policy 'greedy:3' takes no number; write greedy$"),
        ("equi:", "takes no number; write equi"),
        ("fixed", "policy 'fixed' needs a number; write fixed:3"),
        ("fixed-strict:", "needs a number; write fixed-strict:3"),
        ("greedy-p:", "needs a number; write greedy-p or greedy-p:0.85"),
        ("fixed:x", "'x' is not a width; write fixed:3"),
        ("fixed:0", "width=0 must be a whole number from 1"),
        ("greedy-p:x", "'x' is not a design load; write greedy-p or greedy-p:0.85"),
        ("value", "policy 'value' needs a number; write value:8"),
        ("value:x", "'x' is not a cost; write value:8"),
        ("value:-1", "blocking_cost=-1 must be at least 0"),
        ("none.json", "none.json cannot be read"),
    ],
)
def test_bad_names_are_explained(text, message):
    with pytest.raises(MoldableError, match=message):
        read_policy(text, SCENARIO)


def test_a_file_that_does_not_suit_the_workload_is_named(tmp_path):
    path = tmp_path / "others.json"
    path.write_text('{"policy": "thresholds", "classes": {"others": {"1": 1}}}')
    with pytest.raises(
        MoldableError, match=r"others\.json: thresholds names class 'others', which"
    ):
        read_policy(str(path), SCENARIO)


def test_simulate_takes_them(run, tmp_path):
    (tmp_path / "table.json").write_text(
        '{"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2, "20": 3}}}'
    )
    answers = {}
    for policy in ("fixed:2", "fixed-strict:3", "table.json", "value:4"):
        result = run("simulate", *SYSTEM, *QUICK, "--policy", policy, "--json", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        answers[policy] = json.loads(result.stdout)
    assert set(answers["fixed:2"]["width_shares"]) == {"2"}  # 2 divides the servers
    assert set(answers["fixed-strict:3"]["width_shares"]) == {"3"}
    assert set(answers["table.json"]["width_shares"]) == {"1", "2", "3"}
    assert set(answers["value:4"]["width_shares"]) == {"1", "2", "3", "4", "5"}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("equi", "equi is preemptive: widths change while jobs run; use moldable evaluate"),
        ("fixed:6", "class 'jobs' has no width 6; choose one of its widths: 1, 2, 3, 4, 5"),
        ("rigid", "class 'jobs' has the widths 1, 2, 3, 4, 5, but a rigid job has one"),
    ],
)
def test_simulate_explains_what_it_cannot_do(run, policy, message):
    result = run("simulate", *SYSTEM, *QUICK, "--policy", policy)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
