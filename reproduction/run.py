"""Run experiments: compute and keep each cell, then write tables and figures."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from moldable import MoldableError
from reproduction import collapse, errata, fluid, heterogeneous, insensitivity, rates, sweep, table
from reproduction.experiment import Effort, Experiment, Publication, Results, Scale
from reproduction.run_folder import RunFolder

EXPERIMENTS: Final = {
    each.name: each
    for each in (
        table.EXPERIMENT,
        sweep.BLOCKING,
        sweep.TIME,
        collapse.EXPERIMENT,
        fluid.EXPERIMENT,
        rates.EXPERIMENT,
        heterogeneous.EXPERIMENT,
        insensitivity.EXPERIMENT,
        errata.EXPERIMENT,
    )
}
"""The experiments, in the order of the report."""
ALL: Final = "all"


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names, or all if there are none."""
    for name in names:
        if name not in (*EXPERIMENTS, ALL):
            raise MoldableError(
                f"experiment {name!r} is unknown; {suggest(name, [*EXPERIMENTS, ALL])}"
            )
    if not names or ALL in names:
        return list(EXPERIMENTS.values())
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)]


def suggest(word: str, known: Iterable[str]) -> str:
    """List the known words, with the closest one as a suggestion."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"{f'did you mean {close[0]!r}? ' if close else ''}known: {', '.join(names)}"


def reproduce(
    experiments: Sequence[Experiment],
    scale: Scale,
    folder: RunFolder,
    *,
    seed: int,
    threads: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> dict[str, Publication]:
    """Compute the missing cells of a folder, and publish every experiment there.

    Args:
        experiments: in the order of computation.
        scale: amount of work.
        folder: where results are kept.
        seed: from which the seeds of the cells are derived; it determines the files.
        threads: number of threads of each simulation; all cores by default.
        progress: called with (finished, planned) cells.
    """
    work = {e.name: e.cells(scale) for e in experiments}
    planned = len({cell.key for cells in work.values() for cell in cells})
    done: set[str] = set()

    def tell(fraction: float) -> None:
        if progress is not None:
            progress(len(done) + fraction, planned)

    published = {}
    for experiment in experiments:
        for cell in work[experiment.name]:
            if not folder.has(cell.key):
                effort = Effort(cell_seed(seed, cell.key), threads, tell)
                began = time.perf_counter()
                result = cell.compute(effort)
                seconds = time.perf_counter() - began
                folder.keep(cell.key, result, seconds=seconds, arrivals=effort.arrivals)
            done.add(cell.key)
            tell(0.0)
        results = results_of(experiment, scale, folder)
        published[experiment.name] = experiment.publish(results)
        folder.publish(experiment, results, published[experiment.name])
    return published


def results_of(experiment: Experiment, scale: Scale, folder: RunFolder) -> Results:
    """Read the results of an experiment from a folder with all of its cells."""
    return Results(scale, {cell.key: folder.load(cell.key) for cell in experiment.cells(scale)})


def cell_seed(seed: int, key: str) -> int:
    """Return the seed of a cell, which depends only on the seed of the run and the key."""
    sequence = np.random.SeedSequence([seed, *key.encode()])
    return int(sequence.generate_state(1, np.uint64)[0])
