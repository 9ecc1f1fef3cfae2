"""Precise answers are computed one at a time, and only while somebody waits for them."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from dash import no_update
from dash.exceptions import PreventUpdate

from explorer.questions import LOSS, QUEUE
from moldable.explorer import view_callbacks
from moldable.explorer.asked import MOST_PAGES, Asked
from moldable.explorer.performance import performance
from moldable.explorer.remembered import remembered
from moldable.explorer.shown import PARTS
from moldable.explorer.view_callbacks import _shown, if_newest, in_time, in_turn
from moldable.threads import interruptible


def test_a_question_that_is_no_longer_the_newest_does_not_wait_for_its_turn():
    asked, turn = Asked(), threading.Lock()
    sent = {"page": "page", "number": asked.add("page")}
    asked.add("page")
    with turn, pytest.raises(PreventUpdate), in_turn(turn, asked, sent):
        pytest.fail("it had its turn while another answer was computed")
    assert not turn.locked()


def test_the_newest_question_has_its_turn_when_the_one_before_ends():
    asked, turn = Asked(), threading.Lock()
    sent = {"page": "page", "number": asked.add("page")}
    turn.acquire()
    threading.Timer(0.5, turn.release).start()
    with in_turn(turn, asked, sent):
        assert turn.locked()
    assert not turn.locked()


LONG = replace(QUEUE, servers=60, load=0.9, size="pareto:2.5", seed=77)
"""A question whose precise answer takes minutes."""


def test_a_precise_answer_that_has_begun_ends_when_the_page_asks_another_question():
    asked, begun = Asked(), threading.Event()
    sent = asked.sent("page", LONG)
    ended = []

    def work(question):
        begun.set()
        return performance(question, "full")

    def answer():
        with pytest.raises(PreventUpdate):
            if_newest(asked, sent, work)
        ended.append(time.monotonic())

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    assert begun.wait(60)
    time.sleep(1.0)
    assert thread.is_alive()
    asked.sent("page", LOSS)
    superseded = time.monotonic()
    thread.join(60)
    assert ended[0] - superseded < 20.0  # the answer would take minutes


def test_what_was_computed_for_a_superseded_question_is_not_kept():
    asked, calls = Asked(), []
    sent = asked.sent("page", LOSS)

    @remembered(2)
    def compute(question):
        calls.append(question)
        if len(calls) == 1:
            asked.sent("page", QUEUE)  # the page asks another question in the meantime
        return len(calls)

    with pytest.raises(PreventUpdate):
        if_newest(asked, sent, compute)
    assert if_newest(asked, asked.sent("page", LOSS), compute) == 2


def test_only_the_newest_question_of_a_page_is_answered():
    asked = Asked()
    older, newest, other = (asked.sent(page, LOSS) for page in ("a", "a", "b"))
    with pytest.raises(PreventUpdate):
        if_newest(asked, older, lambda _: pytest.fail("it was answered"))
    assert [if_newest(asked, sent, lambda _: 1) for sent in (newest, other)] == [1, 1]
    for number in range(MOST_PAGES):
        asked.add(f"page {number}")
    with pytest.raises(PreventUpdate):
        if_newest(asked, newest, lambda _: 1)


def test_an_answer_that_takes_too_long_is_given_up_and_the_estimate_stays(monkeypatch):
    def answer(question, effort):
        if effort == "full":
            interruptible(time.sleep, 30.0)
        return performance(question)

    monkeypatch.setattr(view_callbacks, "LONGEST", 0.3)
    parts = replace(PARTS["performance"], answer=answer)
    monkeypatch.setitem(PARTS, "performance", parts)
    performance(LOSS)  # remembered
    assert _shown("performance", LOSS, "quick")["refined"]
    given_up = _shown("performance", LOSS, "full")
    assert given_up["state"].startswith("Quick estimate; precise numbers take longer")
    assert given_up["rows"] is no_update
    assert in_time(lambda: 1) == 1


def test_a_question_that_is_superseded_ends_before_its_time_is_over():
    asked = Asked()
    sent = asked.sent("page", LOSS)
    threading.Timer(0.2, asked.sent, ("page", QUEUE)).start()
    with pytest.raises(PreventUpdate):
        if_newest(asked, sent, lambda _: in_time(lambda: interruptible(time.sleep, 30.0)))
