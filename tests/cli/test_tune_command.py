"""`moldable tune` and `moldable tradeoff`: what they print, write and refuse."""

from __future__ import annotations

import json

import pytest

SMALL = ("--speedup", "1,1.8,2.5", "--load", "0.8", "--servers", "10", "--seed", "1")


def test_a_tuned_policy_comes_with_its_rivals(run):
    result = run("tune", *SMALL, "--blocked-job-price", "4")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Give each job, by idle servers: 1 server from 1 idle")
    assert "true optimum" in result.stdout
    answer = json.loads(run("tune", *SMALL, "--blocked-job-price", "4", "--json").stdout)
    policy = f"price:{answer['q0']},{answer['ell']}"
    again = json.loads(run("evaluate", *SMALL, "--policy", policy, "--json").stdout)
    assert again["blocking"] == pytest.approx(answer["blocking"], rel=1e-12)


def test_a_tradeoff_is_written_whole(run, tmp_path):
    out = tmp_path / "deep" / "folder"
    result = run("tradeoff", *SMALL, "--prices", "2,8", "--out", str(out), "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert json.loads((out / "tradeoff.json").read_text()) == answer
    assert {path.name for path in out.iterdir()} == {
        f"tradeoff.{k}" for k in ("json", "svg", "png")
    }
    for best, own in zip(answer["optimum"]["points"], answer["price_policy"], strict=True):
        cost = (1 - own["blocking"]) * own["mean_execution_time"] + own["price"] * own["blocking"]
        assert best["cost"] * (1 - 1e-6) <= cost <= 1.03 * best["cost"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tune", *SMALL), "exactly one"),
        (("tune", *SMALL, "--max-blocking", "1.5"), "between 0 and 1"),
        (("tune", *SMALL, "--max-blocking", "1e-6"), "the least blocking of any policy"),
        (("tradeoff", *SMALL, "--prices", "2,many"), "not a list of numbers"),
        (("tradeoff", *SMALL, "--prices", "-2"), "above 0"),
        (("tradeoff", *SMALL, "--prices", "2", "--out", "/proc/none"), "cannot be made"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_way_out(run, arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
