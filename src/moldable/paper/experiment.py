"""What is an experiment? Cells that are computed one by one, and what is made of their results.

A module of this package describes one experiment and ends in one constant::

    EXPERIMENT = Experiment(
        name="blocking",
        title="Blocking probability against the number of servers",
        cells=cells,          # scale -> what to compute
        tables=tables,        # results -> CSV tables
        drawings=drawings,    # results -> figures
        report=report,        # results -> the text of docs/paper/blocking.md
        findings=findings,    # results -> sentences for REPRODUCTION.md
    )

Only cells compute: tables, drawings and texts are made of their results in a moment, and always of
what was read back from files, so that a resumed run cannot differ from an unbroken one. How much
work each scale means is each experiment's own business, written as a constant at its top::

    RUNS: Final = {Scale.TINY: 2, Scale.QUICK: 8, Scale.FULL: 100}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from moldable.model.scenario import Scenario
from moldable.model.workload import Workload
from moldable.policies.policy_table import Policy
from moldable.simulation.simulate import simulate
from moldable.system.performance import Performance
from moldable.threads import on_threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]
"""What a cell found: plain JSON, with text keys, None for what is unknown, and no times or speeds
of the computation, which differ from run to run."""

Row = Mapping[str, str | int | float | None]
"""A row of a CSV table; every row of a table has the same keys, which become its header."""

MOST_AT_ONCE: Final = 64
"""Single runs handed to an executor at a time."""

COLUMN: Final = (6.8, 4.2)
"""The size of a usual figure in inches: the width of a page."""


class Scale(StrEnum):
    """How much work to put in."""

    TINY = "tiny"  # seconds: for the tests, numbers without meaning
    QUICK = "quick"  # everything in two minutes on two cores
    FULL = "full"  # the paper's own scale


@final
@dataclass
class Effort:
    """What a cell may draw on while it computes.

    Args:
        seed: this cell's own seed; the same whichever cells are computed, in whatever order.
        threads: how many a simulation may use; all cores if None.
        executor: where simulations run instead of on threads.
        progress: called with the fraction of the cell that is done.
    """

    seed: int
    threads: int | None = None
    executor: Executor | None = None
    progress: Callable[[float], None] | None = None
    arrivals: int = field(default=0, init=False)
    _streams: int = field(default=0, init=False)

    def next_seed(self) -> int:
        """Return a fresh seed; the first call, the second, ... each give always the same one."""
        self._streams += 1
        return int(
            np.random.SeedSequence([self.seed, self._streams]).generate_state(1, np.uint64)[0]
        )

    def simulate(
        self, workload: Workload, servers: int, policy: Policy | None = None, **options: Any
    ) -> Performance:
        """Simulate as `moldable.simulate` does, with a fresh seed and whole or not at all."""
        answer = simulate(
            Scenario(workload, servers),
            policy,
            seed=self.next_seed(),
            threads=self.threads,
            executor=self.executor,
            progress=self._tell,
            **options,
        )
        return self._whole(answer)

    def runs(
        self, count: int, workload: Workload, servers: int, policy: Policy | None, **options: Any
    ) -> list[Performance]:
        """Simulate single runs and return each: their spread is known whatever the estimator.

        `moldable.simulate` gives no interval where it could not be an honest 95 % one.
        """

        def run(seed: int) -> Performance:
            return simulate(
                Scenario(workload, servers),
                policy,
                replications=1,
                seed=seed,
                threads=1,
                executor=self.executor,
                **options,
            )

        at_once = MOST_AT_ONCE if self.executor else self.threads or os.cpu_count() or 1
        answers = []
        for answer in on_threads(run, [self.next_seed() for _ in range(count)], at_once):
            answers.append(self._whole(answer))
            self._tell(len(answers), count)
        return answers

    def _whole(self, answer: Performance) -> Performance:
        # A simulation that is stopped hands over what it has; here that must not be kept.
        if answer.interrupted:
            raise KeyboardInterrupt
        self.arrivals += answer.to_dict()["arrivals"] or 0
        return answer

    def _tell(self, done: float, planned: int) -> None:
        if self.progress is not None:
            self.progress(min(done / planned, 1.0))


@final
@dataclass(frozen=True)
class Cell:
    """One piece of work whose result is kept.

    Args:
        key: `family/name` of letters, digits, `.`, `_`, `=` and `-`, which becomes a file's name.
            Experiments that list the same key share the cell: it is computed once.
        compute: returns the result; it may draw random numbers only through the effort.
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
    """A figure that is still to be drawn.

    Args:
        name: of its files; the report shows it as `![caption](figures/name.png)`.
        caption: what it shows, in words.
        draw: fills an empty figure of `size` inches with constrained layout; colours and markers
            that stay apart for every kind of colour vision are in `drawing.py`.
        size: width and height in inches.
    """

    name: str
    caption: str
    draw: Callable[[Figure], None]
    size: tuple[float, float] = COLUMN

    @property
    def link(self) -> str:
        """Markdown that shows the figure on a page of the report."""
        return f"![{self.caption}](figures/{self.name}.png)\n\n*{self.caption}*"


@final
@dataclass(frozen=True)
class Experiment:
    """One part of the reproduction.

    Args:
        name: what the command line calls it.
        title: the heading of its page.
        cells: the work at a scale; keys must differ.
        tables: CSV tables by file name without ending.
        drawings: its figures; names must differ from those of other experiments.
        report: its page without the heading, in Markdown with headings from `##`.
        findings: what a reader in a hurry should know, one sentence each, with numbers.
        overview: a table that belongs into REPRODUCTION.md, if there is one.
    """

    name: str
    title: str
    cells: Callable[[Scale], list[Cell]]
    tables: Callable[[Results], Mapping[str, list[Row]]]
    drawings: Callable[[Results], list[Drawing]]
    report: Callable[[Results], str]
    findings: Callable[[Results], list[str]]
    overview: Callable[[Results], str] | None = None
