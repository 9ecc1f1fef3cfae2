"""Answers are kept, and computed once by threads that ask at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from moldable.explorer.remembered import remembered


def test_threads_that_ask_together_share_one_computation():
    together, begun = threading.Barrier(4), []

    @remembered(8)
    def slow(key):
        begun.append(key)
        return object()

    def ask(key):
        together.wait(timeout=30)
        return slow(key)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, [1, 1, 1, 2]))
    assert sorted(begun) == [1, 2]
    assert answers[0] is answers[1] is answers[2] is not answers[3]


def test_one_answer_does_not_wait_for_another():
    released = threading.Event()

    @remembered(8)
    def wait(key):
        return released.wait(timeout=30) if key else released.set()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(wait, 1)
        pool.submit(wait, 0)
        assert first.result(timeout=30)


def test_the_answers_used_last_are_kept():
    asked = []
    square = remembered(2)(lambda x: asked.append(x) or x * x)
    assert [square(x) for x in (1, 2, 1, 3, 1, 2)] == [1, 4, 1, 9, 1, 4]
    assert asked == [1, 2, 3, 2]


def test_errors_are_not_kept():
    left = [ValueError("once")]

    @remembered(2)
    def fail_once():
        if left:
            raise left.pop()
        return 1

    with pytest.raises(ValueError, match="once"):
        fail_once()
    assert fail_once() == 1
