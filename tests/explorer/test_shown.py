"""What the page shows of an answer: its table and its words."""

from __future__ import annotations

import math

import pytest

from moldable import Scenario, evaluate
from moldable.explorer.class_input import ClassInput
from moldable.explorer.question import Question
from moldable.explorer.shown import PARTS, as_table, caption, show, state, verdict

CURVE = (1.0, 1.8, 2.5)
LOSS = Question((ClassInput("jobs", CURVE),), 8, 0.8)


@pytest.mark.parametrize("view", PARTS)
def test_every_view_has_a_figure_a_table_and_a_state(view):
    found = show(view, LOSS, "quick")
    assert found.figure(dark=True)["data"]
    table = as_table(view, found.rows, caption(found))
    assert table["caption"] == "Load 0.8 on 8 servers"
    assert {len(row) for row in table["rows"]} == {len(table["heads"])} == {len(table["numeric"])}
    assert state(found) in {"Exact.", "Quick estimate; more precise numbers are being computed."}


def test_the_words_and_the_table_have_the_numbers_of_evaluate():
    found = show("performance", LOSS, "full")
    expected = evaluate(Scenario.single(CURVE, 0.8, 8), "greedy-p")
    told = next(part for part in verdict(found).split("; ") if part.startswith("greedy-p: "))
    assert f"blocking {expected.blocking.value:.6g}," in told
    table = as_table("performance", found.rows, caption(found))
    row = next(row for row in table["rows"] if row[0] == "greedy-p")
    assert row[table["heads"].index("blocking")] == f"{expected.blocking.value:.6g}"


def test_columns_that_say_nothing_are_left_out():
    rows = [
        {"name": "a", "x": 0.1234567, "flag": True, "exact": True, "note": ""},
        {"name": "b", "x": None, "flag": False, "exact": None, "note": None},
    ]
    table = as_table("frontier", rows, "title")
    assert table["heads"] == ["name", "x", "flag"]
    assert table["numeric"] == [False, True, False]
    assert table["rows"] == [["a", "0.123457", "yes"], ["b", "-", "no"]]
    rows[1]["exact"] = False
    assert "exact" in as_table("frontier", rows, "title")["heads"]
    assert as_table("frontier", [], "title")["caption"] == "There are no numbers."


def test_a_queue_that_grows_is_told_in_words():
    curve = (1.0, 1.8, 2.5, 3.0, 3.4)  # with three servers each, one job runs on four
    question = Question((ClassInput("jobs", curve),), 4, 0.9, math.inf)
    rows = show("performance", question, "quick").rows
    table = as_table("performance", rows, "title")
    notes = {row[0]: row[-1] for row in table["rows"]}
    assert any("without limit" in note for note in notes.values())
