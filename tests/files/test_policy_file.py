"""Policies as JSON files."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from moldable import (
    Greedy,
    Policy,
    Scenario,
    SpeedUp,
    Thresholds,
    evaluate,
    greedy_p,
    read_policy_file,
    tune,
    write_policy_file,
)
from moldable.errors import InputError, PolicyError
from moldable.files.policy_file import to_json
from moldable.policies import FixedWidth, GreedyP, Rigid

SCENARIO = Scenario.single(SpeedUp([1, 1.8, 2.5, 3, 3.4]), 0.8, 40)
RIGID = Scenario.single(SpeedUp({3: 2.5}), 0.5, 40)


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "policy.json"
        path.write_text(text)
        return read_policy_file(path)

    return read_text


@pytest.mark.parametrize(
    ("policy", "workload"),
    [
        (Greedy(), SCENARIO.workload),
        (greedy_p(SCENARIO, 0.9), SCENARIO.workload),
        (GreedyP({"jobs": {np.int64(3): np.float64(0.1), 4: 0.9}}), SCENARIO.workload),
        (FixedWidth(3), SCENARIO.workload),
        (FixedWidth(3, strict=True), SCENARIO.workload),
        (Rigid(), RIGID.workload),
        (Rigid({"jobs": 4}), SCENARIO.workload),
        (Thresholds({"jobs": {1: 1, 4: 2, 10: 3}}), SCENARIO.workload),
        (
            Thresholds({"jobs": {1: 1, 4: {1: np.float64(0.1), np.int64(2): 0.9}}}),
            SCENARIO.workload,
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_written_is_read_back(read, policy, workload):
    again = read(to_json(policy))
    assert type(again) is type(policy)
    assert again.name == policy.name
    assert to_json(again) == to_json(policy)
    one, two = (each.tabulate(workload, (40,)).rows[0] for each in (policy, again))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"policy": "greedy"}, Greedy()),
        ({"policy": "fixed", "width": 3}, FixedWidth(3)),
        ({"policy": "fixed", "width": 3, "strict": True}, FixedWidth(3, strict=True)),
        ({"policy": {"policy": "fixed", "width": 3}, "blocking": 0.1}, FixedWidth(3)),
    ],
)
def test_files_written_by_hand_are_read(read, data, expected):
    assert read(json.dumps(data)) == expected


def test_tables_written_by_hand_are_read(read):
    table = read('{"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2}}}')
    assert table.tables == {"jobs": {1: 1, 4: 2}}
    drawn = read('{"policy": "thresholds", "classes": {"jobs": {"4": {"1": 0.5, "2": 0.5}}}}')
    assert drawn.tables == {"jobs": {4: {1: 0.5, 2: 0.5}}}
    shares = read('{"policy": "greedy-p", "classes": {"jobs": {"3": 0.5, "4": 0.5}}}')
    assert (shares.shares, shares.name) == ({"jobs": {3: 0.5, 4: 0.5}}, "greedy(p)")
    assert read('{"policy": "rigid", "classes": {"jobs": 3}}').widths == {"jobs": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"policy":\n  "greedy"', "policy.json, line 2: not valid JSON: expecting ',' delimiter"),
        ("", "policy.json, line 1: not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"policy": "fixed", "width": ' + "9" * 5000 + "}", "too long numbers"),
        ("[]", 'no "policy" is named; write'),
        ('{"width": 3}', 'no "policy" is named'),
        ('{"policy": {"width": 3}}', "unknown policy None"),
        ('{"policy": {"policy": {"policy": "greedy"}}}', "unknown policy {'policy': 'greedy'}"),
        ('{"policy": "tresholds"}', "unknown policy 'tresholds'; did you mean 'thresholds'"),
        ('{"policy": 3}', "unknown policy 3; known: even-price, fixed, greedy, greedy-p, idle"),
        ('{"policy": "fixed", "widht": 3}', "unknown key 'widht' .*; did you mean 'width'"),
        ('{"policy": "fixed"}', """'fixed' needs 'width'; add "width": ..."""),
        ('{"policy": "greedy", "policy": "rigid"}', "key 'policy' is given twice"),
        ('{"policy": "fixed", "width": 3, "strict": 1}', '"strict" is 1; it must be true or false'),
        ('{"policy": "fixed", "width": true}', "width=True is not a number"),
        ('{"policy": "greedy-p", "classes": []}', '"classes" is \\[\\]; write'),
        (
            '{"policy": "greedy-p", "classes": {"jobs": 1}}',
            "class 'jobs': 1 is not a choice of widths",
        ),
        (
            '{"policy": "greedy-p", "classes": {"jobs": {"3": 0.5, "4": 0.4}}}',
            "class 'jobs': probabilities sum to 0.9; they must sum to 1",
        ),
        ('{"policy": "greedy-p", "classes": {"jobs": {"3": NaN}}}', "probability nan must lie in"),
        ('{"policy": "greedy-p", "classes": {"jobs": {"3": "x"}}}', "='x' is not a number"),
        ('{"policy": "greedy-p", "classes": {}, "label": 3}', '"label" is 3; it must be text'),
        (
            '{"policy": "thresholds", "classes": {"jobs": {"x": 1}}}',
            "key 'x' is not a whole number",
        ),
        (
            '{"policy": "thresholds", "classes": {"jobs": {"' + "1" * 5000 + '": 1}}}',
            "key '1{18}' is not a whole number of servers",
        ),
        (
            '{"policy": "thresholds", "classes": {"jobs": {"1": 1, "01": 1}}}',
            "key '01' is not a whole number of servers or repeats one",
        ),
        (
            '{"policy": "thresholds", "classes": {"jobs": {"2": 3}}}',
            "width 3 from 2 idle is more than are idle",
        ),
    ],
)
def test_bad_files_are_explained(read, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    assert "policy.json" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.json cannot be read: no such file"):
        read_policy_file(tmp_path / "none.json")


class OwnPolicy(Policy):
    def decide(self, job_class, idle):  # noqa: ARG002
        return {1: 1.0}


def test_a_policy_that_is_code_cannot_be_written():
    with pytest.raises(PolicyError, match=r"OwnPolicy is code and cannot .*: greedy-p, greedy"):
        to_json(OwnPolicy())


def test_a_file_is_written_whole_and_read_back(tmp_path):
    path = tmp_path / "policy.json"
    for policy in (FixedWidth(3), Greedy()):
        write_policy_file(policy, path)
        assert read_policy_file(path) == policy
    assert [entry.name for entry in tmp_path.iterdir()] == ["policy.json"]


def test_a_computed_policy_keeps_its_classes_in_the_file(tmp_path):
    path = tmp_path / "policy.json"
    tuned = tune(SCENARIO, max_blocking=0.3).policy
    write_policy_file(tuned, path)
    by_name = [tuned.grant(SCENARIO.workload.classes[0].name, idle=k, u=0.5) for k in range(5)]
    again = read_policy_file(path)
    assert [again.grant(SCENARIO.workload.classes[0].name, idle=k, u=0.5) for k in range(5)] == (
        by_name
    )


@pytest.mark.parametrize("place", ["scenario", "inputs"])
@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (5, "classes=5 is not a list of classes"),
        ({"a": 1}, "is not a list of classes"),
        ([5], "5 is not a class; it needs a name"),
        ([{"speedup": []}], "is not a class; it needs a name"),
        ([{"name": "a"}], "class 'a': speedup=None must map widths to speed-ups"),
    ],
)
def test_damaged_classes_of_a_file_are_refused(tmp_path, place, classes, message):
    path = tmp_path / "policy.json"
    scenario = {"classes": classes}
    kept = scenario if place == "scenario" else {"scenario": scenario}
    path.write_text(json.dumps({"policy": {"policy": "greedy"}, place: kept}))
    with pytest.raises(InputError, match=rf"policy.json: .*{re.escape(message)}"):
        read_policy_file(path)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match=r"policy file .*nowhere.* cannot be written"):
        write_policy_file(Greedy(), tmp_path / "nowhere" / "policy.json")


@pytest.mark.parametrize("path", [None, 5])
def test_what_names_no_file_is_refused(path):
    with pytest.raises(InputError, match="is not a file name; write one"):
        write_policy_file(Greedy(), path)


def test_a_result_with_a_policy_is_refused_with_the_way_to_its_policy(tmp_path):
    scenario = Scenario.single([1, 1.8], 0.8, 4)
    tuned = tune(scenario, blocking_cost=4.0)
    for ask in (
        lambda: write_policy_file(tuned, tmp_path / "policy.json"),
        lambda: evaluate(scenario, tuned),
    ):
        with pytest.raises(PolicyError, match=r"is not a policy; pass its attribute policy$"):
            ask()


def test_what_is_no_policy_is_not_written(tmp_path):
    with pytest.raises(PolicyError, match="'greedy' is not a policy; pass one such as Greedy"):
        write_policy_file("greedy", tmp_path / "policy.json")
    assert not list(tmp_path.iterdir())
