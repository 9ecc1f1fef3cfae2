"""Distribute replications over threads or an executor.

Chunks of replications run on threads of this process or on any `concurrent.futures.Executor`. The
tallies of a chunk depend only on the plan and the replications, so neither the number of workers
nor the size of chunks changes a result. Chunks of a lost worker are run again here.
"""

from __future__ import annotations

import dataclasses
import importlib
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Final, final

from moldable.errors import MoldableError
from moldable.simulation.arrival_source import BLOCK
from moldable.simulation.chain_run import LANE_SETS, run_chain
from moldable.simulation.plan import Plan, Tallies
from moldable.simulation.queue_run import run_queue
from moldable.simulation.ring_run import run_ring
from moldable.system.count_model import chain_model
from moldable.system.loss_system import System
from moldable.threads import interruptible, on_threads

CHAIN_SLOTS: Final = 10
CHAIN_PHASE_SLOTS: Final = 4
EXECUTOR_WORKERS: Final = 4
"""Assumed number of workers of an executor."""
LEAST_ARRIVALS: Final = 0.1
"""Share of arrivals among the ticks of the uniform clock above which the chain is faster."""
PATIENCE: Final = 1.0
"""Seconds after which a compilation is announced."""
LOG: Final = logging.getLogger("moldable")

Progress = Callable[[float, int], None]
"""Called with the finished and the planned replications."""
RUNNERS: Final[dict[str, Callable[..., Tallies]]] = {
    "count-chain": run_chain,
    "bucket-ring": run_ring,
    "queue-ring": run_queue,
}


def choose_kernel(system: System, estimator: str, replications: int) -> str:
    """Choose the lock-step chain where it applies and is faster, otherwise a ring.

    With fewer replications than lanes, most lanes would be unused.
    """
    from moldable.kernels.count_chain import CODES

    if system.places:
        return "queue-ring"
    if not system.poisson or estimator != "assigned" or replications < LANE_SETS[0]:
        return "bucket-ring"
    model = chain_model(system)
    if model is None:
        return "bucket-ring"
    slots = CHAIN_SLOTS if model.phases == 1 else CHAIN_PHASE_SLOTS
    fits = model.rates.size <= slots and model.outcomes.shape[1] <= CODES
    faster = model.arrival_rate >= LEAST_ARRIVALS * model.total_rate
    return "count-chain" if fits and faster else "bucket-ring"


def compile_kernel(plan: Plan, kernel: str, chunk: tuple[int, ...]) -> None:
    """Compile the kernel for such a chunk, or load it from the cache, by a minimal run.

    The chain is compiled for the number of lanes that the chunk needs.
    """
    interruptible(importlib.import_module, "moldable.kernels.count_chain")  # numba loads slowly
    # The ring's kernel draws only what comes after a first block.
    jobs = 1 if kernel == "count-chain" else BLOCK + 1
    tiny = dataclasses.replace(plan, start="empty", warmup=0.0, jobs=jobs, batches=1)
    patience = threading.Timer(
        PATIENCE,
        LOG.info,
        ["compiling for this kind of system; the code is kept for later runs"],
    )
    patience.daemon = True  # an interrupt while it is cancelled must not keep the process
    patience.start()
    try:
        interruptible(RUNNERS[kernel], tiny, chunk)
    finally:
        patience.cancel()


def count_workers(threads: int | None, executor: Executor | None = None) -> int:
    """Return how many chunks can run at once."""
    return EXECUTOR_WORKERS if executor is not None else int(threads or os.cpu_count() or 1)


def cut(replications: range, kernel: str, workers: int) -> list[tuple[int, ...]]:
    """Divide replications into chunks: the largest sets of lanes that leave no worker idle.

    The ring has no lanes, so its chunks are small enough for all workers to end together.
    """
    count = len(replications)
    if kernel == "count-chain":
        enough = (lanes for lanes in reversed(LANE_SETS) if count > lanes * (workers - 1))
        size = next(enough, LANE_SETS[0])
    else:
        size = max(1, count // (32 * workers))
    return [tuple(replications[begin : begin + size]) for begin in range(0, count, size)]


@final
class ChunkRunner:
    """Chunks of replications that run at the same time.

    Attributes:
        results: the tallies of each chunk; None if it did not finish.
        interrupted: whether the run was stopped before all had finished.
        reason: why, unless the user stopped it.
        repeated: replications that were run again because their worker was lost.
    """

    def __init__(
        self, plan: Plan, kernel: str, chunks: list[tuple[int, ...]], progress: Progress | None
    ) -> None:
        self.plan, self.runner, self.chunks, self.progress = plan, RUNNERS[kernel], chunks, progress
        self.results: list[Tallies | None] = [None] * len(chunks)
        self.shares = [0.0] * len(chunks)
        self.stop = threading.Event()
        self.interrupted, self.reason, self.repeated = False, "", 0

    def run(self, workers: int, executor: Executor | None) -> None:
        """Run all chunks, and keep those that finished if the run is stopped."""
        try:
            if executor is not None:
                self._run_on(executor)
                return
            list(on_threads(self._run, range(len(self.chunks)), workers, self._tell))
        except KeyboardInterrupt:
            self.interrupted = None in self.results
        except (MemoryError, OSError) as error:
            if executor is None:
                raise
            self.interrupted, self.reason = None in self.results, str(error) or type(error).__name__
        finally:
            self.stop.set()

    def _run_on(self, executor: Executor) -> None:
        lost: list[int] = []
        waiting: dict[Future[Tallies], int] = {}
        ended: SimpleQueue[Future[Tallies]] = SimpleQueue()
        try:
            for number, chunk in enumerate(self.chunks):
                waiting[self._submit(executor, chunk)] = number
            for future in waiting:
                future.add_done_callback(ended.put)
            for _ in waiting:
                future = ended.get()
                try:
                    self._keep(waiting[future], future.result())
                except MoldableError:
                    raise
                except Exception:  # noqa: BLE001 - any failure of a worker: run its chunk here
                    lost.append(waiting[future])
                    continue
                self._tell()
        except KeyboardInterrupt:
            for future, number in waiting.items():
                if not future.cancel() and future.done() and future.exception() is None:
                    self._keep(number, future.result())
            raise
        for number in lost:
            self._run(number)
            self._tell()
        self.repeated = sum(len(self.chunks[number]) for number in lost)

    def _submit(self, executor: Executor, chunk: tuple[int, ...]) -> Future[Tallies]:
        try:
            return executor.submit(self.runner, self.plan, chunk)
        except Exception as error:  # noqa: BLE001 - a broken executor takes no more work
            refused: Future[Tallies] = Future()
            refused.set_exception(error)
            return refused

    def _keep(self, number: int, tallies: Tallies) -> None:
        self.results[number], self.shares[number] = tallies, 1.0

    def _run(self, number: int) -> None:
        """Run a chunk and keep its tallies before anything is reported that may be interrupted."""

        def report(share: float) -> None:
            if self.stop.is_set():
                raise _StoppedError
            self.shares[number] = share

        self._keep(number, self.runner(self.plan, self.chunks[number], report))

    def _tell(self) -> None:
        if self.progress is not None:
            earlier = self.chunks[0][0]  # replications of earlier rounds
            done = sum(s * len(c) for s, c in zip(self.shares, self.chunks, strict=True))
            self.progress(earlier + done, earlier + sum(map(len, self.chunks)))


class _StoppedError(Exception):
    """The run was stopped while this chunk was under way."""
