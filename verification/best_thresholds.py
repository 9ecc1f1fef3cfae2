"""What is the best that a table from idle servers to widths can do, whatever it is made from?

A price gives few of all tables. From one of them every threshold is moved by itself, the best move
is kept, and so on until none is better.
"""

from __future__ import annotations

from collections.abc import Iterator

from moldable import Thresholds
from moldable.control.targets import Target
from moldable.control.trials import Trials

MOVES = (-2, -1, 1, 2)
ROUND = 9
"""Of the trials, with millions of jobs: the differences between neighbours are small."""


def best_thresholds(trials: Trials, target: Target, start: Thresholds) -> Thresholds:
    """Return the best table that moves of single thresholds lead to."""
    best, least = start, _costs(trials, target, [start])[0]
    while True:
        tables = list(neighbours(best, trials.servers))
        cost, place = min(zip(_costs(trials, target, tables), range(len(tables)), strict=True))
        if cost >= least:
            return best
        best, least = tables[place], cost


def neighbours(table: Thresholds, servers: int) -> Iterator[Thresholds]:
    """Move every threshold but the narrowest width's, without passing another."""
    for name, rows in table.tables.items():
        starts, widths = list(rows), list(rows.values())
        for place in range(1, len(starts)):
            for move in MOVES:
                moved = starts[place] + move
                below = max(starts[place - 1] + 1, widths[place])
                above = (*starts, servers + 1)[place + 1]
                if below <= moved < above:
                    changed = [*starts[:place], moved, *starts[place + 1 :]]
                    new = dict(zip(changed, widths, strict=True))
                    yield Thresholds({**table.tables, name: new})


def _costs(trials: Trials, target: Target, tables: list[Thresholds]) -> list[float]:
    return [target.cost(*pair) for pair in trials.measure(tables, ROUND)]
