"""The chain of the idle servers under a table, in the model of the value function."""

from __future__ import annotations

from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.policies.kinds import Kinds, extended

STRAY: Final = 1e-6
"""Share of jobs that get any width that fits, so that every idle count is reached."""
CUT_AT: Final = 45.0
"""Idle counts exp(-45) times as likely as the most likely one are cut off."""


def arrival_rates(kinds: Kinds, table: Ints) -> Floats:
    """Return arrival rates by kind (row) and idle servers; a few jobs stray from the table."""
    coming = np.zeros((kinds.widths.size, table.shape[1]))
    idle = np.arange(table.shape[1])
    for j, rate in enumerate(kinds.rates.tolist()):
        members = kinds.members(j)
        fits = idle >= kinds.widths[members, None]
        strays = STRAY * rate / np.maximum(fits.sum(axis=0), 1)
        chosen = table[j] == members[:, None]
        coming[members] = (1.0 - STRAY) * rate * chosen + strays * fits
    return coming


def departure_rates(kinds: Kinds, shares: Floats, end: int) -> Floats:
    """Return departure rates by kind (row) and idle servers, where the mix is `shares`."""
    each = shares / (kinds.widths * kinds.times)
    going = np.outer(each, kinds.servers - np.arange(end))
    for row, width in zip(going, kinds.widths.tolist(), strict=True):
        row[max(end - width, 0) :] = 0.0  # the chain is cut off there
    return going


def cut_off(kinds: Kinds, table: Ints, shares: Floats) -> tuple[int, int]:
    """Return the cut-off and the most likely idle count, by a diffusion approximation."""
    most, size = kinds.servers + 1, table.shape[1] + int(kinds.widths.max())
    leaving = shares / kinds.times
    while True:
        size = min(2 * size, most)
        busy = kinds.servers - np.arange(size)
        widths = np.append(kinds.widths, 0).astype(np.float64)[extended(table, size)]
        drift = busy * leaving.sum() - kinds.rates @ widths
        noise = busy * (leaving @ kinds.widths) + kinds.rates @ widths**2
        log_law = np.cumsum(2.0 * drift / np.maximum(noise, np.finfo(float).tiny))
        met = np.flatnonzero(log_law > log_law.max() - CUT_AT)
        # Beyond the table the drift only falls, so there is no second mode.
        if size == most or (met[-1] < size - 1 and drift[-1] < 0.0):
            end = min(int(met[-1]) + 1 + 2 * int(kinds.widths.max()), most)
            return end, int(np.argmax(log_law))


def shifts(kinds: Kinds, weights: Floats) -> Floats:
    """Return rows whose products with f are E[f(Z + w_k) - f(Z)], Z having these weights."""
    rows = np.zeros((kinds.widths.size, weights.size))
    for row, width in zip(rows, kinds.widths.tolist(), strict=True):
        size = max(weights.size - width, 0)
        row[width:] = weights[:size]
        row[:size] -= weights[:size]
    return rows


@final
class IdleChain:
    """The generator A of the idle servers, factored once for its distribution and its values.

    It is stored in LAPACK's band format, with row `mode` replaced by that of the identity, which
    makes it regular.

    Attributes:
        law: the stationary distribution.
    """

    def __init__(self, kinds: Kinds, coming: Floats, going: Floats, mode: int) -> None:
        from scipy.linalg.lapack import dgbtrf

        size, self.mode = coming.shape[1], mode
        self.band = band = min(int(kinds.widths.max()), size - 1)
        # Rows 0 to band - 1 are filled by the factorisation.
        banded = np.zeros((3 * band + 1, size))
        middle = 2 * band
        for down, up, width in zip(coming, going, kinds.widths.tolist(), strict=True):
            if width <= band:
                banded[middle + width, : size - width] += down[width:]
                banded[middle - width, width:] += up[: size - width]
            banded[middle] -= down + up
        columns = np.arange(max(mode - band, 0), min(mode + band + 1, size))
        right = np.zeros(size)
        right[columns] = -banded[middle + mode - columns, columns]
        banded[middle + mode - columns, columns] = 0.0
        banded[middle, mode] = 1.0
        self.factors, self.pivots, _ = dgbtrf(banded, band, band, overwrite_ab=True)
        # p A = 0, so p times the changed matrix is p_mode (e - a), with a the replaced row.
        right[mode] += 1.0
        law = np.maximum(self._solved(right, transposed=True), 0.0)
        self.law: Floats = law / law.sum()

    def values(self, costs: Floats) -> Floats:
        """Return a column f for each row of costs: A f = mean cost - cost, f = 0 at the mode."""
        right = (costs @ self.law)[:, None] - costs
        right[:, self.mode] = 0.0
        return self._solved(right.T, transposed=False)

    def _solved(self, right: Floats, *, transposed: bool) -> Floats:
        from scipy.linalg.lapack import dgbtrs

        found, _ = dgbtrs(
            self.factors, self.band, self.band, right, self.pivots, trans=int(transposed)
        )
        return np.asarray(found)
