"""Walker's alias method: draw one of several outcomes with a single table lookup.

Each column of a row holds two outcomes and the probability of the first. One column fewer than
there are outcomes is enough, so the paper's policy, with two outcomes, needs one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moldable.arrays import Floats, Ints


class AliasTable(NamedTuple):
    """Equally likely columns for each row.

    Attributes:
        threshold: the probability of the first outcome, by row and column.
        first: the outcome below the threshold.
        second: the outcome above it.
    """

    threshold: Floats
    first: Ints
    second: Ints

    @property
    def columns(self) -> int:
        """The number of columns in each row."""
        return int(self.threshold.shape[1])

    @property
    def draws(self) -> bool:
        """Whether any row needs a random number."""
        same = (self.first == self.second) | (self.threshold >= 1.0) | (self.threshold <= 0.0)
        return self.columns > 1 or not bool(np.all(same))


def columns_needed(probabilities: Floats) -> int:
    """Return the number of columns that a table for these rows needs."""
    return max(1, int(np.count_nonzero(probabilities > 0.0, axis=1).max()) - 1)


def alias_table(probabilities: Floats, columns: int) -> AliasTable:
    """Build the table; each row of `probabilities` sums to 1."""
    shape = (probabilities.shape[0], columns)
    table = AliasTable(np.ones(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    certain = np.count_nonzero(probabilities > 0.0, axis=1) == 1
    only = probabilities[certain].argmax(axis=1)[:, None]
    table.first[certain], table.second[certain] = only, only
    for row in np.flatnonzero(~certain).tolist():
        weights = probabilities[row]
        left = {int(k): float(weights[k]) * columns for k in np.flatnonzero(weights > 0.0)}
        for column in range(columns):
            small = min(left, key=left.__getitem__)
            if left[small] >= 1.0 or len(left) == 1:  # one outcome fills the whole column
                large = max(left, key=left.__getitem__)
                table.first[row, column] = table.second[row, column] = large
                left[large] -= 1.0
                continue
            share = left.pop(small)
            large = max(left, key=left.__getitem__)
            table.threshold[row, column] = share
            table.first[row, column], table.second[row, column] = small, large
            left[large] -= 1.0 - share
    return table
