"""Coarse equations for groups of states, which speed up the iterations for long queues.

A Gauss-Seidel sweep passes information on by a few states. Along a queue of hundreds of jobs,
BiCGSTAB then takes hundreds of steps. Equations summed over groups, such as all states with equally
many waiting jobs, are few and pass it on at once; adding their solution to that of a sweep leaves
only what varies within groups.
"""

from __future__ import annotations

from typing import Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.exact.error_bound import Matrix

SMALLEST = 1e-290
"""Weight given to states without weight, so that every group has some."""


@final
class Coarse:
    """The equations of groups of states.

    Args:
        matrix: the equations of the states, by rows: start, source, rate, out.
        group: of each state, from 0 on.
        restrict: weight of each equation in that of its group.
        prolong: weight of each state in its group.
        fixed: group whose equation is left out; its value does not change.
    """

    def __init__(
        self,
        matrix: Matrix,
        group: Ints,
        restrict: Floats,
        prolong: Floats,
        fixed: int | None = None,
    ) -> None:
        from scipy.sparse import dia_array
        from scipy.sparse.linalg import splu

        from moldable.kernels.aggregation import aggregate, group_steps

        self.group, self.restrict, self.prolong, self.fixed = group, restrict, prolong, fixed
        least, most = group_steps(matrix[0], matrix[1], group)
        band = np.zeros((int(group.max()) + 1, most - least + 1))
        aggregate(*matrix, group, restrict, prolong, least, band)
        if fixed is not None:
            band[fixed] = 0.0
            band[fixed, -least] = 1.0
        diagonals = np.arange(least, most + 1)
        shifted = np.zeros((diagonals.size, band.shape[0]))
        for place, step in enumerate(diagonals.tolist()):
            # dia_array stores the entry of a column, band that of a row.
            part = band[max(0, -step) : band.shape[0] - max(0, step), place]
            shifted[place, max(0, step) : max(0, step) + part.size] = part
        size = (band.shape[0], band.shape[0])
        self._factors = splu(dia_array((shifted, diagonals), shape=size).tocsc())
        self._sums = np.empty(band.shape[0])

    @classmethod
    def of_law(cls, matrix: Matrix, group: Ints, law: Floats) -> Self:
        """Return the equations for corrections of a rough distribution."""
        sums = np.bincount(group, np.maximum(law, SMALLEST))
        share = np.maximum(law, SMALLEST) / sums[group]
        return cls(matrix, group, np.ones(law.size), share, int(np.argmax(sums)))

    @classmethod
    def of_values(cls, matrix: Matrix, group: Ints, law: Floats) -> Self:
        """Return the equations for functions of the state, weighted by a distribution."""
        share = np.maximum(law, SMALLEST) / np.bincount(group, np.maximum(law, SMALLEST))[group]
        return cls(matrix, group, share, np.ones(law.size))

    def correct(self, right: Floats, solved: Floats) -> None:
        """Add the solution of the coarse equations with these right sides to `solved`."""
        from moldable.kernels.aggregation import prolonged, restricted

        restricted(self.group, self.restrict, right, self._sums)
        if self.fixed is not None:
            self._sums[self.fixed] = 0.0
        prolonged(self.group, self.prolong, self._factors.solve(self._sums), solved)
