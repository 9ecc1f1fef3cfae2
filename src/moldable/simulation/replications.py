"""Who runs which replications?

Chunks of replications go to threads of this process or to any `concurrent.futures.Executor`; small
tallies come back. What a chunk gives depends on the plan and its replications alone, so neither the
number of workers nor the chunks change a digit. Chunks of a lost worker are run again here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Final, final

from moldable.errors import MoldableError
from moldable.simulation.chain_run import chain_model, run_chain
from moldable.simulation.plan import Plan, Tallies, joined
from moldable.simulation.ring_run import run_ring
from moldable.simulation.system import System

LANES: Final = 32
CHAIN_SLOTS: Final = 10
CHAIN_PHASE_SLOTS: Final = 4
LEAST_USE: Final = 0.1
"""Share of the uniform clock's ticks that must be arrivals for the chain to pay."""

Runner = Callable[[Plan, tuple[int, ...]], Tallies]
RUNNERS: Final[dict[str, Runner]] = {"count-chain": run_chain, "bucket-ring": run_ring}


@final
@dataclass(frozen=True)
class Finished:
    """What came back.

    Attributes:
        tallies: of the replications that finished; None if none did.
        interrupted: whether the run was stopped before all had.
        repeated: replications that were run again because their worker was lost.
    """

    tallies: Tallies | None
    interrupted: bool
    repeated: int


def choose_kernel(system: System, estimator: str) -> str:
    """Choose the lock-step chain where it applies and pays, the ring everywhere else."""
    if not system.poisson or estimator != "assigned":
        return "bucket-ring"
    model = chain_model(system)
    if model is None:
        return "bucket-ring"
    slots = model.rates.size
    most = CHAIN_SLOTS if model.phases == 1 else CHAIN_PHASE_SLOTS
    pays = model.arrival_rate >= LEAST_USE * model.total_rate
    return "count-chain" if slots <= most and pays else "bucket-ring"


def run_replications(
    plan: Plan,
    kernel: str,
    replications: range,
    *,
    threads: int | None,
    executor: Executor | None,
    progress: Callable[[int, int], None] | None,
) -> Finished:
    """Run all replications and report them as they finish."""
    chunks = list(_chunks(replications, kernel, threads or os.cpu_count() or 1))
    if executor is not None:
        return _collect(plan, kernel, chunks, executor, progress)
    if len(chunks) == 1 or threads == 1:
        return _here(plan, kernel, chunks, progress)
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return _collect(plan, kernel, chunks, pool, progress)


def _chunks(replications: range, kernel: str, workers: int) -> Iterator[tuple[int, ...]]:
    """Cut replications into chunks: whole sets of lanes, or a few for each worker."""
    size = LANES if kernel == "count-chain" else max(1, len(replications) // (8 * workers))
    for begin in range(0, len(replications), size):
        yield tuple(replications[begin : begin + size])


def _here(
    plan: Plan,
    kernel: str,
    chunks: list[tuple[int, ...]],
    progress: Callable[[int, int], None] | None,
) -> Finished:
    done: list[Tallies] = []
    try:
        for chunk in chunks:
            done.append(RUNNERS[kernel](plan, chunk))
            _report(progress, done, chunks)
    except KeyboardInterrupt:
        return Finished(joined(done) if done else None, interrupted=True, repeated=0)
    return Finished(joined(done), interrupted=False, repeated=0)


def _collect(
    plan: Plan,
    kernel: str,
    chunks: list[tuple[int, ...]],
    executor: Executor,
    progress: Callable[[int, int], None] | None,
) -> Finished:
    done: list[Tallies] = []
    repeated = 0
    waiting: dict[Future[Tallies], tuple[int, ...]] = {}
    lost: list[tuple[int, ...]] = []
    try:
        for chunk in chunks:
            waiting[executor.submit(RUNNERS[kernel], plan, chunk)] = chunk
        for future in as_completed(waiting):
            try:
                done.append(future.result())
            except MoldableError:
                raise
            except Exception:  # noqa: BLE001 - any failure of a worker: run its chunk here
                lost.append(waiting[future])
            _report(progress, done, chunks)
        for chunk in lost:
            done.append(RUNNERS[kernel](plan, chunk))
            repeated += len(chunk)
            _report(progress, done, chunks)
    except KeyboardInterrupt:
        for future in waiting:
            future.cancel()
        return Finished(joined(done) if done else None, interrupted=True, repeated=repeated)
    return Finished(joined(done), interrupted=False, repeated=repeated)


def _report(
    progress: Callable[[int, int], None] | None,
    done: list[Tallies],
    chunks: list[tuple[int, ...]],
) -> None:
    if progress is not None:
        progress(sum(len(part.replications) for part in done), sum(map(len, chunks)))
