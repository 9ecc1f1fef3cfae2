"""Who runs which replications?

Chunks of replications go to threads of this process or to any `concurrent.futures.Executor`; small
tallies come back. What a chunk gives depends on the plan and its replications alone, so neither the
number of workers nor the chunks change a digit. Chunks of a lost worker are run again here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, final

from moldable.errors import MoldableError
from moldable.simulation.chain_run import LANE_SETS, run_chain
from moldable.simulation.plan import Plan, Tallies, joined
from moldable.simulation.ring_run import run_ring
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System
from moldable.threads import on_threads

CHAIN_SLOTS: Final = 10
CHAIN_PHASE_SLOTS: Final = 4
SOME: Final = 4
"""Workers that an executor, which cannot be asked, is taken to have."""
LEAST_USE: Final = 0.1
"""Share of the uniform clock's ticks that must be arrivals for the chain to pay."""

Runner = Callable[..., Tallies]
RUNNERS: Final[dict[str, Runner]] = {"count-chain": run_chain, "bucket-ring": run_ring}


@final
@dataclass(frozen=True)
class Finished:
    """What came back.

    Attributes:
        tallies: of the replications that finished; None if none did.
        interrupted: whether the run was stopped before all had.
        reason: why, if it was not the user.
        repeated: replications that were run again because their worker was lost.
    """

    tallies: Tallies | None
    interrupted: bool
    reason: str
    repeated: int


def choose_kernel(system: System, estimator: str, replications: int) -> str:
    """Choose the lock-step chain where it applies and pays, the ring everywhere else.

    With fewer replications than lanes most would run for nothing, and the ring is faster.
    """
    if not system.poisson or estimator != "assigned" or replications < LANE_SETS[0]:
        return "bucket-ring"
    model = chain_model(system)
    if model is None:
        return "bucket-ring"
    most = CHAIN_SLOTS if model.phases == 1 else CHAIN_PHASE_SLOTS
    return "count-chain" if fits_chain(model, most) else "bucket-ring"


def fits_chain(model: ChainModel, most_slots: int) -> bool:
    """Return whether the lock-step chain can run the model, and faster than the ring."""
    from moldable.kernels.count_chain import CODES

    pays = model.arrival_rate >= LEAST_USE * model.total_rate
    return pays and model.rates.size <= most_slots and model.outcomes.shape[1] <= CODES


def run_replications(
    plan: Plan,
    kernel: str,
    replications: range,
    *,
    workers: int,
    executor: Executor | None,
    progress: Callable[[float, int], None] | None,
) -> Finished:
    """Run all replications and report them as they finish."""
    work = _Work(plan, kernel, cut(replications, kernel, workers), progress)
    return work.here(workers) if executor is None else work.elsewhere(executor)


def count_workers(threads: int | None, executor: Executor | None) -> int:
    """Return how many chunks can run at once."""
    return SOME if executor is not None else int(threads or os.cpu_count() or 1)


def cut(replications: range, kernel: str, workers: int) -> list[tuple[int, ...]]:
    """Cut replications into chunks: the largest sets of lanes that leave no worker without one.

    The ring has no lanes, so there chunks are small enough for all workers to end together.
    """
    count = len(replications)
    if kernel == "count-chain":
        enough = (lanes for lanes in reversed(LANE_SETS) if count > lanes * (workers - 1))
        size = next(enough, LANE_SETS[0])
    else:
        size = max(1, count // (32 * workers))
    return [tuple(replications[begin : begin + size]) for begin in range(0, count, size)]


@final
class _Work:
    """Chunks to run, and what has come of them."""

    def __init__(
        self,
        plan: Plan,
        kernel: str,
        chunks: list[tuple[int, ...]],
        progress: Callable[[float, int], None] | None,
    ) -> None:
        self.plan, self.runner, self.chunks, self.progress = plan, RUNNERS[kernel], chunks, progress
        self.results: list[Tallies | None] = [None] * len(chunks)
        self.shares = [0.0] * len(chunks)
        self.stop = threading.Event()

    def here(self, workers: int) -> Finished:
        """Run on threads of this process; an interruption is heeded within a slice."""
        try:
            list(on_threads(self._run_into, range(len(self.chunks)), workers, self._tell))
        except KeyboardInterrupt:
            return self._finished("")
        finally:
            self.stop.set()
        return self._finished()

    def elsewhere(self, executor: Executor) -> Finished:
        """Run on any executor; what is lost there is run here."""
        lost: list[int] = []
        waiting: dict[Future[Tallies], int] = {}
        ended: SimpleQueue[Future[Tallies]] = SimpleQueue()
        try:
            for number, chunk in enumerate(self.chunks):
                try:
                    waiting[executor.submit(self.runner, self.plan, chunk)] = number
                except Exception:  # noqa: BLE001 - a broken executor takes no more work
                    lost.append(number)
            for future in waiting:
                future.add_done_callback(ended.put)
            for _ in waiting:
                future = ended.get()
                self._take(future, waiting[future], lost)
            for number in lost:
                self._keep(number, self._run(number))
                self._tell()
        except KeyboardInterrupt:
            for future, number in waiting.items():
                if not future.cancel() and _succeeded(future):
                    self._keep(number, future.result())
            return self._finished("")
        except (MemoryError, OSError) as error:
            return self._finished(str(error) or type(error).__name__)
        return self._finished(repeated=sum(len(self.chunks[number]) for number in lost))

    def _take(self, future: Future[Tallies], number: int, lost: list[int]) -> None:
        try:
            self._keep(number, future.result())
        except MoldableError:
            raise
        except Exception:  # noqa: BLE001 - any failure of a worker: run its chunk here
            lost.append(number)
            return
        self._tell()

    def _keep(self, number: int, tallies: Tallies) -> None:
        self.results[number], self.shares[number] = tallies, 1.0

    def _run_into(self, number: int) -> None:
        """Keep what a chunk gives before its end is told, so that no interrupt can lose it."""
        self._keep(number, self._run(number))

    def _run(self, number: int) -> Tallies:
        return self.runner(self.plan, self.chunks[number], lambda share: self._heed(number, share))

    def _heed(self, number: int, share: float) -> None:
        if self.stop.is_set():
            raise _StoppedError
        self.shares[number] = share

    def _tell(self) -> None:
        if self.progress is not None:
            earlier = self.chunks[0][0]  # replications of earlier rounds
            done = sum(s * len(c) for s, c in zip(self.shares, self.chunks, strict=True))
            self.progress(earlier + done, earlier + sum(map(len, self.chunks)))

    def _finished(self, reason: str | None = None, repeated: int = 0) -> Finished:
        done = [tallies for tallies in self.results if tallies is not None]
        missing = len(done) < len(self.results)
        interrupted = reason is not None and missing
        return Finished(joined(done) if done else None, interrupted, reason or "", repeated)


def _succeeded(future: Future[Tallies]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class _StoppedError(Exception):
    """The run was given up while this chunk was under way."""
