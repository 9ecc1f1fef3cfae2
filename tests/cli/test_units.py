"""Units of time on the command line: what is shown with a unit, and what without."""

from __future__ import annotations

import json
import re

import pytest

BARE = ("--speedup", "1,1.8", "--load", "0.8", "--servers", "6")
EXPLAINED = "Times are in mean job sizes: 1 is the mean time on one server."
TEXT = """
servers = 6
{unit}
[[class]]
name = "a"
arrival_rate = {rate}
mean_size = {size}
speedup = [1, 1.8]
"""
COMMANDS = {
    "evaluate": (),
    "simulate": ("--jobs", "1e3", "--seed", "1"),
    "compare": (),
    "tune": ("--max-blocking", "0.3"),
    "tradeoff": ("--costs", "2"),
    "optimum": (),
}


def workload(folder, unit, rate, size):
    path = folder / "cluster.toml"
    path.write_text(TEXT.format(unit=unit and f'time_unit = "{unit}"', rate=rate, size=size))
    return ("--workload", str(path))


@pytest.mark.parametrize("command", COMMANDS)
def test_json_carries_the_unit_and_times_scale_with_it(run, tmp_path, command):
    found = {}
    for unit in ("hours", "minutes", ""):
        rate, size = ('"2/h"', '"90 min"') if unit else ("2", "1.5")
        words = (*workload(tmp_path, unit, rate, size), *COMMANDS[command], "--json")
        result = run(command, *words)
        assert result.returncode == 0, result.stderr
        found[unit] = json.loads(result.stdout)
    assert [answer["time_unit"] for answer in found.values()] == ["hours", "minutes", None]
    hours, minutes, bare = (mean_time(command, answer) for answer in found.values())
    assert minutes == pytest.approx(60.0 * hours, rel=1e-9)
    assert bare == hours


def mean_time(command, answer):
    part = {"compare": lambda: answer["policies"][1], "tradeoff": lambda: answer["greedy"]}
    return part.get(command, lambda: answer)()["mean_execution_time"]


@pytest.mark.parametrize("command", COMMANDS)
def test_text_has_units_or_explains_once_that_there_are_none(run, tmp_path, command):
    words = COMMANDS[command]
    hours = run(command, *workload(tmp_path, "hours", '"2/h"', '"90 min"'), *words).stdout
    assert re.search(r"\d h\b|Times are in hours\.", hours)
    assert "mean job sizes" not in hours
    named = run(command, *workload(tmp_path, "", "2", "1.5"), *words).stdout
    assert named.count("Times are in the unit of the mean sizes") == 1
    bare = run(command, *BARE, *words).stdout
    explained = "(1 is the mean time on one server)" if command == "optimum" else EXPLAINED
    assert " ".join(bare.split()).count(explained) == 1


def test_throughput_is_that_of_the_cluster_in_jobs_per_unit(run, tmp_path):
    words = workload(tmp_path, "hours", '"48/day"', '"90 min"')
    answer = json.loads(run("evaluate", *words, "--json").stdout)
    # What is accepted leaves: 2 jobs an hour but for those that are blocked.
    assert 6 * answer["departure_rate"] == pytest.approx(2.0 * (1.0 - answer["blocking"]))
    text = run("evaluate", *words).stdout
    assert f"throughput: {6 * answer['departure_rate']:.5g} jobs/h\n" in text
    assert f"Mean execution time: {answer['mean_execution_time']:.6g} h\n" in text


def test_a_limit_on_time_is_a_duration(run, tmp_path):
    words = workload(tmp_path, "hours", '"2/h"', '"90 min"')
    answer = json.loads(run("tune", *words, "--max-time", "66min", "--json").stdout)
    assert answer["target"] == {"max_time": pytest.approx(1.1)}
    assert json.loads(run("tune", *words, "--max-time", "1.1", "--json").stdout) == answer


def test_arrival_times_are_in_the_scenarios_unit(run, tmp_path):
    (tmp_path / "times.csv").write_text("0\n1\n2\n4\n")
    words = workload(tmp_path, "hours", '"2/h"', '"90 min"')
    simulated = (*words, "--arrivals", str(tmp_path / "times.csv"), "--jobs", "4", "--warmup", "0")
    assert "times.csv has 4 arrivals, 0.75 jobs/h; " in run("simulate", *simulated).stderr


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("9 parsecs", "--max-time '9 parsecs' has an unknown unit; "),
        ("5/h", "--max-time '5/h' is not a duration such as \"6h\""),
        ("-2h", "--max-time -2 must be finite and above 0"),
        ("1 min", "h cannot be reached: the least mean execution time"),
    ],
)
def test_impossible_durations_end_with_code_2(run, tmp_path, asked, message):
    result = run("tune", *workload(tmp_path, "hours", "2", "1.5"), "--max-time", asked)
    assert result.returncode == 2
    assert message in result.stderr


def test_a_unit_without_a_scenarios_unit_ends_with_code_2(run):
    result = run("tune", *BARE, "--max-time", "90min")
    assert result.returncode == 2
    assert "--max-time '90min' has a unit, but the scenario has none" in result.stderr


@pytest.mark.parametrize("option", ["--load", "--servers", "--blocking-cost", "--max-blocking"])
def test_a_unit_where_none_belongs_ends_with_code_2(run, option):
    result = run("tune", *BARE, option, "2h")
    assert result.returncode == 2
    assert f"'{option}'" in result.stderr
    assert "'2h' is not a valid" in result.stderr
