"""Threads that leave the main thread free to be interrupted."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

import pytest

from moldable.threads import ended_by, interruptible, on_threads


def long_compiled_code():
    """Spend half a minute outside Python, where no interrupt is handled, without any work."""
    mutex = ctypes.create_string_buffer(64)
    ends = (ctypes.c_long * 2)(int(time.time()) + 30, 0)
    for _ in range(2):  # the second time it is locked
        ctypes.CDLL(None).pthread_mutex_timedlock(mutex, ends)


def interrupted_code(ended):
    """Interrupt the program while compiled code runs, and say when it has ended."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        long_compiled_code()
    finally:
        ended.set()


def test_results_come_in_the_order_of_the_tasks():
    def slow_first(number):
        time.sleep(0.1 if number == 0 else 0.0)
        return number * number

    assert list(on_threads(slow_first, range(6), 3)) == [0, 1, 4, 9, 16, 25]
    assert list(on_threads(slow_first, [], 3)) == []


def test_an_error_is_raised_at_once_and_no_further_task_is_begun():
    begun, ended, threads, raised = [], [], set(), threading.Event()

    def fail_on_second(number):
        begun.append(number)
        threads.add(threading.current_thread())
        if number == 1:
            raise ValueError("two")
        raised.wait(60)
        ended.append(number)

    with pytest.raises(ValueError, match="two"):
        list(on_threads(fail_on_second, range(50), 2))
    assert not ended
    raised.set()
    for thread in threads:
        thread.join()
    assert set(begun) <= {0, 1, 2}


def test_an_interrupt_is_handled_while_compiled_code_runs():
    ended = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        interruptible(interrupted_code, ended)
    assert not ended.is_set()


def test_nested_runs_end_when_the_outer_one_is_interrupted():
    ended, stopped = threading.Event(), threading.Event()

    def nested(_):
        try:
            interruptible(interrupted_code, ended)
        except KeyboardInterrupt:
            stopped.set()

    with pytest.raises(KeyboardInterrupt):
        list(on_threads(nested, [0], 1))
    assert stopped.wait(20)
    assert not ended.is_set()


def test_runs_end_when_an_event_is_set_and_later_ones_are_not_affected():
    stopped, ended = threading.Event(), threading.Event()

    def run():
        stopped.set()
        long_compiled_code()
        ended.set()

    with pytest.raises(KeyboardInterrupt), ended_by(stopped):
        interruptible(run)
    assert not ended.is_set()
    assert interruptible(lambda: 1) == 1
