"""Kept decisions are those of the policy, and damage to their file changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from moldable import JobClass, Scenario, Workload, simulate
from moldable.errors import InputError, PolicyError
from moldable.live.kept_decisions import KeptDecisions
from moldable.live.plan_file import read_plan, write_plan
from moldable.policies import EvenPrice, GreedyP, Observation, Thresholds

CLASSES = [JobClass("a", 2.0, [1, 1.8, 2.5]), JobClass("b", 1.0, {2: 1.7, 4: 3})]
POLICIES = {
    "thresholds": Thresholds({"a": {1: 1, 4: {1: 0.3, 3: 0.7}}, "b": {2: 2, 6: 4}}),
    "greedy-p": GreedyP({"a": {1: 0.5, 3: 0.5}, "b": {4: 1.0}}),
    "even-price": EvenPrice(0.4, 3.0),
}


@pytest.fixture(params=POLICIES)
def plan(request, tmp_path):
    policy = POLICIES[request.param]
    scenario = Scenario(Workload(CLASSES), 12, waiting=5)
    answer = simulate(scenario, policy, jobs=1000, replications=8, seed=1)
    write_plan(tmp_path / "plan.json", policy, answer)
    return tmp_path / "plan.json"


def asked(decider):
    return [
        decider.grant(name, Observation(idle, waiting), u)
        for name in "ab"
        for idle in range(13)
        for waiting in (0, 1, 7)
        for u in (0.0, 0.29, 0.31, 0.999)
    ]


def test_kept_decisions_are_those_of_the_policy(plan):
    expected = asked(read_plan(plan).policy)
    first = KeptDecisions(plan, plan.parent)
    assert asked(first) == expected
    again = KeptDecisions(plan, plan.parent)
    plan.unlink()  # what was kept is enough
    assert asked(again) == expected
    assert (again.servers, again.places, again.classes) == (12, 5, ("a", "b"))
    assert again.digest == first.digest


def test_damage_to_the_kept_file_changes_nothing(plan):
    expected = asked(KeptDecisions(plan, plan.parent))
    (kept,) = plan.parent.glob("*.jsonl")
    whole = kept.read_bytes()
    wrong = [b'{"row": ["a", 3]}', b'{"servers": 12}', b"[]", b"3", b"\xff", b"[" * 100_000, b"{"]
    for damaged in (b"", whole[:200], whole[300:], b"\n".join([*wrong, whole, *wrong])):
        kept.write_bytes(damaged)
        assert asked(KeptDecisions(plan, plan.parent)) == expected


def test_known_decisions_need_no_numpy(plan):
    asked(KeptDecisions(plan, plan.parent))
    code = (
        "import sys, pathlib\n"
        "from moldable.live.run import KeptDecisions\n"
        "from moldable.policies.observation import Observation\n"
        "plan = KeptDecisions(pathlib.Path('plan.json'), pathlib.Path())\n"
        "print(plan.grant('b', Observation(12, 7), 0.5), 'numpy' in sys.modules)\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=plan.parent, capture_output=True, text=True, check=True
    ).stdout.split()
    assert printed[1] == "False"
    assert int(printed[0]) == read_plan(plan).policy.grant("b", Observation(12, 7), 0.5)


def test_a_folder_that_cannot_be_written_changes_nothing(plan, tmp_path):
    (tmp_path / "file").touch()
    assert asked(KeptDecisions(plan, tmp_path / "file")) == asked(read_plan(plan).policy)


def test_a_class_is_named_where_there_are_several(plan):
    kept = KeptDecisions(plan, plan.parent)
    assert kept.class_name("b") == "b"
    with pytest.raises(InputError, match="2 classes; choose one with --class: a, b"):
        kept.class_name(None)


def test_a_plan_that_cannot_decide_is_refused_before_anything_is_kept(plan):
    data = json.loads(plan.read_text())
    data["scenario"]["classes"][0]["speedup"] = {"7": 3.0}
    data["policy"] = {"policy": "fixed", "width": 3}
    plan.write_text(json.dumps(data))
    with pytest.raises(PolicyError, match=r"plan\.json: .*no width 3"):
        KeptDecisions(plan, plan.parent)
    assert not list(plan.parent.glob("*.jsonl"))


def test_a_random_decision_needs_a_number(plan):
    data = json.loads(plan.read_text())
    data["policy"] = {"policy": "greedy-p", "classes": {"a": {"1": 0.3, "3": 0.7}, "b": {"2": 1}}}
    plan.write_text(json.dumps(data))
    kept = KeptDecisions(plan, plan.parent)
    with pytest.raises(PolicyError, match="a width is drawn among 1, 3; pass u"):
        kept.grant("a", Observation(5))
