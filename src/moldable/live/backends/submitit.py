"""Tasks as jobs of submitit: processes on this machine, or jobs of Slurm."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any, Final, final

from moldable.live.task import Call, Outcome

POLL: Final = 0.1
"""Seconds between two checks whether a job has ended; submitit has no callbacks."""


def backend(given: Any) -> SubmititBackend:
    """Return the back end."""
    return SubmititBackend(given)


@final
class SubmititBackend:
    """Runs every task as a job.

    Args:
        executor: a `submitit.AutoExecutor`, `SlurmExecutor` or `LocalExecutor`.
    """

    servers: int | None = None
    most: int | None = None

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def start(self, call: Call, width: int) -> Future[Outcome]:
        """Submit a job with as many CPUs as the task gets servers."""
        self._executor.update_parameters(cpus_per_task=width)
        job = self._executor.submit(call)
        outcome: Future[Outcome] = Future()
        # A thread for each job: reading the result of a lost job takes 15 s.
        threading.Thread(target=_watch, args=(job, outcome), name="moldable-submitit").start()
        return outcome

    def close(self) -> None:
        """Leave the folder of jobs as it is; it is the caller's."""


def _watch(job: Any, outcome: Future[Outcome]) -> None:
    try:
        while not job.done():
            time.sleep(POLL)
        found = job.result()
    except Exception as error:  # noqa: BLE001 - of any kind: lost, cancelled, unreadable
        outcome.set_exception(error)
    else:
        outcome.set_result(found)
