"""Tasks on a Dask cluster (`distributed`)."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from typing import Any, Final, final

from moldable.live.task import Call, Outcome

RESOURCE: Final = "server"
"""Resource of Dask workers that tasks ask for, if the workers declare it."""


def backend(given: Any) -> DaskBackend:
    """Return the back end."""
    return DaskBackend(given)


@final
class DaskBackend:
    """Runs tasks through a client, which stays open.

    Workers may declare their servers: `dask worker --resources server=8`. Dask then places a task
    on a worker with enough of them. Without the declaration every thread of a worker is a server,
    and Dask places tasks on any worker.

    Args:
        client: a `distributed.Client`.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        declared = [int(worker["resources"].get(RESOURCE, 0)) for worker in workers]
        self._declared = any(declared)
        hosts: Counter[str] = Counter()
        for worker in workers:
            hosts[worker["host"]] += worker["nthreads"]
        sizes = declared if self._declared else list(hosts.values())
        self.servers: int | None = sum(sizes)
        self.most: int | None = max(sizes, default=0)

    def start(self, call: Call, width: int) -> Future[Outcome]:
        """Submit a call."""
        resources = {RESOURCE: width} if self._declared else None
        running: Future[Outcome] = self._client.get_executor(
            pure=False, resources=resources
        ).submit(call)
        return running

    def close(self) -> None:
        """Leave the client open; it is the caller's."""
