"""Files of measurements, good and bad."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from moldable import read_measurements
from moldable.errors import InputError, SpeedUpError
from moldable.fitting import Measurements
from moldable.fitting.measurements import MOST_WIDTHS

FILES = Path(__file__).parent / "files"


def write(folder, text, name="runs.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_hyperfine_files_give_every_time_by_the_scanned_parameter():
    found = read_measurements(FILES / "hyperfine.json")
    results = json.loads((FILES / "hyperfine.json").read_text())["results"]
    assert found.widths.tolist() == [1, 2, 4, 8]
    assert [run.tolist() for run in found.runs] == [result["times"] for result in results]
    assert found.mean_times == pytest.approx([result["mean"] for result in results])


def test_pytest_benchmark_files_give_every_round_by_parameter():
    found = read_measurements(FILES / "pytest-benchmark.json", select=["name=test_solver"])
    assert found.counts.tolist() == [4, 4, 4, 4]
    # The benchmarked function sleeps for 0.01 s + 0.06 s / threads.
    assert found.mean_times == pytest.approx(0.01 + 0.06 / np.array([1, 2, 4, 8]), rel=0.2)


def test_pytest_benchmark_notes_can_hold_the_width():
    by_note = read_measurements(
        FILES / "pytest-benchmark.json", select=["name=test_writer"], width="nodes"
    )
    by_parameter = read_measurements(FILES / "pytest-benchmark.json", select=["name=test_writer"])
    assert by_note.widths.tolist() == by_parameter.widths.tolist() == [1, 3]
    assert by_note.mean_times == pytest.approx(0.01 + 0.03 / np.array([1, 3]), rel=0.2)


def test_pytest_benchmark_files_without_data_give_the_means(tmp_path):
    data = json.loads((FILES / "pytest-benchmark.json").read_text())
    for benchmark in data["benchmarks"]:
        del benchmark["stats"]["data"]
    path = write(tmp_path, json.dumps(data))
    found = read_measurements(path, select=["name=test_solver"])
    assert found.counts.tolist() == [1, 1, 1, 1]
    assert found.mean_times[0] == data["benchmarks"][0]["stats"]["mean"]


def test_reframe_reports_give_times_and_rates_by_parameter_or_number_of_tasks():
    widths = np.array([1, 2, 4, 8])
    time = read_measurements(FILES / "reframe.json", select=["variable=elapsed"])
    tasks = read_measurements(
        FILES / "reframe.json", select=["variable=elapsed"], width="num_tasks"
    )
    rate = read_measurements(FILES / "reframe.json", select=["variable=rate"])
    assert time.kind == tasks.kind == "time"
    assert rate.kind == "speed"
    # The test printed 10/width + 2 seconds and 60/time steps/s.
    assert time.mean_times == pytest.approx(10.0 / widths + 2.0)
    assert tasks.mean_times == pytest.approx(time.mean_times)
    assert rate.speedup.speedups == pytest.approx(time.speedup.speedups, rel=1e-5)


def test_reframe_reports_of_older_versions_and_failed_tests_are_read(tmp_path):
    def case(tasks, value, result="pass"):
        parts = [{"name": "time", "value": value, "unit": "s", "reference": 0}]
        return {"name": "Solver", "num_tasks": tasks, "perfvars": parts, "result": result}

    cases = [case(1, 9.0), case(2, 5.0), case(4, 1.0, "fail")]
    path = write(tmp_path, json.dumps({"session_info": {}, "runs": [{"testcases": cases}]}))
    assert read_measurements(path).mean_times.tolist() == [9.0, 5.0]


@pytest.mark.parametrize("kind", ["time", "speed", "speedup"])
def test_csv_files_round_trip_with_their_repeats(tmp_path, kind):
    given = Measurements({1: [1.0, 1.0], 2: [1.9, 1.7, 1.8], 8: [5.25]}, kind)
    again = read_measurements(write(tmp_path, given.to_csv()))
    assert again.kind == kind
    assert again.counts.tolist() == [2, 3, 1]
    for ours, theirs in zip(given.runs, again.runs, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-15)


def test_columns_can_be_named(tmp_path):
    path = write(tmp_path, "nodes,ranks,my score,time\n1,4,7,10\n2,8,5,6\n")
    assert read_measurements(path, width="ranks").widths.tolist() == [4, 8]
    named = read_measurements(path, width="nodes", value="My score")
    assert named.mean_times.tolist() == [7.0, 5.0]
    with pytest.raises(InputError, match=r"no column is called 'rank', .*did you mean 'ranks'\?"):
        read_measurements(path, width="rank")


def test_files_of_one_kind_are_combined():
    first = Measurements({1: 10.0, 2: 6.0}, source="a.csv")
    both = first.joined(Measurements({2: 5.0, 4: 3.0}, source="b.csv"))
    assert [run.tolist() for run in both.runs] == [[10.0], [6.0, 5.0], [3.0]]
    assert both.source == "a.csv, b.csv"
    with pytest.raises(InputError, match=r"a.csv holds time values and c.csv holds speed values"):
        first.joined(Measurements({1: 1.0}, "speed", "c.csv"))


HYPERFINE = '{{"results": [{{"command": "x", "times": [{0}], "parameters": {1}}}]}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("{", "line 1: not valid JSON"),
        ("[1, 2]", "this is not a JSON file of measurements, it is a list"),
        ("{}", "it has no keys; supported: 'results': hyperfine --export-json"),
        ('{"jobs": []}', "its keys are jobs; supported:"),
        ('{"results": []}', "the file holds no measurement"),
        ('{"results": [3]}', "'results' does not have the form that hyperfine"),
        ('{"benchmarks": [{"name": "a"}]}', "'benchmarks' does not have the form that pytest"),
        ('{"runs": [{}]}', "'runs' does not have the form that reframe"),
        (HYPERFINE.format("1.0", "{}"), r"no label of the benchmarks could be the width \(command"),
        (HYPERFINE.format("-1.0", '{"cores": "2"}'), "the value -1.0 must be a number above 0"),
        (HYPERFINE.format("NaN", '{"cores": "2"}'), "the value nan must be a number above 0"),
        (HYPERFINE.format('"a"', '{"cores": "2"}'), "the value 'a' must be a number above 0"),
        (HYPERFINE.format("1.0", '{"cores": "two"}'), "cores='two' is not a width"),
        (HYPERFINE.format("1.0", '{"cores": "0"}'), "cores='0' is not a width"),
        (HYPERFINE.format("1", '{"cores": 1, "nodes": 2}'), r"several labels .* \(cores, nodes\)"),
        ("[" * 100_000, "nested too deeply"),
        ("cores,tiem\n1,2\n", "its columns are cores, tiem; .* did you mean 'time'?"),
        ("cores,time\n1,10\n2,five\n", "line 3: time is not a number"),
        ("cores,time\n1,10\n2,-5\n", "line 3: time -5 must be finite and above 0"),
        ("cores,time\n", "there is no measurement"),
    ],
)
def test_faulty_files_are_explained(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_measurements(path)
    assert str(path) in str(caught.value)


def test_a_choice_among_several_curves_is_explained(tmp_path):
    path = FILES / "pytest-benchmark.json"
    with pytest.raises(InputError, match=r"name takes the values test_solver, test_writer; choose"):
        read_measurements(path)
    with pytest.raises(InputError, match=r"name is never 'test_x'; it takes the values"):
        read_measurements(path, select=["name=test_x"])
    with pytest.raises(InputError, match=r"no label 'nam'; did you mean 'name'"):
        read_measurements(path, select=["nam=test_x"])
    with pytest.raises(InputError, match=r"has no '='; write KEY=VALUE"):
        read_measurements(path, select=["name"])
    with pytest.raises(InputError, match=r"not every benchmark has 'cpu'"):
        read_measurements(path, select=["name=test_solver"], width="cpu")
    with pytest.raises(InputError, match=r"--value names a column of a CSV file"):
        read_measurements(path, value="time")
    with pytest.raises(InputError, match=r"--select applies to JSON files"):
        read_measurements(write(tmp_path, "width,time\n1,2\n"), select=["a=b"])
    results = [
        {"command": "x", "times": [1.0], "parameters": {"cores": "2", "size": size}}
        for size in ("small", "large")
    ]
    with pytest.raises(InputError, match=r"size takes the values large, small; choose one with"):
        read_measurements(write(tmp_path, json.dumps({"results": results})))


def test_huge_files_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(InputError, match=r"larger than 16 MiB"):
        read_measurements(path)


def test_too_many_widths_are_refused():
    with pytest.raises(SpeedUpError, match=r"at most 512 can be fitted; leave out some"):
        Measurements(dict.fromkeys(range(1, MOST_WIDTHS + 2), 1.0))


@pytest.mark.parametrize(
    ("key", "value"), [("extra_info", -1), ("params", 3), ("stats", {"data": 5}), ("stats", [])]
)
def test_parts_of_a_benchmark_of_another_type_are_refused(tmp_path, key, value):
    data = json.loads((FILES / "pytest-benchmark.json").read_text())
    data["benchmarks"][0][key] = value
    path = write(tmp_path, json.dumps(data), "runs.json")
    with pytest.raises(InputError, match="does not have the form that pytest"):
        read_measurements(path, select=["name=test_solver"])
