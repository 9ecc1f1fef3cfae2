"""`moldable fit` and `moldable curves`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from moldable import SpeedUp, fit, read_curve
from moldable.files import published_curves

FILES = Path(__file__).parents[1] / "fitting" / "files"
EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_answer_has_intervals_models_and_a_recommendation(run):
    result = run("fit", "examples/repeats.csv")
    assert result.returncode == 0, result.stderr
    assert (
        "32 runs at 8 widths; noise of a run 2 % (pooled, 24 degrees of freedom)." in result.stdout
    )
    assert "Recommended: the amdahl fit, because" in result.stdout
    for model in ("measured", "concave", "amdahl", "usl", "downey", "power"):
        assert f"\n {model} " in result.stdout
    assert "--speedup amdahl:0.96" in result.stdout


def test_the_curve_file_and_the_notation_are_read_by_other_commands(run, tmp_path):
    fitted = run("fit", "examples/repeats.csv", "--out", str(tmp_path / "c.csv"), "--json")
    answer = json.loads(fitted.stdout)
    assert read_curve(tmp_path / "c.csv").speedups.tolist() == answer["fitted"]
    for curve in (str(tmp_path / "c.csv"), answer["notation"]):
        assert run("optimum", "--speedup", curve, "--load", "0.5").returncode == 0


def test_json_has_every_figure_of_the_library(run):
    answer = json.loads(run("fit", "examples/repeats.csv", "--model", "usl", "--json").stdout)
    own = fit(EXAMPLES / "repeats.csv", model="usl")
    assert answer["chosen"] == "usl"
    assert answer["reason"] == "requested"
    assert answer["decision"] is None
    expected = own.to_dict()
    assert answer["low"] == expected["low"]
    assert answer["models"] == expected["models"]


def test_the_decision_names_supports_and_neighbours(run):
    words = ("fit", "examples/repeats.csv", "--load", "0.8", "--servers", "64")
    shown = run(*words, "--resamples", "50").stdout
    assert "optimal widths" in shown
    assert "one step too narrow or too wide" in shown
    found = json.loads(run(*words, "--resamples", "50", "--seed", "4", "--json").stdout)["decision"]
    assert sum(part["share"] for part in found["supports"]) == pytest.approx(1.0)
    assert found["steps"][0]["name"] == "optimum"
    assert 0.0 < found["steps"][0]["at_servers"]["blocking"] < 1.0
    assert (found["resamples"], found["seed"]) == (50, 4)


def test_a_dip_is_named_and_the_measured_curve_recommended(run, tmp_path):
    (tmp_path / "dip.csv").write_text("gpus;time\n1;10,0\n1;10,1\n2;5,5\n2;5,6\n4;7,0\n4;7,1\n")
    shown = run("fit", "dip.csv", cwd=tmp_path).stdout
    assert "Recommended: the measured curve, because no model agrees" in shown
    assert "beyond the noise: width 4 takes 27 % longer than width 2." in shown
    assert "dip, off the frontier" in shown


def test_several_files_of_benchmark_programs_are_combined(run):
    word = str(FILES / "hyperfine.json")
    answer = json.loads(run("fit", word, word, "--json").stdout)
    assert answer["runs"] == [8, 8, 8, 8]
    chosen = run("fit", str(FILES / "reframe.json"), "--select", "variable=elapsed", "--json")
    assert json.loads(chosen.stdout)["widths"] == [1, 2, 4, 8]


def test_measurements_come_from_standard_input():
    command = [str(Path(sys.executable).with_name("moldable")), "fit", "-", "--json"]
    text = (FILES / "hyperfine.json").read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["widths"] == [1, 2, 4, 8]


def test_the_picture_has_points_fits_and_frontier(run, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "fit.svg"
    assert run("fit", "examples/repeats.csv", "--plot", str(path)).returncode == 0
    content = path.read_text()
    for label in ("measured, 95", "on the frontier", "amdahl (chosen)", "speed-up / width"):
        assert f"<!-- {label}" in content, label
    assert run("fit", "examples/repeats.csv", "--plot", str(tmp_path / "b.svg")).returncode == 0
    assert (tmp_path / "b.svg").read_text() == content


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.csv",), "no such file"),
        (("examples/repeats.csv", "--model", "cubic"), "--model 'cubic' is unknown"),
        (("examples/repeats.csv", "--noise", "7"), "--noise 7 must be from 0 to 1"),
        (("examples/repeats.csv", "--servers", "4"), "--servers needs --load"),
        (("examples/repeats.csv", "--load", "3"), "--load 3 is too high"),
        (("examples/repeats.csv", "--out", "c.txt"), "the name must end in .csv"),
        (("examples/repeats.csv", "--plot", "c.txt"), "the name must end in .svg"),
        (("examples/repeats.csv", "--width", "nodes"), "no column is called 'nodes'"),
        (("examples/cluster.toml",), "this is not a header of a curve"),
        (("examples/repeats.csv", "--load", "0.5", "--resamples", "0"), "--resamples 0 must be"),
    ],
)
def test_faulty_requests_end_with_a_message_and_code_2(run, words, message):
    result = run("fit", *words)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_nothing_is_written_if_the_input_is_faulty(run, tmp_path):
    (tmp_path / "one.csv").write_text("width,time\n4,10\n")
    result = run("fit", "one.csv", "--out", "c.csv", "--plot", "c.svg", cwd=tmp_path)
    assert result.returncode == 2
    assert "only width 4 was measured; a curve needs at least two widths" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]


def test_curves_are_listed_and_shown_with_their_source(run):
    listed = run("curves").stdout
    for curve in published_curves():
        assert curve.name in listed
        shown = run("curves", curve.name).stdout
        assert " ".join(f"Source: {curve.source}".split()) in " ".join(shown.split())
    assert len(json.loads(run("curves", "--json").stdout)["curves"]) == len(published_curves())


def test_one_curve_is_printed_as_json_and_used_by_name(run):
    found = json.loads(run("curves", "bert-aws-t4", "--json").stdout)
    assert not found["increasing"]
    words = ("--speedup", "curve:bert-aws-t4", "--load", "0.8", "--json")
    answer = json.loads(run("optimum", *words).stdout)
    assert answer["inputs"]["speedup"] == found["speedup"]
    assert answer["support"] == [4, 15]


def test_an_unknown_curve_gets_the_nearest_name(run):
    for words in (
        ("curves", "bert-aws"),
        ("optimum", "--speedup", "curve:bert-aws", "--load", "1"),
    ):
        result = run(*words)
        assert result.returncode == 2
        assert "unknown curve 'bert-aws'; did you mean 'bert-aws-t4'?" in result.stderr


def test_phases_are_written_on_one_line_and_their_reference_shown(run):
    words = ("optimum", "--speedup", "0.8*linear:4+0.2*1,1.5,1.7", "--load", "0.8")
    shown = " ".join(run(*words).stdout.split())
    assert "if jobs could change their width between phases, the mean execution time" in shown
    assert "jobs, phase 1 (80 % of the work): width 4." in shown
    answer = json.loads(run(*words, "--servers", "40", "--json").stdout)
    assert answer["inputs"]["speedup"]["3"] == pytest.approx(1.0 / (0.8 / 3 + 0.2 / 1.7))
    reference = answer["if_widths_could_change"]
    # Width 4 for phase 1 needs 0.8 x 0.8 servers per server; phase 2 at width 3 the rest at most.
    assert reference["mean_execution_time"] == pytest.approx(0.8 / 4 + 0.2 / 1.7)


def test_workloads_with_phases_show_the_reference_by_class(run, tmp_path):
    (tmp_path / "phases.toml").write_text(
        "servers = 20\ntime_unit = 'hours'\n"
        "[[class]]\nname = 'a'\narrival_rate = 5\nmean_size = 2\n"
        "[[class.phase]]\nshare = 0.5\nspeedup = 'linear:8'\n"
        "[[class.phase]]\nshare = 0.5\nspeedup = [1, 1.1, 1.2]\n"
        "[[class]]\nname = 'b'\narrival_rate = 2\nspeedup = [1, 1.8]\n"
    )
    answer = json.loads(run("optimum", "--workload", "phases.toml", "--json", cwd=tmp_path).stdout)
    reference = answer["if_widths_could_change"]
    assert [part["name"] for part in reference["classes"]] == ["a", "b"]
    assert reference["mean_execution_time"] < answer["mean_execution_time"]
    curve = answer["inputs"]["scenario"]["classes"][0]["speedup"]
    assert curve["2"] == pytest.approx(SpeedUp.from_phases([(0.5, [1, 2]), (0.5, [1, 1.1])])[2])
    shown = run("optimum", "--workload", "phases.toml", cwd=tmp_path).stdout
    assert "a, phase 1 (50 % of the work): width 8." in shown
