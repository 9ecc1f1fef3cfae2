"""The command and the code of each view give the numbers of its full answer."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_here
from explorer.questions import GAPS, LOSS, PLACES, QUEUE, gpus
from moldable.explorer.answers import frontier, load_curves, performance, policies, trade_off
from moldable.explorer.evaluating import built_policy
from moldable.explorer.question import Question
from moldable.explorer.reproduce import FILE, VIEWS, command, needs_file, python
from moldable.explorer.tuned_policy import tuned_policy
from moldable.files.policy_file import policy_data

SAME = 1e-9
"""Growth and load of a file differ in the last digit."""
LOOP = re.compile(r"for (\w+) in ([^;]*); do (.*?); done")
QUICK = {"loss": LOSS, "classes": gpus(), "queue": QUEUE}
SLOW = {
    "places": PLACES,
    "simulated": replace(GAPS, arrivals="renewal:1.5"),
    "impossible": replace(LOSS, target=("max_blocking", 0.001)),
}
CASES = [
    *(pytest.param(question, id=name) for name, question in QUICK.items()),
    *(pytest.param(question, id=name, marks=pytest.mark.long) for name, question in SLOW.items()),
]
cases = pytest.mark.parametrize("question", CASES)
# Simulating six policies at several loads takes many minutes.
quicker = pytest.mark.parametrize("question", [case for case in CASES if case.id != "simulated"])


@pytest.fixture
def _few_loads(monkeypatch):
    """Draw curves along the load at four loads, one of them beyond what the cluster carries."""
    few = {False: (0.2, 0.8, 1.0, 1.2), True: (0.2, 0.8, 0.9, 0.95)}
    monkeypatch.setattr("moldable.explorer.load_curves.SHARES", few)


def _own_seed(question: Question) -> Question:
    """Return a question whose remembered answers no other test finds."""
    return replace(question, seed=12)


def _commands(text: str, points: int | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yield the loop variable's value and the words of every command, as a shell expands them.

    Args:
        text: the command line.
        points: of each loop that are expanded, counted from its end; all by default.
    """
    loops = LOOP.findall(text)
    for variable, values, body in loops:
        for value in values.split()[-points if points else 0 :]:
            for part in body.split("; "):
                yield value, shlex.split(part.replace(f'"${variable}"', value))
    if not loops:
        for part in text.split(" && "):
            yield "", shlex.split(part)


def _run(question: Question, view: str, folder: Path, points: int | None = None):
    """Return what the command of a view prints, as data."""
    (folder / FILE).write_text(question.to_toml())
    for value, words in _commands(command(question, view), points):
        assert words[0] == "moldable"
        ran = run_here(words[1:], folder, 100)
        assert ran.returncode == 0, ran.stderr
        yield value, words[1], json.loads(ran.stdout)


def _code(question: Question, view: str, folder: Path) -> dict:
    (folder / FILE).write_text(question.to_toml())
    names: dict = {}
    with contextlib.chdir(folder):
        exec(python(question, view), names)  # noqa: S102 - the code under test
    return names


def _assert_same(values, found, name=""):
    """Compare the measures of a row with the keys of a JSON object."""
    assert values, name
    for measure, value in values.items():
        assert found[measure] == pytest.approx(value.value, rel=SAME, abs=1e-12), (name, measure)


@cases
def test_the_frontier(question, tmp_path):
    answer = frontier(question)
    ((_, _, printed),) = _run(question, "frontier", tmp_path)
    assert printed["mean_execution_time"] == answer.mean_execution_time.value
    assert printed["shadow_price"] == answer.shadow_price.value
    found = _code(question, "frontier", tmp_path)["answer"]
    assert found.mean_execution_time == answer.mean_execution_time.value
    assert found.shadow_price == answer.shadow_price.value


@pytest.mark.parametrize(
    "question",
    [
        # Without a limit there is no search. The policies of the others are compared below.
        replace(LOSS, target=("blocking_cost", 3.0)),
        *(pytest.param(question, marks=pytest.mark.long) for question in (LOSS, gpus(), QUEUE)),
        *(case for case in CASES if case.id in {"places", "simulated"}),
    ],
)
def test_the_tuned_policy(question, tmp_path):
    tuned = tuned_policy(question, "full")
    ((_, _, printed),) = _run(question, "policies", tmp_path)
    assert printed["policy"] == json.loads(json.dumps(policy_data(tuned.policy)))
    assert policies(question, "full").tables[0].words == tuned.words
    found = _code(question, "policies", tmp_path)["answer"]
    assert policy_data(found.policy) == policy_data(tuned.policy)


