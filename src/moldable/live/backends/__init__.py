"""Back ends that run the tasks of a `MoldableExecutor`.

One file for each system. Each imports its system only when it is used.
"""

from __future__ import annotations

from concurrent.futures import Future
from importlib import import_module
from types import ModuleType
from typing import Final, Protocol, cast

from moldable.errors import PolicyError, shown
from moldable.live.backends.local import LocalProcesses
from moldable.live.task import Call, Outcome

__all__ = ["Backend", "LocalProcesses", "find_backend"]

_FILES: Final = {
    "distributed": "dask",
    "ray": "ray",
    "executorlib": "executorlib",
    "submitit": "submitit",
}
"""Systems, and the modules of this package with a function `backend` for them."""


class Backend(Protocol):
    """Runs calls on idle servers: the executor counts the servers and calls `start` in order.

    Attributes:
        servers: number of servers that it has; None if that is not known.
        most: servers that one task can get at most, such as the CPUs of a node; None: no limit.

    Examples:
        A back end of threads:

        >>> from concurrent.futures import ThreadPoolExecutor
        >>> class Threads:
        ...     servers, most = 4, None
        ...     def __init__(self):
        ...         self.pool = ThreadPoolExecutor(4)
        ...     def start(self, call, width):
        ...         return self.pool.submit(call)
        ...     def close(self):
        ...         self.pool.shutdown()
        >>> jobs = JobClass("jobs", arrival_rate=1.0, speedup=[1, 1.8, 2.5])
        >>> scenario = Scenario(Workload([jobs]), servers=4, waiting="unlimited")
        >>> with MoldableExecutor(Greedy(), backend=Threads(), scenario=scenario) as executor:
        ...     executor.submit(width).result()
        3
    """

    @property
    def servers(self) -> int | None:
        """Number of servers that it has."""
        ...

    @property
    def most(self) -> int | None:
        """Largest width of a task."""
        ...

    def start(self, call: Call, width: int) -> Future[Outcome]:
        """Run `call()` in a worker with `width` servers.

        The future has an exception only if the call was lost: what the function raises is part
        of its outcome.
        """
        ...

    def close(self) -> None:
        """Release what the back end started. No task is running."""
        ...


def find_backend(given: object, servers: int | None = None) -> Backend:
    """Return the back end for a client, executor or module of a known system.

    None stands for processes on this machine, for as many servers as asked for.
    """
    if given is None:
        return LocalProcesses(servers)
    module = given.__name__ if isinstance(given, ModuleType) else type(given).__module__
    system = module.partition(".")[0]
    if system in _FILES:
        found = import_module(f"moldable.live.backends.{_FILES[system]}")
        return cast("Backend", found.backend(given))
    if all(hasattr(given, name) for name in ("servers", "most", "start", "close")):
        return cast("Backend", given)
    raise PolicyError(
        f"{shown(given)} is not known; pass a Dask client, the module ray, an executor of "
        f"executorlib or submitit, or an object with servers, most, start and close",
        "backend",
    )
