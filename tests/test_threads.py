"""Threads that leave the main thread free to be interrupted."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time

import pytest

from moldable.threads import ended_by, interruptible, on_threads


def long_compiled_code():
    """Spend about half a minute outside Python, where no interrupt is handled."""
    hashlib.pbkdf2_hmac("sha256", b"", b"", 50_000_000)


def interrupt_soon():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_results_come_in_the_order_of_the_tasks():
    def slow_first(number):
        time.sleep(0.1 if number == 0 else 0.0)
        return number * number

    assert list(on_threads(slow_first, range(6), 3)) == [0, 1, 4, 9, 16, 25]
    assert list(on_threads(slow_first, [], 3)) == []


def test_an_error_is_raised_at_once_and_no_further_task_is_begun():
    begun = []

    def fail_on_second(number):
        begun.append(number)
        if number == 1:
            raise ValueError("two")
        time.sleep(0.5 if number == 0 else 0.1)

    started = time.monotonic()
    with pytest.raises(ValueError, match="two"):
        list(on_threads(fail_on_second, range(50), 2))
    assert time.monotonic() - started < 0.4
    time.sleep(0.6)
    assert len(begun) < 10


def test_an_interrupt_is_handled_while_compiled_code_runs():
    interrupt_soon()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interruptible(long_compiled_code)
    assert time.monotonic() - started < 2


def test_nested_runs_end_when_the_outer_one_is_interrupted():
    ended = threading.Event()

    def nested(_):
        try:
            interruptible(long_compiled_code)
        except KeyboardInterrupt:
            ended.set()

    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        list(on_threads(nested, [0], 1))
    assert ended.wait(2)


def test_runs_end_when_an_event_is_set_and_later_ones_are_not_affected():
    stopped = threading.Event()
    threading.Timer(0.2, stopped.set).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), ended_by(stopped):
        interruptible(long_compiled_code)
    assert time.monotonic() - started < 2
    assert interruptible(lambda: 1) == 1
