"""`moldable replay`."""

from __future__ import annotations

import json

import pytest

WEEK = ("replay", "examples/slurm-week.txt", "--servers", "64", "--copies", "0", "--seed", "1")


def test_it_prints_the_past_the_baselines_and_the_policies(run):
    result = run(*WEEK, "--policy", "even-price")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    for name in ("recorded", "rigid FCFS", "rigid EASY", "largest that fits", "even-price"):
        assert any(line.startswith(f" {name} ") for line in lines), name
    assert "512 jobs on 64 gpus, EASY backfill; the last 256 jobs are judged." in lines[0]
    assert "Assumed curve: downey:p:1." in result.stdout
    assert "Random seed: 1." in result.stdout


def test_json_has_the_runs_and_what_was_asked(run):
    result = run(*WEEK, "--policy", "tuned", "--curve", "amdahl:0.9", "--least", "0.25", "--json")
    found = json.loads(result.stdout)
    assert [each["name"] for each in found["runs"]][-1] == "tuned"
    assert found["tuned"]["policy"] in {"even-price", "idle-share", "greedy"}
    assert found["inputs"]["curves"] == {"jobs": "amdahl:0.9"}
    assert found["inputs"]["least"] == 0.25
    assert found["runs"][0]["mean_wait"]["value"] > 0.0
    assert found["runs"][0]["mean_wait"]["interval"] is None


def test_without_backfill_nobody_overtakes(run):
    result = run(*WEEK, "--backfill", "none", "--policy", "greedy", "--json")
    found = json.loads(result.stdout)
    assert found["baseline"] == "rigid FCFS"
    assert found["inputs"]["discipline"] == "fcfs"


def test_classes_are_shown_and_may_have_their_own_curves(run):
    result = run(
        *WEEK,
        "--policy",
        "idle-share",
        "--class-by",
        "name:^(train|eval|solve)",
        "--curve",
        "linear",
        "--curve",
        "train=power:0.8",
        "--json",
    )
    found = json.loads(result.stdout)
    assert found["inputs"]["curves"] == {"eval": "linear", "train": "power:0.8", "solve": "linear"}
    shown = run(*WEEK, "--policy", "idle-share", "--class-by", "name:^(train|eval|solve)")
    assert "By class, idle-share against rigid EASY:" in shown.stdout


def test_a_narrow_terminal_gets_blocks_instead_of_cut_tables(run):
    result = run(*WEEK, "--policy", "idle-share", columns=60)
    assert result.returncode == 0
    assert max(map(len, result.stdout.splitlines())) <= 60
    assert "largest that fits" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--backfill", "sjf"), "--backfill 'sjf' is unknown; write easy or none"),
        (("--least", "0"), "--least 0 must be above 0"),
        (("--policy", "equi"), "equi moves servers between running jobs"),
        (("--curve", "linear", "--curve", "amdahl:0.9"), "are both for all classes"),
        (("--curve", "nobody=linear"), "name the class 'nobody'"),
        (("--judged-from", "1"), "--judged-from 1 must be from 0"),
        (("--copies", "-1"), "--copies -1 must be a whole number"),
        (("--servers", "0"), "--servers 0 must be a whole number"),
    ],
)
def test_bad_options_are_named_with_exit_code_2(run, options, message):
    result = run(*WEEK, "--policy", "greedy", *options)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_log_that_does_not_tell_its_servers_needs_them(run):
    result = run("replay", "examples/slurm-week.txt")
    assert result.returncode == 2
    assert "give it (servers=N, --servers N)" in result.stderr
