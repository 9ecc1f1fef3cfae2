"""Processes on this machine."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from typing import final

import cloudpickle

from moldable.checks import checked_int
from moldable.errors import PolicyError
from moldable.live.task import Call, Outcome, available_cpus


@final
class LocalProcesses:
    """Runs tasks in processes, which are reused.

    Each process is a pool of its own. In a larger pool, a process that dies ends all tasks.

    Args:
        servers: number of servers; by default the CPUs that this process may use.
    """

    most: int | None = None

    def __init__(self, servers: int | None = None) -> None:
        found = available_cpus() if servers is None else servers
        self.servers: int | None = checked_int(found, "servers", PolicyError)
        # Not forked: other threads of this process may hold locks.
        self._context = multiprocessing.get_context("forkserver")
        self._idle: list[ProcessPoolExecutor] = []
        self._broken: list[ProcessPoolExecutor] = []

    def start(self, call: Call, width: int) -> Future[Outcome]:  # noqa: ARG002 - the call has it
        """Run a call in an idle process, or in a new one."""
        # cloudpickle also sends functions of notebooks and scripts.
        sent = cloudpickle.dumps(call)
        while True:
            try:
                pool = self._idle.pop()
            except IndexError:
                pool = ProcessPoolExecutor(1, self._context)
            try:
                running = pool.submit(_run, sent)
            except BrokenProcessPool:  # its process died while it was idle
                self._broken.append(pool)
            else:
                break
        outcome: Future[Outcome] = Future()
        running.add_done_callback(partial(self._receive, pool, outcome))
        return outcome

    def _receive(
        self, pool: ProcessPoolExecutor, outcome: Future[Outcome], running: Future[bytes]
    ) -> None:
        error = running.exception()
        # A broken pool is kept as well: losing its last reference here, on its own thread, it could
        # wait for a lock that this thread holds.
        (self._broken if isinstance(error, BrokenProcessPool) else self._idle).append(pool)
        if error is not None:
            outcome.set_exception(error)
            return
        try:
            found = pickle.loads(running.result())  # noqa: S301 - from our own process
        except Exception as failed:  # noqa: BLE001 - code of the result's class runs here
            outcome.set_exception(failed)
        else:
            outcome.set_result(found)

    def close(self) -> None:
        """End the processes."""
        for pools in (self._idle, self._broken):
            with suppress(IndexError):  # two threads may close
                while True:
                    pools.pop().shutdown()


def _run(sent: bytes) -> bytes:
    call: Call = pickle.loads(sent)  # noqa: S301 - from the process that started this one
    return bytes(cloudpickle.dumps(call()))
