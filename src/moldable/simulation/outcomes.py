"""How is one of several outcomes drawn with a single look into a table?

Walker's alias method with one column less than outcomes: every column holds two outcomes and the
share of the first. A row with two outcomes then needs one column, which is what the paper's policy
has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats, Ints


@final
@dataclass(frozen=True, eq=False)
class AliasTable:
    """For each row, equally likely columns of two outcomes.

    Attributes:
        threshold: the share of the first outcome, by row and column.
        first: the outcome below the threshold.
        second: the outcome above it.
    """

    threshold: Floats
    first: Ints
    second: Ints

    @property
    def columns(self) -> int:
        """How many columns a row has."""
        return int(self.threshold.shape[1])

    @property
    def draws(self) -> bool:
        """Does any row need a random number?"""
        same = (self.first == self.second) | (self.threshold >= 1.0) | (self.threshold <= 0.0)
        return self.columns > 1 or not bool(np.all(same))


def columns_needed(probabilities: Floats) -> int:
    """Return how many columns a table for these rows needs."""
    return max(1, int(np.count_nonzero(probabilities > 0.0, axis=1).max()) - 1)


def alias_table(probabilities: Floats, columns: int) -> AliasTable:
    """Build the table; each row of `probabilities` sums to 1."""
    shape = (probabilities.shape[0], columns)
    table = AliasTable(np.ones(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    for row, weights in enumerate(probabilities):
        _fill(table, row, weights, columns)
    return table


def _fill(table: AliasTable, row: int, weights: Floats, columns: int) -> None:
    left = {int(k): float(weights[k]) * columns for k in np.flatnonzero(weights > 0.0)}
    for column in range(columns):
        small = min(left, key=lambda k: left[k])
        if left[small] >= 1.0 or len(left) == 1:
            # One outcome fills the whole column.
            small = max(left, key=lambda k: left[k])
            table.first[row, column] = table.second[row, column] = small
            left[small] -= 1.0
            continue
        share = left.pop(small)
        large = max(left, key=lambda k: left[k])
        table.threshold[row, column] = share
        table.first[row, column], table.second[row, column] = small, large
        left[large] -= 1.0 - share
