"""Threads that leave the main thread free to be interrupted."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time

import pytest

from moldable.threads import interruptible, on_threads

LONGEST = 60.0
"""Seconds after which a thread counts as hanging."""


@pytest.fixture
def compiled_code():
    """A function that spends seconds outside Python, where no interrupt is handled."""

    def run():
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10_000_000)
        run.ended.set()

    run.ended = threading.Event()
    return run


def interrupt_soon():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_results_come_in_the_order_of_the_tasks():
    def slow_first(number):
        time.sleep(0.1 if number == 0 else 0.0)
        return number * number

    assert list(on_threads(slow_first, range(6), 3)) == [0, 1, 4, 9, 16, 25]
    assert list(on_threads(slow_first, [], 3)) == []


def test_an_error_is_raised_at_once_and_no_further_task_is_begun():
    begun, released = [], threading.Event()

    def fail_on_second(number):
        begun.append(threading.current_thread())
        if number == 1:
            raise ValueError("two")
        assert released.wait(LONGEST)

    with pytest.raises(ValueError, match="two"):
        list(on_threads(fail_on_second, range(50), 2))
    assert begun[0].is_alive()  # the first task still runs
    released.set()
    for thread in begun:
        thread.join(LONGEST)
        assert not thread.is_alive()
    assert len(begun) <= 3  # the second thread may have begun one more before the error was seen


def test_an_interrupt_is_handled_while_compiled_code_runs(compiled_code):
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        interruptible(compiled_code)
    assert not compiled_code.ended.is_set()


def test_nested_runs_end_when_the_outer_one_is_interrupted(compiled_code):
    interrupted = threading.Event()

    def nested(_):
        try:
            interruptible(compiled_code)
        except KeyboardInterrupt:
            interrupted.set()

    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        list(on_threads(nested, [0], 1))
    assert interrupted.wait(LONGEST)
    assert not compiled_code.ended.is_set()
