"""Precise answers are computed one at a time, and only while somebody waits for them."""

from __future__ import annotations

import threading

import pytest
from dash.exceptions import PreventUpdate

from moldable.explorer.asked import Asked
from moldable.explorer.view_callbacks import in_turn


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
