"""Notes that commands write about curves."""

from __future__ import annotations

import sys

import pytest

MEANT = "if widths 1, 2, 4, 8 were meant, write 1=1,2={},4={},8={}"


@pytest.mark.parametrize("values", [("2", "4", "8"), ("1.9", "3.6", "7")])
def test_speed_ups_that_double_may_be_meant_for_powers_of_two(run, values):
    result = run("optimum", "--speedup", ",".join(("1", *values)), "--load", "0.5")
    assert result.returncode == 0
    assert f"this means widths 1, 2, 3, 4; {MEANT.format(*values)}" in result.stderr


@pytest.mark.parametrize(
    "curve", ["1,1.8,2.5,3,3.4", "1,2,3,4", "1,2", "1,1.7,2.9", "1=1,2=2,3=4,4=8", "linear:4"]
)
def test_other_curves_are_taken_as_written(run, curve):
    assert run("optimum", "--speedup", curve, "--load", "0.5").stderr == ""


def test_classes_of_a_workload_are_asked_about_powers_of_two_by_name(run, tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text('servers = 16\n[[class]]\nname = "a"\narrival_rate = 1\nspeedup=[1,2,4,8]\n')
    notes = run("optimum", "--workload", str(path)).stderr
    assert f"class 'a': this means widths 1, 2, 3, 4; {MEANT.format(2, 4, 8)}" in notes


def test_the_spread_of_repeated_measurements_is_noted(run, tmp_path):
    times = "width,time\n1,10\n8,2.0\n8,2.1\n8,1.9\n4,4\n4,4.02\n"
    (tmp_path / "times.csv").write_text(times)
    words = ("--speedup", "times.csv", "--load", "0.5")
    notes = run("optimum", *words, cwd=tmp_path).stderr
    assert "repeated measurements differ by up to 10 % (width 8, 3 runs)" in notes


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_without_matplotlib_the_optimum_is_printed_before_the_error(
    run, tmp_path, monkeypatch, form
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = ("--speedup", "1,1.8", "--load", "0.5", "--plot", "frontier.svg", *form)
    result = run("optimum", *words, cwd=tmp_path)
    assert result.returncode == 2
    assert "0.277" in result.stdout
    assert "--plot frontier.svg was not written: plots need matplotlib" in result.stderr
    assert list(tmp_path.iterdir()) == []
