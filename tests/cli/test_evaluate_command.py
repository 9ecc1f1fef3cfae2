"""`moldable evaluate` and `moldable compare`: what they print, promise and refuse."""

from __future__ import annotations

import json
import re

import pytest

from naive.erlang import erlang_b

PAPER = ("--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--servers", "40")
KEYS = {
    "blocking",
    "blocking_interval",
    "mean_execution_time",
    "mean_execution_time_interval",
    "method",
    "reason",
    "states",
    "error_bound",
    "neglected_mass",
    "width_shares",
    "mean_jobs",
    "busy_fraction",
    "classes",
}


@pytest.mark.parametrize("method", ["closed-form", "simulate"])
def test_json_has_the_promised_keys_whatever_the_method(run, method):
    linear = ("--speedup", "linear:5", "--load", "0.8", "--servers", "40")
    result = run("evaluate", *linear, "--method", method, "--precision", "0.05", "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert set(answer) >= KEYS
    assert answer["method"] == method
    assert (answer["states"] is None) == (method == "simulate")


def test_exact_answers_have_intervals_without_width(run):
    linear = ("--speedup", "linear:5", "--load", "0.8", "--servers", "40")
    answer = json.loads(run("evaluate", *linear, "--json").stdout)
    assert answer["blocking"] == pytest.approx(erlang_b(6.4, 8), rel=1e-12)
    assert answer["blocking_interval"] == [answer["blocking"]] * 2


def test_every_policy_can_be_named(run, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text('{"policy": "thresholds", "classes": {"jobs": {"1": 1, "3": 2}}}')
    names = ["greedy-p", "greedy-p:0.9", "greedy", "fixed:3", "fixed-strict:3", "equi", mine]
    for name in names:
        result = run("evaluate", *PAPER, "--policy", str(name))
        assert result.returncode == 0, result.stderr
        assert "(exact)" in result.stdout
    rigid = ("--speedup", "5=5", "--load", "0.8", "--servers", "40", "--policy", "rigid")
    assert "Erlang" in run("evaluate", *rigid).stdout


@pytest.mark.parametrize("asked", [("evaluate",), ("compare", "--policy", "greedy,fixed:1")])
def test_what_a_simulation_could_not_see_is_noted_once_with_the_answer(run, tmp_path, asked):
    classes = (("common", 30.0), ("rare", 1e-12))
    text = "".join(
        f'[[class]]\nname = "{name}"\narrival_rate = {rate}\nspeedup = [1, 2]\n'
        for name, rate in classes
    )
    path = tmp_path / "classes.toml"
    path.write_text(text)
    system = ("--workload", str(path), "--servers", "40")
    rough = ("--method", "simulate", "--precision", "0.3", "--seed", "1")
    result = run(*asked, *system, *rough, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)
    assert result.stderr.count("note: no job of class 'rare' arrived") == 1


def test_policies_side_by_side_are_marked(run):
    result = run("compare", *PAPER, "--policies", "greedy-p,fixed-strict:5,greedy,equi")
    assert result.returncode == 0, result.stderr
    assert "* greedy-p" in result.stdout
    assert "~ equi" in result.stdout
    answer = json.loads(run("compare", *PAPER, "--json").stdout)
    assert [part["name"] for part in answer["policies"]] == ["greedy-p", "greedy"]
    assert [part["pareto_optimal"] for part in answer["policies"]] == [True, True]
    assert not any(part["reference"] for part in answer["policies"])
    assert answer["pareto_optimal"] == ["greedy-p", "greedy"]


LONG = "greedy-p:0.85,fixed-strict:2,greedy-p:0.9123456789,fixed:3,equi"


@pytest.mark.parametrize("columns", [40, 60, 61, 70, 76, 80, 100])
def test_no_name_or_number_of_a_comparison_is_cut_on_a_narrow_page(run, columns):
    asked = ("compare", *PAPER, "--policies", LONG)
    wide = run(*asked, columns=200).stdout.splitlines()[3:8]
    narrow = run(*asked, columns=columns).stdout
    assert max(map(len, narrow.splitlines())) <= max(columns, 60)
    for row in wide:
        assert all(cell in narrow.split() for cell in row.split()), row
    assert "Pareto-optimal policies are marked with *." in narrow
    assert "…" not in narrow


@pytest.mark.parametrize("columns", [60, 80])
def test_simulated_differences_with_their_half_widths_are_shown_whole(run, columns):
    rough = ("--method", "simulate", "--precision", "0.3", "--seed", "1")
    asked = ("compare", *PAPER, "--policies", "greedy-p,fixed:3", *rough)
    wide = run(*asked, columns=200).stdout.splitlines()[3:5]
    narrow = run(*asked, columns=columns).stdout.split()
    assert all(cell in narrow for row in wide for cell in row.split())


def test_policies_may_be_named_one_by_one(run):
    asked = ("--policy", "value:2", "--policy", "greedy,fixed:2")
    answer = json.loads(run("compare", *PAPER, *asked, "--json").stdout)
    names = [part["name"] for part in answer["policies"]]
    assert names == ["value:2", "greedy", "fixed:2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", *PAPER, "--method", "chains"), "did you mean 'chain'"),
        (("evaluate", *PAPER, "--precision", "-0.1"), "--precision -0.1 must lie between"),
        (("evaluate", *PAPER, "--policy", "rigid"), "one width"),
        (("evaluate", *PAPER, "--policy", "fixed:9"), "9"),
        (("evaluate", *PAPER, "--method", "closed-form"), "no closed form"),
        (("evaluate", *PAPER, "--size", "pareto", "--method", "chain"), "phases"),
        (("evaluate", *PAPER[:4], "--servers", "4000", "--method", "chain"), "states"),
        (("evaluate", *PAPER, "--policy", "equi", "--method", "simulate"), "preemptive"),
        (("compare", *PAPER, "--policies", "greedy,,fixed:3"), "empty entry"),
        (("compare", *PAPER, "--policies", "greedy,greedy"), "twice"),
        (("compare", *PAPER, "--policies", "greedi"), "did you mean 'greedy'"),
    ],
)
def test_bad_input_ends_with_exit_code_2_and_a_way_out(run, arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_policy_file_that_grants_more_than_is_idle_is_refused(run, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"policy": "thresholds", "classes": {"jobs": {"1": 3}}}')
    result = run("evaluate", *PAPER, "--policy", str(bad))
    assert result.returncode == 2
    assert "width 3" in result.stderr


@pytest.mark.parametrize("columns", [30, 80])
def test_no_figure_is_cut_on_a_narrow_page(run, columns):
    long = "greedy-p:0.695365460085182"
    words = ("compare", *PAPER, "--policies", f"greedy-p,{long},greedy")
    text = run(*words, columns=columns).stdout
    assert "…" not in text
    assert long in text


def test_an_unstable_policy_is_listed_as_unstable_with_the_others(run):
    words = ("--servers", "16", "--load", "0.8", "--speedup", "1,1.8,2.5,3,3.4")
    names = ("--waiting", "unlimited", "--policies", "greedy,fixed:1,fixed:2")
    result = run("compare", *words, *names)
    assert result.returncode == 0, result.stderr
    assert re.search(r"greedy +unstable", result.stdout)
    assert "* fixed:2" in result.stdout
    assert "it can carry load 0.7 here" in result.stderr
    assert "difference from fixed:1" in result.stdout
    all_of_them = run("compare", *words, "--waiting", "unlimited", "--policies", "greedy,fixed:5")
    assert all_of_them.returncode == 2
