"""Tasks on an executor of executorlib: processes on this machine, or jobs of Slurm or Flux."""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from importlib.util import find_spec
from typing import Any, final

from moldable.errors import PolicyError, shown
from moldable.live.task import Call, Outcome


def backend(given: Any) -> ExecutorlibBackend:
    """Return the back end."""
    return ExecutorlibBackend(given)


@final
class ExecutorlibBackend:
    """Runs tasks as single processes with as many threads as they get servers.

    Args:
        executor: for example a `SingleNodeExecutor(max_cores=16)`; it stays open.
    """

    most: int | None = None

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        options = executor.info or {}
        self.servers: int | None = options.get("max_cores")
        cache = {**options, **options.get("executor_kwargs", {})}.get("cache_directory")
        # executorlib imports it in a thread, whose tasks then never end.
        if cache is not None and find_spec("h5py") is None:
            raise PolicyError(
                f"the executor has the cache folder {shown(cache)}, for which executorlib needs "
                f"h5py; install it (pip install 'executorlib[cache]'), or leave out "
                f"cache_directory",
                "backend",
            )

    def start(self, call: Call, width: int) -> Future[Outcome]:
        """Submit a call."""
        # With a key of its own, a task is never answered from the cache of another one.
        resources = {"cores": 1, "threads_per_core": width, "cache_key": f"task-{uuid.uuid4().hex}"}
        running: Future[Outcome] = self._executor.submit(call, resource_dict=resources)
        return running

    def close(self) -> None:
        """Leave the executor open; it is the caller's."""