@cases
def test_the_comparison(question, tmp_path):
    answer = performance(question, "full")
    printed = {kind: data for _, kind, data in _run(question, "performance", tmp_path)}
    compared = {part["name"]: part for part in printed["compare"]["policies"]}
    unstable = printed["compare"]["unstable"]
    for row in answer.rows:
        if row.kind == "optimum":
            known = printed["tune"]["optimum"]
            _assert_same({k: v for k, v in row.values.items() if k in known}, known)
        elif row.values:
            found = compared["tuned.json" if row.kind == "tuned" else row.name]
            _assert_same(row.values, found, row.name)
            assert row.pareto_optimal == found["pareto_optimal"], row.name
        else:
            reason = unstable.get(row.name) or tuned_policy(question, "quick").problem
            assert row.problem in {reason, built_policy(question, row.name)}
    found = _code(question, "performance", tmp_path)["answer"]
    for part in found.policies:
        _assert_same(answer.row(part.name).values, part.to_dict(), part.name)


@pytest.mark.parametrize(
    "question",
    [
        *(pytest.param(LOSS, id="loss"), pytest.param(gpus(), id="classes")),
        pytest.param(QUEUE, id="queue", marks=pytest.mark.long),
        *(case for case in CASES if case.id in {"places", "impossible"}),
    ],
)
@pytest.mark.usefixtures("_few_loads")
def test_the_curves_along_the_load(question, tmp_path):
    points = 1 if question in QUICK.values() else None
    question = _own_seed(question)
    answer = load_curves(question, "full")
    curves = {curve.name: curve for curve in answer.curves}
    for value, kind, data in _run(question, "load_curves", tmp_path, points):
        load = float(value) * (question.load if needs_file(question) else 1.0)
        (at,) = (k for k, each in enumerate(answer.loads) if each == pytest.approx(load))
        if kind == "compare":
            for part in data["policies"]:
                _assert_same(curves[part["name"]].points[at], part, part["name"])
            stable = {name for name, curve in curves.items() if curve.points[at]}
            assert {part["name"] for part in data["policies"]} == {
                name for name in stable if curves[name].kind in {"policy", "reference"}
            }
        elif data["optimum"] is not None:
            best = data["optimum"]["points"][0] if kind == "tradeoff" else data["optimum"]
            point = curves["optimum"].points[at]
            _assert_same({k: v for k, v in point.items() if k in best}, best)


@quicker
@pytest.mark.usefixtures("_few_loads")
def test_the_code_of_the_curves(question, tmp_path):
    question = _own_seed(question)
    answer = load_curves(question, "full")
    names = _code(question, "load_curves", tmp_path)
    assert tuple(names["answer"]) == answer.loads
    for curve in answer.curves:
        for load, point in zip(answer.loads, curve.points, strict=True):
            if curve.kind in {"policy", "reference"} and point:
                _assert_same(point, names["answer"][load][curve.name].figures(), curve.name)
            elif curve.kind == "optimum" and point:
                best = names["optimum"][load]
                best = best.table()[0] if hasattr(best, "controls") else vars(best)
                _assert_same({k: v for k, v in point.items() if k in best}, best)


@cases
def test_the_trade_off(question, tmp_path):
    answer = trade_off(question, "full")
    ((_, _, printed),) = _run(question, "trade_off", tmp_path)
    found = _code(question, "trade_off", tmp_path)["answer"].to_dict()
    for data in (printed, found):
        if question.waiting:
            known = {part["name"]: part for part in data["policies"]}
        else:
            known = {f"blocking cost {p['blocking_cost']:g}": p for p in data["value_policy"]}
            known |= {"greedy-p": data["greedy_p"], "greedy": data["greedy"]}
            best = data["optimum"]["points"] if data["optimum"] else []
        for series in answer.series:
            for k, point in enumerate(series.points):
                row = best[k] if series.kind == "optimum" else known[point.label]
                _assert_same(point.values, row, point.label)


@pytest.mark.parametrize(
    "view",
    # A loop; the browser tests run two commands after each other, and the others are one command.
    [pytest.param(view, marks=[] if view == "load_curves" else pytest.mark.long) for view in VIEWS],
)
def test_a_shell_runs_the_command_as_it_is(view, tmp_path):
    question = replace(LOSS, servers=4, size=" mixed-erlang:0.4, 0.6 ", target=None)
    text = command(question, view)
    if view == "load_curves":  # one point is enough
        text = re.sub(r"(for \w+ in \S+)[^;]*", r"\1", text).partition("; for")[0]
    folder = Path(sys.executable).parent
    ran = subprocess.run(
        ["/bin/sh", "-c", text],
        cwd=tmp_path,
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.lstrip().startswith("{")


def test_texts_of_a_page_stay_single_words():
    question = replace(LOSS, size=" lognormal:2 ", arrivals=" renewal:2\t")
    for view in ("policies", "performance"):
        words = shlex.split(command(question, view))
        assert words.count(" lognormal:2 ") == words.count("tune") + words.count("compare")
        assert " renewal:2\t" in words


def test_options_are_used_where_they_suffice():
    assert not needs_file(LOSS)
    assert needs_file(gpus())
    assert not needs_file(replace(LOSS, arrivals="renewal:2"), "performance")
    assert needs_file(replace(LOSS, arrivals="renewal:2"), "trade_off")  # it has no such option
