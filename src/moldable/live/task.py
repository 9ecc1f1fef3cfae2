"""What runs in a worker: one call of a user's function that knows its number of servers.

Workers import this module and little else, so that they start quickly.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, final

import cloudpickle

from moldable.live.child import THREADS

VARIABLE: Final = "MOLDABLE_WIDTH"
"""Environment variable with the number of servers of a job."""
LIMITS: Final = (VARIABLE, *sorted({*THREADS} - {"NUMBA_NUM_THREADS"}))
"""Environment variables set in a task. Numba refuses changes once its threads have started."""

_WIDTH: Final[ContextVar[int | None]] = ContextVar("width", default=None)
_PROCESS: Final = threading.Lock()
"""Held by the task that sets the limits of this process."""


def width() -> int:
    """Return the number of servers granted to the job that this code runs in.

    It is 1 outside of a job.

    Examples:
        >>> from concurrent.futures import wait
        >>> scenario = Scenario.single([1, 1.8], load=0.5, servers=2, waiting="unlimited")
        >>> with MoldableExecutor(Greedy(), scenario=scenario, servers=2) as executor:
        ...     executor.submit(width).result()
        2
        >>> width()
        1
    """
    granted = _WIDTH.get()
    if granted is not None:
        return granted
    text = os.environ.get(VARIABLE, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else 1


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a function returned, or the exception that it raised."""

    value: Any = None
    error: BaseException | None = None


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments and its number of servers, to be called in a worker."""

    width: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def __call__(self) -> Outcome:
        """Call the function. Exceptions are returned, to tell them from those of the back end."""
        token = _WIDTH.set(self.width)
        try:
            with _process_limits(self.width):
                return Outcome(self.function(*self.arguments, **self.options))
        except BaseException as error:  # noqa: BLE001 - raised again by the future
            return Outcome(error=_portable(error))
        finally:
            _WIDTH.reset(token)


@contextmanager
def _process_limits(width: int) -> Iterator[None]:
    """Limit the threads of libraries in this process, and of the processes that it starts.

    The limits belong to the process. If several tasks share it, the first one sets them.
    """
    if not _PROCESS.acquire(blocking=False):
        yield
        return
    before = {name: os.environ.get(name) for name in LIMITS}
    try:
        os.environ.update(dict.fromkeys(before, str(width)))
        with _loaded_limits(width):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _PROCESS.release()


def _loaded_limits(width: int) -> Any:
    """Limit libraries that are loaded: they have read the environment already."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(width)


def _portable(error: BaseException) -> BaseException:
    """Return the exception with its traceback as a note, or a plain one if it cannot be sent."""
    text = "".join(traceback.format_exception(error)).rstrip()
    try:
        error.add_note(f"In the worker:\n{text}")
        pickle.loads(cloudpickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - code of the exception's class runs here
        return RuntimeError(f"an exception that cannot be sent between processes:\n{text}")
    return error
