"""Figures and tables show the numbers of the answers, and tell exact from estimated ones."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from explorer.questions import JOBS, LOSS, QUEUE, gpus
from moldable.explorer import figures, tables
from moldable.explorer.answers import (
    frontier,
    load_curves,
    performance,
    policies,
    trade_off,
)
from moldable.explorer.figure_style import colours
from moldable.explorer.question import ClassInput, Question
from moldable.explorer.tuned_policy import tuned_policy
from moldable.policies.observation import Observation

ANSWERS = {
    "frontier": frontier,
    "policies": policies,
    "performance": performance,
    "load_curves": load_curves,
    "trade_off": trade_off,
}
SIMULATED = Question((JOBS,), servers=64, load=0.8, waiting=math.inf)
HOSTILE = replace(LOSS, classes=(ClassInput("<img src=x>", (1.0, 1.8)), ClassInput("=1+1", (1.0,))))
views = pytest.mark.parametrize("view", ANSWERS)
questions = pytest.mark.parametrize(
    "question",
    [LOSS, QUEUE, gpus(), SIMULATED, HOSTILE],
    ids=["loss", "queue", "gpus", "big", "odd"],
)


def _drawn(view, question, **options):
    answer = ANSWERS[view](question)
    return answer, getattr(figures, f"{view}_figure")(answer, **options)


def _rows(view, question):
    return getattr(tables, f"{view}_table")(ANSWERS[view](question))


@views
@questions
def test_every_figure_is_drawn_light_and_dark(view, question):
    _, light = _drawn(view, question)
    _, dark = _drawn(view, question, dark=True)
    assert len(light.data) == len(dark.data) > 0
    assert light.layout.font.color != dark.layout.font.color
    assert light.layout.width is None  # it takes that of the page
    assert "<img" not in light.to_json()


@views
@questions
def test_every_table_has_the_same_headings_in_all_rows_and_is_a_csv_file(view, question):
    rows = _rows(view, question)
    assert rows
    assert len({tuple(row) for row in rows}) == 1
    read = list(csv.DictReader(io.StringIO(tables.csv_text(rows))))
    assert len(read) == len(rows)
    for row, text in zip(rows, read, strict=True):
        for key, cell in row.items():
            if isinstance(cell, float):
                assert float(text[key]) == cell
            assert not text[key].startswith(("=", "@"))


def test_a_curve_along_the_load_shows_its_points():
    answer, figure = _drawn("load_curves", LOSS, measure="mean_execution_time")
    drawn = {trace.name: trace for trace in figure.data}
    for curve in answer.curves:
        values = [point and point.get("mean_execution_time") for point in curve.points]
        if any(values):
            assert list(drawn[curve.name].y) == [value and value.value for value in values]
            assert list(drawn[curve.name].x) == list(answer.loads)
    assert figure.layout.yaxis.title.text == "mean execution time (mean sizes)"


def test_estimates_have_open_marks_intervals_and_a_word():
    answer, figure = _drawn("trade_off", SIMULATED)
    (series,) = (each for each in answer.series if each.name == "even-price")
    (trace,) = (each for each in figure.data if each.name == "even-price (estimated)")
    value = series.points[0].values["mean_wait"]
    assert trace.marker.symbol[0] == "circle-open"
    assert trace.error_x.array[0] == pytest.approx(value.interval[1] - value.value)
    assert trace.error_x.arrayminus[0] == pytest.approx(value.value - value.interval[0])
    assert "95 % interval" in trace.hovertext[0]


def test_exact_values_have_filled_marks_and_no_interval():
    _, figure = _drawn("performance", LOSS)
    trace = next(each for each in figure.data if each.name == "greedy")
    assert trace.marker.symbol == ("circle",)
    assert not trace.error_y.visible
    assert "(exact)" in trace.hovertext[0]


def test_bars_add_up_to_the_mean_response_time():
    answer, figure = _drawn("performance", QUEUE)
    wait, execution = figure.data
    for label, a, b in zip(wait.y, wait.x, execution.x, strict=True):
        row = answer.row(label.partition(" (")[0])
        assert a + b == pytest.approx(row.values["mean_response_time"].value)


@pytest.mark.parametrize("question", [LOSS, gpus(), QUEUE])
def test_the_picture_of_a_policy_shows_what_it_grants(question):
    policy = tuned_policy(question, "quick").policy
    answer, figure = _drawn("policies", question)
    for trace, job_class in zip(figure.data, question.scenario().workload.classes, strict=True):
        edges = np.array(trace.x)
        for lane, label in zip(trace.z, trace.y, strict=True):
            if not question.waiting and label != "tuned":
                continue
            waiting = int(label) if question.waiting else 0
            for width, start in zip(lane, edges[:-1] + 0.5, strict=True):
                if width is not None:
                    granted = policy.granted_shares(job_class, Observation(int(start), waiting))
                    assert granted[width] == max(granted.values())
    assert answer.tables[0].name == "tuned"


def test_the_picture_of_a_policy_says_where_it_ends():
    _, figure = _drawn("policies", Question((JOBS,), servers=16, load=0.8))
    assert figure.layout.xaxis.title.text == "idle servers (13 to 16: as at 12)"


def test_points_that_differ_only_by_rounding_are_drawn_as_one():
    _, figure = _drawn("trade_off", Question((JOBS,), servers=1, load=0.8))
    assert {y for trace in figure.data for y in trace.y} == {1.0}


def test_a_single_width_has_no_scale_of_colours():
    _, figure = _drawn("policies", Question((JOBS,), servers=1, load=0.8))
    axis = figure.layout.coloraxis
    assert not axis.showscale
    assert axis.cmin < axis.cmax


@pytest.mark.parametrize("dark", [False, True])
def test_a_policy_has_one_colour_in_all_figures(dark):
    first = colours(["greedy", "greedy-p", "fixed:1", "fixed:3"], dark=dark)
    second = colours(["value:10", "greedy-p", "greedy", "fixed:1", "fixed:3"], dark=dark)
    third = colours(["true optimum", "value policy", "greedy-p"], dark=dark)
    assert len(set(second.values())) == len(second)
    assert first.items() <= second.items()
    assert (third["greedy-p"], third["value policy"]) == (second["greedy-p"], second["value:10"])
    assert colours(["jobs"], dark=dark)["jobs"] == colours(["greedy-p"], dark=dark)["greedy-p"]


def test_the_operating_point_lies_on_the_frontier():
    _, figure = _drawn("frontier", LOSS)
    line, star = (
        next(t for t in figure.data if word in t.name) for word in ("frontier", "operating")
    )
    assert star.y[0] == pytest.approx(np.interp(star.x[0], line.x, line.y))


def test_random_choices_are_written_with_their_probabilities():
    rows = _rows("policies", replace(LOSS, servers=16, target=("max_blocking", 0.1)))
    drawn = [row["servers granted"] for row in rows if row["policy"] == "tuned"]
    assert any("%" in text for text in drawn)


def test_bounds_are_rows_of_their_own():
    rows = _rows("performance", QUEUE)
    assert [row["policy"] for row in rows[-2:]] == ["bound: at least"] * 2


def test_policies_that_no_other_one_beats_are_marked():
    rows = {row.name: row for row in performance(LOSS).rows}
    marks = {row["policy"]: row["Pareto-optimal"] for row in _rows("performance", LOSS)}
    pairs = {
        name: [value.value for value in row.values.values()]
        for name, row in rows.items()
        if row.kind in {"tuned", "policy"}
    }
    for name, pair in pairs.items():
        beaten = any(
            other != pair and all(b <= a for a, b in zip(pair, other, strict=True))
            for other in pairs.values()
        )
        assert marks[name] is not beaten, name
    assert marks["equi"] is marks["optimum"] is None


def test_provisional_rows_say_so():
    row = next(row for row in _rows("performance", QUEUE) if row["policy"] == "tuned")
    assert "first guess" in row["note"]
