"""What an experiment is: cells that are computed one by one, and what is made of their results.

A module of this package describes one experiment and ends in one constant::

    EXPERIMENT = Experiment(
        name="collapse",
        title="The collapse of the state space",
        cells=cells,          # scale -> what to compute
        publish=publish,      # results -> tables, figures, the text of docs/paper/collapse.md
    )

Only cells compute: tables, figures and texts are made of their results in a moment, and always of
what was read back from files, so that a resumed run cannot differ from an unbroken one. How much
work each scale means is written as constants at the top of each experiment::

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

from moldable import Performance, Policy, Scenario, evaluate, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]
"""What a cell found: plain JSON, with text keys, None for what is unknown, and no times or speeds
of the computation, which differ from run to run."""

Row = Mapping[str, str | int | float | None]
"""A row of a CSV table; every row of a table has the same keys, which become its header."""

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
        progress: called with the fraction of the cell that is done.
    """

    seed: int
    threads: int | None = None
    progress: Callable[[float], None] | None = None
    arrivals: int = field(default=0, init=False)
    _streams: int = field(default=0, init=False)

    def next_seed(self) -> int:
        """Return a fresh seed; the first call, the second, ... each give always the same one."""
        self._streams += 1
        sequence = np.random.SeedSequence([self.seed, self._streams])
        return int(sequence.generate_state(1, np.uint64)[0])

    def simulate(
        self, scenario: Scenario, policy: Policy | None = None, **options: Any
    ) -> Performance:
        """Simulate as `moldable.simulate` does, with a fresh seed and whole or not at all."""
        return self._whole(simulate(scenario, policy, **options, **self._means()))

    def evaluate(self, scenario: Scenario, policy: Policy) -> Performance:
        """Answer as `moldable.evaluate` does; a simulation, should it need one, is as above."""
        return self._whole(evaluate(scenario, policy, **self._means()))

    def _means(self) -> dict[str, Any]:
        return {"seed": self.next_seed(), "threads": self.threads, "progress": self._tell}

    def runs(
        self, count: int, scenario: Scenario, policy: Policy | None, **options: Any
    ) -> list[Performance]:
        """Simulate single runs and return each: their spread is known whatever the estimator.

        `moldable.simulate` gives no interval where it could not be an honest 95 % one.
        """
        options |= {"replications": 1, "threads": 1}

        def run(seed: int) -> Performance:
            return simulate(scenario, policy, seed=seed, **options)

        answers = []
        with ThreadPoolExecutor(self.threads or os.cpu_count()) as pool:
            for answer in pool.map(run, [self.next_seed() for _ in range(count)]):
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
        name: of its files; must differ from those of other experiments.
        caption: what it shows, in words.
        draw: fills an empty figure of `size` inches with constrained layout; colours and markers
            that stay apart for every kind of colour vision are in `presentation.py`.
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
class Publication:
    """What is made of an experiment's results.

    Args:
        tables: CSV tables by file name without ending.
        page: the page of the report without its heading, in Markdown with headings from `##`.
        findings: what a reader in a hurry should know, one sentence each, with numbers.
        drawings: the figures, which the page links to.
        overview: a table that belongs into REPRODUCTION.md, if there is one.
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
        name: what the command line calls it.
        title: the heading of its page.
        cells: the work at a scale; keys must differ.
        publish: makes tables, figures and texts of the results.
    """

    name: str
    title: str
    cells: Callable[[Scale], list[Cell]]
    publish: Callable[[Results], Publication]
