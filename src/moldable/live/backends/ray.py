"""Tasks on Ray."""

from __future__ import annotations

from concurrent.futures import Future
from types import ModuleType
from typing import Any, cast, final

from moldable.errors import PolicyError
from moldable.live.task import Call, Outcome


def backend(ray: ModuleType) -> RayBackend:
    """Return the back end."""
    return RayBackend(ray)


@final
class RayBackend:
    """Runs tasks on the Ray cluster that this program is connected to.

    A task asks Ray for as many CPUs as it gets servers. Ray's own count of idle CPUs is not
    used: it is out of date for a second or more.
    """

    def __init__(self, ray: ModuleType) -> None:
        if not ray.is_initialized():
            raise PolicyError("Ray is not connected; call ray.init(...) first", "backend")
        nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
        self.servers: int | None = int(sum(nodes))
        self.most: int | None = int(max(nodes, default=0.0))
        # If Ray ran a task again after a loss, its effects would be doubled.
        self._run: Any = ray.remote(max_retries=0)(_run)

    def start(self, call: Call, width: int) -> Future[Outcome]:
        """Submit a call."""
        return cast("Future[Outcome]", self._run.options(num_cpus=width).remote(call).future())

    def close(self) -> None:
        """Stay connected; the connection is the caller's."""


def _run(call: Call) -> Outcome:
    return call()
