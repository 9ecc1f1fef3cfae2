"""`moldable tune` and `moldable tradeoff`: what they print, write and refuse."""

from __future__ import annotations

import json
import sys
import time

import pytest
from typer.testing import CliRunner

from moldable.cli import app, output
from moldable.text_files import FolderLock
from moldable.tuning import evaluator

SMALL = ("--speedup", "1,1.8,2.5", "--load", "0.8", "--servers", "10", "--seed", "1")
GPUS = "examples/gpus.toml"


def test_a_tuned_policy_is_compared_with_other_policies(run, tmp_path):
    result = run("tune", *SMALL, "--blocking-cost", "4")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Give each job, by idle servers: 1 server from 1 idle")
    assert "true optimum" in result.stdout
    answer = json.loads(run("tune", *SMALL, "--blocking-cost", "4", "--json").stdout)
    (tmp_path / "tuned.json").write_text(json.dumps(answer))
    words = ("evaluate", *SMALL, "--policy", "tuned.json", "--json")
    again = json.loads(run(*words, cwd=tmp_path).stdout)
    assert again["blocking"] == pytest.approx(answer["blocking"], rel=1e-12)


def test_a_limit_with_waiting_places_that_is_not_used_up_is_named(run):
    jobs = ("--speedup", "1,1.8,2.5", "--load", "0.8", "--servers", "8", "--waiting", "1")
    plain = run("tune", *jobs, "--max-blocking", "0.3", "--seed", "1").stdout
    assert "exponential sizes). 77 % of the limit is used." in " ".join(plain.split())


@pytest.fixture
def few_jobs(monkeypatch):
    """Let every policy be tried with few simulated jobs."""
    monkeypatch.setattr(evaluator, "TRIED", 5000)
    monkeypatch.setattr(evaluator, "CERTIFIED", 5000)


@pytest.mark.usefixtures("few_jobs")
def test_the_reason_for_a_missing_optimum_is_printed(run):
    words = ("--speedup", "1=1,2=2.22,4=5.295", *SMALL[2:], "--blocking-cost", "4", "--json")
    result = run("tune", *words, "--optimum", "--size", "deterministic", "--precision", "0.3")
    answer = json.loads(result.stdout)
    assert answer["optimum"] is None
    assert "true optimum is not known here: it needs exponential sizes" in result.stderr


def test_where_the_optimum_takes_minutes_a_note_names_the_option(run):
    words = ("tune", "--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--blocking-cost", "4")
    assert "--optimum" in run(*words, "--servers", "56", "--seed", "1").stderr
    assert "--optimum" not in run(*words, "--servers", "10", "--seed", "1").stderr


def test_decisions_are_compared_with_those_of_the_papers_policies(run):
    words = ("tune", *SMALL, "--load", "0.85", "--blocking-cost", "4")
    (part,) = json.loads(run(*words, "--json").stdout)["decisions"]
    assert part["class"] == "jobs"
    covered = [range(row["idle"][0], row["idle"][1] + 1) for row in part["rows"]]
    assert [idle for rows in covered for idle in rows] == list(range(1, 11))
    assert all(
        set(row) == {"idle", "tuned", "greedy_p", "static", "greedy"} for row in part["rows"]
    )
    # At load 0.85 there are 20/17 servers for a mean size; widths 2 and 3 take 10/9 and 6/5.
    wide = (20 / 17 - 10 / 9) / (6 / 5 - 10 / 9)
    assert part["rows"][-1]["greedy_p"] == pytest.approx({"2": 1 - wide, "3": wide})
    assert [row["greedy"] for row in part["rows"][:3]] == [{"1": 1.0}, {"2": 1.0}, {"3": 1.0}]
    text = run(*words).stdout
    assert "Servers given, by idle servers:" in text
    assert "2: 26.5 %, 3: 73.5 %" in text


def test_classes_that_share_a_pool_get_a_table_each(run, tmp_path):
    (tmp_path / "two.toml").write_text(
        'servers = 8\n[[class]]\nname = "small"\narrival_rate = 3\nspeedup = [1, 1.8]\n'
        '[[class]]\nname = "large"\narrival_rate = 0.5\nspeedup = { 2 = 1.9, 4 = 3.2 }\n'
    )
    words = ("tune", "--workload", "two.toml", "--blocking-cost", "3")
    found = json.loads(run(*words, "--json", cwd=tmp_path).stdout)["decisions"]
    assert [part["class"] for part in found] == ["small", "large"]
    assert found[1]["rows"][0] == {
        "idle": [1, 1],
        **{name: {} for name in found[1]["rows"][0] if name != "idle"},
    }
    text = run(*words, cwd=tmp_path).stdout
    assert text.index("given to small") < text.index("given to large") < text.index("true optimum")


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (("tune", *SMALL, "--max-blocking", "0.2"), ("tuning the blocking cost", "more load")),
        (("tradeoff", *SMALL, "--costs", "4"), ("true optimum", "value policy")),
    ],
)
def test_a_terminal_sees_every_step_and_a_pipe_only_those_of_long_runs(
    run, on_terminal, monkeypatch, words, steps
):
    shown = on_terminal(*words)
    assert all(step in shown for step in steps)
    monkeypatch.setattr(output, "INTERVAL", 1000.0)
    assert run(*words).stderr == ""
    monkeypatch.setattr(output, "INTERVAL", 1e-3)
    assert "moldable: progress: " in run(*words).stderr


