"""Results of experiments at the tiny scale, computed once for all tests."""

from __future__ import annotations

import json
from functools import cache

from moldable.paper.catalogue import experiments
from moldable.paper.drawing import render
from moldable.paper.experiment import Effort, Experiment, Results, Scale
from moldable.paper.reproduction import cell_seed


@cache
def _cell(experiment: Experiment, key: str) -> dict:
    (cell,) = (cell for cell in experiment.cells(Scale.TINY) if cell.key == key)
    return json.loads(json.dumps(cell.compute(Effort(cell_seed(1, key))), allow_nan=False))


def tiny(name: str) -> tuple[Experiment, Results]:
    """Return an experiment and its results, as they would be read back from files."""
    (experiment,) = experiments(name)
    keys = [cell.key for cell in experiment.cells(Scale.TINY)]
    return experiment, Results(Scale.TINY, {key: _cell(experiment, key) for key in keys})


def published(name: str) -> tuple[list[list[dict]], list[bytes], str, list[str]]:
    """Return all that an experiment makes of its results: tables, figures, page and findings."""
    experiment, results = tiny(name)
    tables = [[dict(row) for row in rows] for rows in experiment.tables(results).values()]
    figures = [
        content for drawing in experiment.drawings(results) for content in render(drawing).values()
    ]
    return tables, figures, experiment.report(results), experiment.findings(results)
