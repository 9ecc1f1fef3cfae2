"""The public names, their documentation, and what every result can do."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pickle
import sys
import types
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import moldable
from moldable import (
    Greedy,
    JobClass,
    Scenario,
    Workload,
    compare,
    errors,
    evaluate,
    fit,
    optimum,
    plan,
    read_trace,
    replay,
    reserve,
    reserve_whole,
    simulate,
    tune,
)
from moldable.errors import MoldableError
from moldable.exact import stationary_law
from moldable.fitting import decision_under_uncertainty
from moldable.live import write_plan
from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal
from moldable.live.report import LiveReport, live_report
from moldable.optimal import (
    least_blocking,
    least_time,
    optimal_control,
    optimal_queueing,
    tradeoff,
)
from moldable.results import Estimate, Result
from moldable.theory import FluidPath, bounds
from moldable.traces import summarise
from moldable.tuning import value_tradeoff

PACKAGES = [name for name in moldable.__all__ if inspect.ismodule(getattr(moldable, name))]
TOP = [name for name in moldable.__all__ if name not in PACKAGES]
MODULES = {
    name: importlib.import_module(f"moldable.{name}")
    for name in (*PACKAGES, "live.report", "live.rehearsal", "live.learning")
}
PUBLIC = {name: getattr(moldable, name) for name in TOP} | {
    f"{package}.{name}": getattr(module, name)
    for package, module in MODULES.items()
    for name in module.__all__
}
LINES = 25
LOG = Path(__file__).parents[1] / "examples" / "slurm-week.txt"


def test_the_top_level_has_about_thirty_names_and_named_packages():
    assert 25 <= len(TOP) <= 32
    assert all(inspect.getdoc(module) for module in MODULES.values())
    assert moldable.__version__.count(".") == 2


@pytest.mark.parametrize("name", {id(value): name for name, value in PUBLIC.items()}.values())
def test_every_public_name_is_documented_with_an_example_that_runs(name, tmp_path, monkeypatch):
    value = PUBLIC[name]
    text = inspect.getdoc(value)
    assert text, name
    if value is not MoldableError and inspect.isclass(value) and issubclass(value, MoldableError):
        return  # the example is that of their common class
    monkeypatch.chdir(tmp_path)
    known = {key.rpartition(".")[2]: each for key, each in PUBLIC.items()} | {"Path": Path}
    test = doctest.DocTestParser().get_doctest(text, known, name, None, None)
    assert test.examples, f"{name} has no example"
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=printed.append)
    assert not printed, "".join(printed)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_typed(name):
    value = PUBLIC[name]
    methods = [value] if inspect.isfunction(value) else _public_methods(value)
    for method in methods:
        signature = inspect.signature(method)
        where = f"{name}: {method.__qualname__}"
        assert signature.return_annotation is not signature.empty, where
        for parameter in signature.parameters.values():
            if parameter.name not in {"self", "cls"}:
                assert parameter.annotation is not parameter.empty, f"{where}({parameter.name})"


def _public_methods(value: type) -> list[types.FunctionType]:
    own = {name: each for name, each in vars(value).items() if not name.startswith("_")}
    return [each for each in own.values() if inspect.isfunction(each)]


def test_unknown_names_are_attribute_errors():
    for package in (moldable, moldable.policies):
        with pytest.raises(AttributeError, match="fair_share"):
            package.fair_share  # noqa: B018


def test_every_error_descends_from_one_root():
    kinds = [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert len(kinds) == 17
    assert sorted(kind.__name__ for kind in kinds) == errors.__all__
    assert all(issubclass(kind, errors.MoldableError) for kind in kinds)
    assert issubclass(errors.MoldableError, ValueError)
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)


@cache
def scenario() -> Scenario:
    classes = [JobClass("training", 2.0, [1, 1.8, 2.5]), JobClass("solver", 0.5, {2: 1.8})]
    return Scenario(Workload(classes), 8)


def rehearsed_report() -> LiveReport:
    """Compare a rehearsed cluster with its plan."""
    own = scenario()
    with TemporaryDirectory() as folder:
        plan_file, journal = Path(folder, "plan.json"), Path(folder, "journal.jsonl")
        write_plan(plan_file, Greedy(), evaluate(own, "greedy"))
        write_journal(journal, rehearse(own.at_load(0.9), Greedy(), poisson_jobs(own, 500, seed=1)))
        return live_report(journal, plan_file)


RUNS = {1: [10.0, 10.2], 2: [5.5, 5.6], 4: [3.2, 3.1], 8: [2.2, 2.3]}
LONG = {k: 1.0 + 0.9 * (k - 1) for k in range(1, 400)}
RESULTS = {
    "optimum": lambda: optimum([1, 1.8, 2.5], 0.9, servers=10),
    "a long optimum": lambda: optimum(LONG, 0.5, servers=1000),
    "reservation": lambda: reserve(scenario()),
    "whole servers": lambda: reserve_whole(scenario()),
    "exact performance": lambda: evaluate(scenario()),
    "simulated performance": lambda: simulate(scenario(), jobs=100, replications=2, seed=1),
    "comparison": lambda: compare(scenario(), {str(k): "greedy" for k in range(30)}),
    "tuned": lambda: tune(scenario(), max_blocking=0.2),
    "tuned queue": lambda: tune(replace(scenario(), waiting=6), blocking_cost=4.0),
    "comparison of queues": lambda: compare(
        Scenario.single([1, 1.5, 1.7], 0.8, 6, waiting="unlimited"),
        ["even-price", "fixed:3", "fixed:1"],
    ),
    "plan": lambda: plan(scenario(), max_blocking=0.2, seed=1),
    "optimal control": lambda: optimal_control(scenario(), 4.0),
    "optimal queueing": lambda: optimal_queueing(
        Scenario.single([1, 1.8, 2.5], 0.8, 6, waiting="unlimited")
    ),
    "least blocking": lambda: least_blocking(scenario()),
    "least time": lambda: least_time(scenario(), 0.05),
    "trade-off of the optimum": lambda: tradeoff(scenario(), [2.0, 8.0]),
    "trade-off": lambda: value_tradeoff(scenario(), [2.0, 8.0]),
    "fit": lambda: fit(RUNS),
    "decision": lambda: decision_under_uncertainty(fit(RUNS), 0.7, resamples=20),
    "bounds": lambda: bounds([1, 1.8, 2.5], 0.8, 10),
    "stationary law": lambda: stationary_law(scenario()),
    "trace": lambda: summarise(read_trace(LOG, class_by="account"), servers=64),
    "replay": lambda: replay(read_trace(LOG), "idle-share", servers=64, copies=0, seed=1),
    "live report": rehearsed_report,
    "fluid path": lambda: FluidPath(optimum([1, 1.8, 2.5], 0.9), [0.0, 0.0, 0.3]),
}


@cache
def result(name: str) -> Result:
    return RESULTS[name]()


def test_every_kind_of_result_is_among_those_tested():
    kinds = {v for v in PUBLIC.values() if inspect.isclass(v) and issubclass(v, Result)} - {Result}
    assert kinds == {type(result(name)) for name in RESULTS}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_prints_in_a_few_lines(name):
    for text in (repr(result(name)), str(result(name))):
        assert len(text.splitlines()) <= LINES
        assert len(text) < 5000
        assert "object at 0x" not in text


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_becomes_a_frame_with_a_row_for_each_line_of_its_table(name):
    pytest.importorskip("pandas")
    frame = result(name).to_frame()
    assert len(frame) == len(result(name).table()) > 0
    assert list(frame.columns) == list(result(name).table()[0])


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_pickles_and_becomes_json_with_its_inputs(name):
    found = result(name).to_dict()
    again = pickle.loads(pickle.dumps(result(name))).to_dict()  # noqa: S301 - our own bytes
    assert json.dumps(again) == json.dumps(found, allow_nan=False)
    if name in {"trace", "replay"}:  # made from a file
        assert found["inputs"]["source"] == str(LOG)
        return
    given = found["inputs"].get("scenario", found["inputs"])
    curve = given["classes"][0]["speedup"] if "classes" in given else given["speedup"]
    assert curve["1"] == 1.0


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_shows_its_table_in_a_notebook(name):
    text = result(name)._repr_html_()
    assert all(f"<th>{column}</th>" in text for column in result(name).table()[0])
    assert text.count("<tr>") <= LINES


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_drawn(name):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert result(name).plot(axes) is axes
    assert axes.has_data()
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_a_result_of_an_unknown_kind_says_that_it_has_no_drawing():
    class Other(Result):
        def to_dict(self):
            return {}

        def table(self):
            return []

    with pytest.raises(MoldableError, match=r"a Other cannot be plotted; use to_frame"):
        Other().plot()


def test_the_drawing_of_bounds_has_a_bar_for_each_that_is_known():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    for servers, count in ((10, 2), (10**7, 3)):  # few servers: the bounds say nothing about time
        axes = bounds([1, 1.8, 2.5], 0.8, servers).plot(figure.add_subplot())
        assert len(axes.patches) == count
        assert max(bar.get_height() for bar in axes.patches) < 1 or count == 2


def test_a_plot_without_axes_makes_a_figure_of_pyplot():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    axes = result("tuned").plot()
    assert axes.figure.number in plt.get_fignums()
    plt.close(axes.figure)


def test_a_plot_is_written_to_a_file(tmp_path):
    pytest.importorskip("matplotlib")
    for name, start in (("plot.svg", b"<?xml"), ("plot.png", b"\x89PNG"), ("plot.pdf", b"%PDF")):
        assert result("tuned").plot(str(tmp_path / name)).has_data()
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(MoldableError, match=r"the name must end in .svg, .png, .pdf"):
        result("tuned").plot(tmp_path / "plot.txt")
    with pytest.raises(MoldableError, match="ax=5 is neither axes nor a file name"):
        result("tuned").plot(5)


def test_a_plot_without_matplotlib_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MoldableError, match=r"plots need matplotlib; install it"):
        result("tuned").plot()


def test_a_notebook_shows_names_that_look_like_html_as_text():
    shown = compare(scenario(), {"<b>&": "greedy"})._repr_html_()
    assert "&lt;b&gt;&amp;" in shown
    assert "<b>" not in shown


def test_figures_in_results_are_numbers():
    answer = result("exact performance")
    assert isinstance(answer.blocking, Estimate)
    assert answer.blocking < 1
    assert f"{answer.blocking:.2f}" == f"{answer.blocking.value:.2f}"
