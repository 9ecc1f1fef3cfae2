"""`moldable plan`: what it prints, writes and refuses."""

from __future__ import annotations

import json

import pytest

from moldable import Scenario, evaluate, read_policy_file

ONE = """
servers = 6
time_unit = "minutes"
[[class]]
name = "jobs"
arrival_rate = "4/min"
mean_size = "1 min"
speedup = [1, 1.8]
"""
QUEUE = ONE.replace("servers = 6", 'servers = 6\nwaiting = "unlimited"')
LOG = "submit,run_time,servers\n" + "".join(
    f"{600 * k},{300 + 97 * (k * k % 13)},{1 + k % 2}\n" for k in range(60)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "one.toml").write_text(ONE)
    (tmp_path / "queue.toml").write_text(QUEUE)
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path


def test_a_plan_is_printed_and_its_policy_file_gives_the_same_decisions(run, folder):
    words = ("plan", "one.toml", "--max-blocking", "0.2", "--growth", "1.5", "--seed", "1")
    result = run(*words, "--policy-out", "policy.json", cwd=folder)
    assert result.returncode == 0, result.stderr
    for part in (
        "Plan for 6 servers at load 0.6667.",
        "The cluster meets the target, blocking at most 0.2",
        "Servers needed now:",
        "Servers needed with 50 % more jobs:",
        "largest that fits (greedy)",
        "best of all policies",
        "load 120 %, re-tuned",
        "The expected performance holds for Poisson arrivals, exponential sizes (exact).",
    ):
        assert part in result.stdout, part
    assert "the policy was written to policy.json" in result.stderr
    answer = json.loads(run(*words, "--json", cwd=folder).stdout)
    scenario = Scenario.read(folder / "one.toml")
    again = evaluate(scenario, read_policy_file(folder / "policy.json"))
    assert again.blocking == pytest.approx(answer["performance"]["blocking"], rel=1e-12)
    assert answer["kept"] is True
    assert answer["inputs"]["scenario"]["servers"] == 6
    text = run("evaluate", "--workload", "one.toml", "--policy", "policy.json", cwd=folder).stdout
    assert f"{again.blocking:.4g}" in text


def test_servers_and_waiting_places_replace_those_of_the_file(run, folder):
    words = ("plan", "one.toml", "--servers", "5", "--waiting", "unlimited", "--seed", "1")
    answer = json.loads(run(*words, "--max-wait", "30s", "--json", cwd=folder).stdout)
    assert answer["servers"] == 5
    assert answer["target"] == {"max_wait": 0.5}
    assert answer["performance"]["mean_wait"] < answer["performance"]["mean_response_time"]


def test_a_log_is_planned_with_its_assumptions_noted(run, folder):
    words = ("plan", "log.csv", "--servers", "3", "--seed", "1", "--precision", "0.5")
    result = run(*words, "--curve", "amdahl:0.9", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "speed-up curves are assumed to be amdahl:0.9" in result.stderr
    assert "arrivals are assumed to be Poisson" in result.stderr
    assert "Objective: least mean response time." in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("one.toml", "--max-blocking", "0.1", "--max-wait", "1"),
            "at most one target; got --max-blocking and --max-wait",
        ),
        (
            ("one.toml", "--max-wait", "1min"),
            "give --max-blocking, or let all jobs wait (--waiting unlimited)",
        ),
        (("one.toml", "--max-wait", "1min"), "--max-wait 1min does not apply"),
        (("queue.toml", "--max-blocking", "0.1"), "--max-blocking 0.1 does not apply here"),
        (("queue.toml", "--max-response", "20s"), "cannot be met by any number of servers"),
        (("queue.toml", "--servers", "3"), "--servers 3 cannot carry the load"),
        (("one.toml", "--max-blocking", "0.1", "--growth", "0"), "--growth 0 must be"),
        (("one.toml", "--curve", "linear:4"), "--curve is for job logs only"),
        (("absent.toml",), "absent.toml cannot be read"),
        (("absent.swf",), "absent.swf cannot be read"),
    ],
)
def test_bad_requests_end_with_code_2_and_write_nothing(run, folder, words, message):
    result = run("plan", *words, "--seed", "1", "--policy-out", "policy.json", cwd=folder)
    assert result.returncode == 2
    assert message in result.stderr
    assert not result.stdout
    assert not (folder / "policy.json").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing/policy.json", "no such folder"), ("one.toml", "would replace the input")],
)
def test_a_policy_file_that_cannot_be_written_is_refused_before_the_work(
    run, folder, name, message
):
    words = ("plan", "one.toml", "--seed", "1", "--report", "out.html", "--policy-out", name)
    result = run(*words, cwd=folder)
    assert result.returncode == 2
    assert f"--policy-out {name}" in result.stderr
    assert message in result.stderr
    assert not (folder / "out.html").exists()
    assert (folder / "one.toml").read_text() == ONE
