"""Decisions of several policies as text."""

from __future__ import annotations

import pytest

from moldable.cli.output import console
from moldable.policies.decisions import DecisionRow, Decisions
from moldable.reporting.decisions_text import MOST_ROWS, show_decisions

HEADINGS = {"tuned": "tuned", "other": "for load 0.9"}


@pytest.fixture
def printed(shown):
    return lambda *classes: shown(lambda to, what: show_decisions(to, what, HEADINGS), classes)


def part(name, *rows):
    return Decisions(
        name, tuple(DecisionRow(a, b, {"tuned": x, "other": y}) for a, b, x, y in rows)
    )


def test_a_row_is_a_range_and_a_drawn_width_comes_with_its_share(printed):
    found = printed(
        part(
            "jobs",
            (1, 1, {}, {1: 0.25}),
            (2, 4, {2: 1.0}, {1: 0.4, 2: 0.6}),
            (5, 30, {3: 1.0}, {3: 0.33333}),
        )
    )
    assert found[0] == "Servers given, by idle servers:"
    assert "idle tuned for load 0.9" in found
    rows = [
        "1 blocked 1: 25 %, blocked: 75 %",
        "2 to 4 2 1: 40 %, 2: 60 %",
        "5 to 30 3 3: 33.3 %, blocked: 66.7 %",
    ]
    assert [line for line in found if line in rows] == rows


def test_shares_are_on_lines_of_their_own_where_the_page_is_narrow(capsys, monkeypatch):
    rows = part("jobs", (1, 9, {11: 0.25, 12: 0.75}, {1: 0.4, 2: 0.6}))
    headings = {"tuned": "tuned", "other": "a heading of thirty-five characters"}
    monkeypatch.setenv("COLUMNS", "60")
    show_decisions(console(), (rows,), headings)
    found = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert found[-3:-1] == ["1 to 9 11: 25 %, 1: 40 %,", "12: 75 % 2: 60 %"]


def test_negligible_shares_are_left_out(printed):
    assert "1 to 3 2 1" in printed(part("jobs", (1, 3, {2: 1.0}, {1: 1.0 - 9e-9, 2: 9e-9})))


def test_several_classes_have_a_table_each(printed):
    found = printed(part("a", (1, 3, {1: 1.0}, {1: 1.0})), part("b", (1, 3, {2: 1.0}, {1: 1.0})))
    assert [line for line in found if "given" in line] == [
        "Servers given to a, by idle servers:",
        "Servers given to b, by idle servers:",
    ]
    assert found.index("1 to 3 1 1") < found.index("1 to 3 2 1")


def test_a_long_table_follows_the_first_policy_while_it_can(printed):
    rows = [(i, i, {1 + i // 20: 1.0}, {i: 1.0}) for i in range(1, 60)]
    found = [line for line in printed(part("jobs", *rows)) if line and line[0].isdigit()]
    assert found == ["1 to 19 1 1 to 19", "20 to 39 2 20 to 39", "40 to 59 3 40 to 59"]


def test_long_tables_are_shortened_to_ranges(printed):
    rows = [(i, i, {i: 1.0}, {1: 1.0}) for i in range(1, 101)]
    found = [line for line in printed(part("jobs", *rows)) if line and line[0].isdigit()]
    assert len(found) <= MOST_ROWS
    assert found[0] == "1 to 7 1 to 7 1"
    assert found[-1].startswith("99 to 100")
