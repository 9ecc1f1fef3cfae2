"""Results of the reproduction's experiments at the tiny scale, computed once for all tests."""

from __future__ import annotations

import json
from functools import cache

from reproduction.experiment import Effort, Experiment, Publication, Results, Scale
from reproduction.presentation import render
from reproduction.run import EXPERIMENTS, cell_seed


@cache
def _cell(experiment: Experiment, key: str) -> dict:
    (cell,) = (cell for cell in experiment.cells(Scale.TINY) if cell.key == key)
    return json.loads(json.dumps(cell.compute(Effort(cell_seed(1, key))), allow_nan=False))


def tiny(name: str) -> tuple[Experiment, Results]:
    """Return an experiment and its results, as they are read from files."""
    experiment = EXPERIMENTS[name]
    keys = [cell.key for cell in experiment.cells(Scale.TINY)]
    return experiment, Results(Scale.TINY, {key: _cell(experiment, key) for key in keys})


@cache
def published(name: str) -> tuple[Publication, list[bytes]]:
    """Return the publication of an experiment and the files of its figures."""
    experiment, results = tiny(name)
    made = experiment.publish(results)
    figures = [content for drawing in made.drawings for content in render(drawing).values()]
    return made, figures
