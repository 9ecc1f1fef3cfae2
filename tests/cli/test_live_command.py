"""`moldable live report`: a table, JSON, and an exit code for scripts."""

from __future__ import annotations

import json

import pytest

from commands import run_here
from live.clusters import journal
from moldable import Scenario, evaluate, value_policy
from moldable.live.plan_file import read_plan, write_plan
from moldable.live.rehearsal import write_journal

PLANNED = Scenario.single([1, 1.8, 2.5], 0.6, 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    policy = value_policy(PLANNED, 10.0)
    write_plan(folder / "plan.json", policy, evaluate(PLANNED, policy))
    digest = read_plan(folder / "plan.json").digest
    for name, load in (("as-planned", 0.6), ("busier", 0.8)):
        entries = journal(PLANNED.at_load(load), policy, 1500, 4, digest)
        write_journal(folder / f"{name}.jsonl", entries)
    return folder


def run(folder, *words):
    return run_here(["live", "report", *words], folder, 100)


def test_a_cluster_as_planned_is_compared_with_the_plan(folder):
    done = run(folder, "as-planned.jsonl", "--plan", "plan.json", "--check")
    assert done.returncode == 0, done.stderr
    assert "No figure differs from the plan beyond chance." in done.stdout
    assert "arrival rate" in done.stdout
    assert "4.8" in done.stdout


def test_check_is_for_scripts(folder):
    words = ("busier.jsonl", "--plan", "plan.json")
    assert run(folder, *words).returncode == 0
    done = run(folder, *words, "--check", "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert "plan again with arrival_rate" in data["warnings"][0]
    assert {each["figure"] for each in data["figures"]} >= {"arrival rate", "blocking", "share"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("missing.jsonl", "--plan", "plan.json"), "missing.jsonl cannot be read"),
        (("as-planned.jsonl", "--plan", "missing.json"), "missing.json cannot be read"),
        (("as-planned.jsonl",), "Missing option '--plan'"),
        (("plan.json", "--plan", "plan.json"), "plan.json, line 1: not a JSON object"),
        (("as-planned.jsonl", "--plan", "plan.json", "--grace", "-1"), "--grace -1 must be"),
    ],
)
def test_bad_input_is_refused(folder, words, told):
    done = run(folder, *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
