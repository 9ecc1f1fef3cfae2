"""Experiments: cells that are computed one by one, and a function that publishes their results.

A module of this package describes one experiment and ends in one constant::

    EXPERIMENT = Experiment(
        name="collapse",
        title="The collapse of the state space",
        cells=cells,          # scale -> what to compute
        publish=publish,      # results -> tables, figures, the text of docs/paper/collapse.md
    )

Only cells compute. Tables, figures and texts are made quickly from their results, always as read
from files, so that a resumed run cannot differ from an uninterrupted one. The amount of work at
each scale is given by constants at the top of each experiment::

    RUNS: Final = {Scale.TINY: 2, Scale.QUICK: 8, Scale.FULL: 100}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from moldable import Policy, Scenario, evaluate, simulate
from moldable.results import Performance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]
"""The result of a cell: plain JSON with text keys, None for unknown values, and no times or speeds
of the computation, which differ from run to run."""

Row = Mapping[str, str | int | float | None]
"""A row of a CSV table; every row of a table has the same keys, which become its header."""

COLUMN: Final = (6.8, 4.2)
"""Default size of a figure in inches: the width of a page."""


class Scale(StrEnum):
    """The amount of work."""

    TINY = "tiny"  # seconds; for the tests, the numbers have no meaning
    QUICK = "quick"  # all experiments in a few minutes on two cores
    FULL = "full"  # the scale of the paper


@final
@dataclass
class Effort:
    """Seeds, threads and progress of the computation of a cell.

    Args:
        seed: of this cell; it does not depend on which cells are computed, or in which order.
        threads: number of threads of a simulation; all cores if None.
        progress: called with the fraction of the cell that is done.
    """

    seed: int
    threads: int | None = None
    progress: Callable[[float], None] | None = None
    arrivals: int = field(default=0, init=False)
    _streams: int = field(default=0, init=False)

    def next_seed(self) -> int:
        """Return a new seed; the k-th call always returns the same one."""
        self._streams += 1
        sequence = np.random.SeedSequence([self.seed, self._streams])
        return int(sequence.generate_state(1, np.uint64)[0])

    def simulate(
        self, scenario: Scenario, policy: Policy | None = None, **options: Any
    ) -> Performance:
        """Call `moldable.simulate` with a new seed; an interrupted simulation is an error."""
        return self._whole(simulate(scenario, policy, **options, **self._means()))

    def evaluate(self, scenario: Scenario, policy: Policy) -> Performance:
        """Call `moldable.evaluate`; if it simulates, this is done as in `simulate`."""
        return self._whole(evaluate(scenario, policy, **self._means()))

    def _means(self) -> dict[str, Any]:
        return {"seed": self.next_seed(), "threads": self.threads, "progress": self._report}

    def runs(
        self, count: int, scenario: Scenario, policy: Policy | None, **options: Any
    ) -> list[Performance]:
        """Simulate single runs and return each, so that their spread is known for every estimator.

        `moldable.simulate` gives no interval if its coverage could be wrong.
        """
        options |= {"replications": 1, "threads": 1}

        def run(seed: int) -> Performance:
            return simulate(scenario, policy, seed=seed, **options)

        answers = []
        with ThreadPoolExecutor(self.threads or os.cpu_count()) as pool:
            for answer in pool.map(run, [self.next_seed() for _ in range(count)]):
                answers.append(self._whole(answer))
                self._report(len(answers), count)
        return answers

    def _whole(self, answer: Performance) -> Performance:
        # An interrupted simulation returns partial results, which must not be kept here.
        if answer.interrupted:
            raise KeyboardInterrupt
        self.arrivals += answer.to_dict()["arrivals"] or 0
        return answer

    def _report(self, done: float, planned: int) -> None:
        if self.progress is not None:
            self.progress(min(done / planned, 1.0))


@final
@dataclass(frozen=True)
class Cell:
    """One computation whose result is kept.

    Args:
        key: `family/name` of letters, digits, `.`, `_`, `=` and `-`, used as a file name.
            Experiments that list the same key share the cell: it is computed once.
        compute: returns the result; random numbers come only from the effort's seeds.
    """

    key: str
    compute: Callable[[Effort], Result]


@final
@dataclass(frozen=True)
class Results:
    """The results of an experiment's cells.

    Attributes:
        scale: the scale they were computed at.
        cells: by key, in the order in which the experiment listed them.
    """

    scale: Scale
    cells: Mapping[str, Result]

    def __getitem__(self, key: str) -> Result:
        return self.cells[key]


@final
@dataclass(frozen=True)
class Drawing:
    """A figure and the function that draws it.

    Args:
        name: of its files; must differ from those of other experiments.
        caption: of the figure.
        draw: draws into an empty figure of `size` inches with constrained layout; `presentation.py`
            has colours and markers that can be distinguished with every kind of colour vision.
        size: width and height in inches.
    """

    name: str
    caption: str
    draw: Callable[[Figure], None]
    size: tuple[float, float] = COLUMN

    @property
    def link(self) -> str:
        """Markdown that includes the figure in a page of the report."""
        return f"![{self.caption}](figures/{self.name}.png)\n\n*{self.caption}*"


@final
@dataclass(frozen=True)
class Publication:
    """The published results of an experiment.

    Args:
        tables: CSV tables by file name without ending.
        page: the page of the report without its heading, in Markdown with headings from `##`.
        findings: the main results, one sentence each, with numbers.
        drawings: the figures, which the page links to.
        overview: a table for REPRODUCTION.md, if there is one.
    """

    tables: Mapping[str, Sequence[Row]]
    page: str
    findings: list[str]
    drawings: Sequence[Drawing] = ()
    overview: str | None = None


@final
@dataclass(frozen=True)
class Experiment:
    """One part of the reproduction.

    Args:
        name: on the command line.
        title: the heading of its page.
        cells: returns the cells at a scale; keys must differ.
        publish: makes tables, figures and texts from the results.
    """

    name: str
    title: str
    cells: Callable[[Scale], list[Cell]]
    publish: Callable[[Results], Publication]