@pytest.mark.parametrize("words", [("--max-blocking", "0.2"), ("--costs", "2,8")])
def test_no_number_is_cut_on_a_narrow_page(run, words):
    command = "tune" if words[0] == "--max-blocking" else "tradeoff"
    wide = run(command, *SMALL, *words, columns=200).stdout
    narrow = run(command, *SMALL, *words, columns=60).stdout
    assert max(map(len, narrow.splitlines())) <= 60
    table = wide.partition("\nmean execution time\n")[0]  # above the chart
    numbers = [word for word in table.split() if word[0].isdigit()]
    assert numbers
    assert all(number in narrow for number in numbers)
    assert "…" not in narrow


def test_a_tradeoff_is_drawn_below_its_table(run):
    result = run("tradeoff", *SMALL, "--costs", "2,8")
    assert result.returncode == 0, result.stderr
    table, _, picture = result.stdout.partition("computed to within")
    assert "value policy" in table
    assert "blocking (lower left is better)" in picture
    canvas = [line.partition("│")[2] or line.partition("┤")[2] for line in picture.splitlines()]
    assert all(mark in "".join(canvas) for mark in "·●▲")


@pytest.mark.usefixtures("few_jobs")
def test_a_tradeoff_of_other_sizes_has_no_true_optimum(run):
    asked = ("--costs", "4", "--size", "deterministic", "--precision", "0.3", "--seed", "1")
    answer = json.loads(run("tradeoff", *SMALL, *asked, "--json").stdout)
    assert answer["optimum"] is None
    assert "sizes that are deterministic" in answer["why_no_optimum"]


def test_without_matplotlib_a_tradeoff_keeps_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = ["tradeoff", *SMALL, "--costs", "2", "--out", str(tmp_path), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    said = f"install it: pip install matplotlib; only {tmp_path / 'tradeoff.json'} will be written"
    assert said in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tradeoff.json"]
    assert json.loads((tmp_path / "tradeoff.json").read_text()) == json.loads(result.stdout)


def test_a_tradeoff_is_written_whole(run, tmp_path):
    out = tmp_path / "deep" / "folder"
    result = run("tradeoff", *SMALL, "--costs", "2,8", "--out", str(out), "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert json.loads((out / "tradeoff.json").read_text()) == answer
    assert {path.name for path in out.iterdir()} == {
        f"tradeoff.{k}" for k in ("json", "svg", "png")
    }
    for best, own in zip(answer["optimum"]["points"], answer["value_policy"], strict=True):
        cost = (1 - own["blocking"]) * own["mean_execution_time"] + own["blocking_cost"] * own[
            "blocking"
        ]
        assert best["cost"] * (1 - 1e-6) <= cost <= 1.03 * best["cost"]


@pytest.mark.parametrize(
    ("folder", "reason"), [("/proc/none", "cannot be created"), ("/proc", "cannot be written to")]
)
def test_a_folder_that_cannot_be_made_or_written_to_is_refused_before_the_work(run, folder, reason):
    # This many servers would take hours.
    began = time.monotonic()
    result = run("tradeoff", *SMALL[:4], "--servers", "500", "--out", folder)
    assert result.returncode == 2
    assert f"{folder} {reason}: no such file" in result.stderr
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("tune", *SMALL),
            "exactly one of --max-blocking, --blocking-cost, --max-time; got none",
        ),
        (
            ("tune", *SMALL, "--max-blocking", "0.1", "--max-time", "3"),
            "got --max-blocking and --max-time",
        ),
        (("tune", *SMALL, "--max-blocking", "1.5"), "above 0 and below 1"),
        (("tune", *SMALL, "--max-blocking", "1e-6"), "the least blocking of any policy"),
        (  # before the work, which would find that the limit cannot be met
            ("tune", *SMALL, "--max-blocking", "1e-6", "--policy-out", "missing/p.json"),
            "--policy-out missing/p.json: there is no such folder",
        ),
        (
            ("tune", "--workload", GPUS, "--max-blocking", "0.2", "--policy-out", GPUS),
            f"--policy-out {GPUS} would replace the input",
        ),
        (("tradeoff", *SMALL, "--costs", "2,many"), "not a list of numbers"),
        (("tradeoff", *SMALL, "--costs", "-2"), "above 0"),
        (("tradeoff", *SMALL, "--costs", "1e12"), "below 1e+12"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_way_out(run, arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_that_another_run_writes_is_refused_before_the_work(run, tmp_path):
    with FolderLock(tmp_path):
        result = run("tradeoff", *SMALL[:4], "--servers", "500", "--out", str(tmp_path))
    assert result.returncode == 2
    assert "being written by another run" in result.stderr
    assert list(tmp_path.iterdir()) == []
