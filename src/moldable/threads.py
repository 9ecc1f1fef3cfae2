"""Run compiled code on threads so that Ctrl-C is handled at once.

Python handles an interrupt only in the main thread, and only once a compiled function has returned.
So long functions are run on other threads while the main thread waits for their results.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, NoReturn, ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

MOMENT: Final = 0.2
"""Seconds between two calls of `tell`, and between two looks for an interrupt further out."""
_LOCAL = threading.local()


def on_threads(
    run: Callable[[T], R],
    tasks: Sequence[T],
    workers: int,
    tell: Callable[[], None] | None = None,
) -> Iterator[R]:
    """Run every task on a thread and yield the results in the order of the tasks.

    When the caller stops early, after Ctrl-C for example, no further task is begun and the tasks
    under way are not waited for. They run on daemon threads, so they do not keep the process alive;
    nested calls of this function inside them stop, too.

    Args:
        run: called with each task.
        tasks: what to run.
        workers: threads at once.
        tell: called every moment while waiting, and after each task.
    """
    stopped, outer = threading.Event(), getattr(_LOCAL, "stopped", None)
    waiting: SimpleQueue[int] = SimpleQueue()
    ended: SimpleQueue[Callable[[], tuple[int, R]]] = SimpleQueue()
    for number in range(len(tasks)):
        waiting.put(number)
    try:
        for _ in range(min(workers, len(tasks))):
            arguments = (run, tasks, waiting, ended, stopped)
            threading.Thread(target=_work, args=arguments, daemon=True).start()
        results: dict[int, R] = {}
        for number in range(len(tasks)):
            while number not in results:
                if outer is not None and outer.is_set():
                    raise KeyboardInterrupt
                with contextlib.suppress(Empty):
                    results.update([ended.get(timeout=MOMENT)()])
                if tell is not None:
                    tell()
            yield results.pop(number)
    finally:
        stopped.set()


def _work(
    run: Callable[[T], R],
    tasks: Sequence[T],
    waiting: SimpleQueue[int],
    ended: SimpleQueue[Callable[[], tuple[int, R]]],
    stopped: threading.Event,
) -> None:
    """Run tasks until none is waiting; what is put into `ended` returns the result or raises."""
    _LOCAL.stopped = stopped
    while not stopped.is_set() and not waiting.empty():
        with contextlib.suppress(Empty):  # another thread may have taken the last one
            number = waiting.get_nowait()
            try:
                ended.put(partial(_returned, number, run(tasks[number])))
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                ended.put(partial(_raised, error))


def _returned(number: int, result: R) -> tuple[int, R]:
    return number, result


def _raised(error: BaseException) -> NoReturn:
    raise error


def interruptible(run: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Call a function that may spend long in compiled code, and return its result."""
    (result,) = on_threads(lambda _: run(*args, **options), [None], 1)
    return result
