"""How is the paper reproduced? Cell by cell, keeping each, then tables and figures of all."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np

from moldable.paper.experiment import Cell, Effort, Experiment, Results, Scale
from moldable.paper.run_folder import RunFolder

Progress = Callable[[float, int], None]


def reproduce(
    experiments: list[Experiment],
    scale: Scale,
    folder: RunFolder,
    *,
    seed: int,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> dict[str, Results]:
    """Compute what is missing in a folder, publish every experiment, and return the results.

    Args:
        experiments: in the order in which they are wanted.
        scale: how much work to put in.
        folder: where results are kept.
        seed: from which every cell derives its own; the same seed gives the same files.
        threads: of each simulation; all cores by default.
        executor: where simulations run instead of on threads.
        progress: called with (finished, planned) cells.
    """
    work = {e.name: e.cells(scale) for e in experiments}
    steps = _Steps(len({cell.key for cells in work.values() for cell in cells}), progress)
    found = {}
    for experiment in experiments:
        for cell in work[experiment.name]:
            effort = Effort(cell_seed(seed, cell.key), threads, executor, steps.within)
            _compute(cell, effort, folder)
            steps.finished(cell.key)
        found[experiment.name] = results_of(experiment, scale, folder)
        folder.publish(experiment, found[experiment.name])
    return found


def results_of(experiment: Experiment, scale: Scale, folder: RunFolder) -> Results:
    """Read an experiment's results from a folder that has all of its cells."""
    return Results(scale, {cell.key: folder.load(cell.key) for cell in experiment.cells(scale)})


def cell_seed(seed: int, key: str) -> int:
    """Return the seed of a cell, which depends on nothing but the run's seed and the key."""
    sequence = np.random.SeedSequence([seed, *key.encode()])
    return int(sequence.generate_state(1, np.uint64)[0])


def _compute(cell: Cell, effort: Effort, folder: RunFolder) -> None:
    if folder.has(cell.key):
        return
    began = time.perf_counter()
    result = cell.compute(effort)
    seconds = time.perf_counter() - began
    folder.keep(cell.key, result, seconds=seconds, arrivals=effort.arrivals)


class _Steps:
    """How far a run has come, in cells."""

    def __init__(self, planned: int, progress: Progress | None) -> None:
        self.planned, self.progress = planned, progress
        self.done: set[str] = set()

    def within(self, fraction: float) -> None:
        if self.progress is not None:
            self.progress(len(self.done) + fraction, self.planned)

    def finished(self, key: str) -> None:
        self.done.add(key)
        self.within(0.0)
