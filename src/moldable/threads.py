"""Run compiled code on threads so that Ctrl-C takes effect at once.

Python handles an interrupt only in the main thread, and only after a compiled function has
returned. Long functions therefore run on other threads while the main thread waits for results.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, ParamSpec, Protocol, TypeVar, final

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

MOMENT: Final = 0.2
"""Seconds between two calls of `report`, and between two checks for an outer interrupt."""
_LOCAL = threading.local()


def on_threads(
    run: Callable[[T], R],
    tasks: Sequence[T],
    workers: int,
    report: Callable[[], None] | None = None,
) -> Iterator[R]:
    """Run every task on a thread and yield the results in the order of the tasks.

    When the caller stops early, for example after Ctrl-C, no further task is started and running
    tasks are not waited for. They run on daemon threads, so they do not keep the process alive;
    nested calls of this function inside them stop as well.

    Args:
        run: called with each task.
        tasks: arguments of `run`.
        workers: number of threads.
        report: called every moment while waiting, and after each task.
    """
    stopped = threading.Event()
    waiting: SimpleQueue[int] = SimpleQueue()
    ended: SimpleQueue[tuple[int, Future[R]]] = SimpleQueue()
    for number in range(len(tasks)):
        waiting.put(number)
    try:
        for _ in range(min(workers, len(tasks))):
            arguments = (run, tasks, waiting, ended, stopped)
            threading.Thread(target=_work, args=arguments, daemon=True).start()
        results: dict[int, R] = {}
        for number in range(len(tasks)):
            while number not in results:
                refuse_interrupted()
                with contextlib.suppress(Empty):
                    done, result = ended.get(timeout=MOMENT)
                    results[done] = result.result()
                if report is not None:
                    report()
            yield results.pop(number)
    finally:
        stopped.set()


def _work(
    run: Callable[[T], R],
    tasks: Sequence[T],
    waiting: SimpleQueue[int],
    ended: SimpleQueue[tuple[int, Future[R]]],
    stopped: threading.Event,
) -> None:
    """Run waiting tasks until there are none left or `stopped` is set."""
    _LOCAL.stopped = stopped
    with contextlib.suppress(Empty):
        while not stopped.is_set():
            number = waiting.get_nowait()
            result: Future[R] = Future()
            try:
                result.set_result(run(tasks[number]))
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                result.set_exception(error)
            ended.put((number, result))


class Stop(Protocol):
    """What ends a run: an event or a deadline."""

    def is_set(self) -> bool:
        """Return whether the run is to end."""


@final
class Deadline:
    """Ends a run after some time.

    Args:
        seconds: until then.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def is_set(self) -> bool:
        """Return whether the time is over."""
        return time.monotonic() > self._ends


@final
class _Either(NamedTuple):
    """Ends a run when one of two does."""

    first: Stop
    second: Stop

    def is_set(self) -> bool:
        """Return whether the run is to end."""
        return self.first.is_set() or self.second.is_set()


@contextlib.contextmanager
def ended_by(stopped: Stop) -> Iterator[None]:
    """End the runs of this thread like an interrupt when an event is set or a deadline is over.

    What ends them outside this context still does.
    """
    outer = getattr(_LOCAL, "stopped", None)
    _LOCAL.stopped = stopped if outer is None else _Either(outer, stopped)
    try:
        yield
    finally:
        _LOCAL.stopped = outer


def refuse_interrupted() -> None:
    """Raise KeyboardInterrupt if the run that this thread works for has been ended."""
    stopped = getattr(_LOCAL, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise KeyboardInterrupt


def interruptible(run: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Call a function that may spend a long time in compiled code, and return its result."""
    (result,) = on_threads(lambda _: run(*args, **options), [None], 1)
    return result
