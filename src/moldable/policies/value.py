"""The value policy: widths by idle servers, from one value function and one number.

A kind is a class at one of its widths. The relative value of a state with x_k running jobs of kind
k and z idle servers is taken to be

    h(x) = g(z) + sum_k a_k x_k.                                                             (1)

The Bellman equation of the chain, averaged over the states with z idle servers, then is that of a
chain on the idle servers alone, whose jumps are widths: a banded system for g, linear in the a_k.
These follow from the equation's projections on x_k at equal z,

    a_k = rent w_k t_k + E[g(Z + w_k) - g(Z)],                                               (2)

with w_k and t_k the width and mean time of kind k, and Z the idle servers weighted by the busy
ones. A job of kind k thus costs t_k + a_k + g(z - w_k) - g(z), and the cheapest kind that fits is
granted. Policy iteration repeats this until the table no longer changes. What is approximated is
(1), and that the mix of the running jobs does not depend on z.
"""

from __future__ import annotations

import importlib
from collections import deque
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import number
from moldable.errors import PolicyError
from moldable.model.scenario import Scenario
from moldable.policies.kinds import Kinds, extended
from moldable.policies.thresholds import Thresholds
from moldable.threads import interruptible

MOST_COSTLY: Final = 1e12
"""Blocking costs beyond which the time of accepted jobs would be lost in rounding."""
ROUNDS, TURNS = 60, 8
"""Rounds of policy iteration, and those among them that may return to an earlier table."""
FEW, SCALE = 2_000, 8
"""Servers beyond which the solution for so many times fewer is the first guess."""
SETTLED, SAME = 1e-8, 1e-4
"""Changes of the mix of running jobs: none at all, and too small to end a cycle of tables."""
STRAY: Final = 1e-6
"""Share of jobs that draw any width that fits, so that every idle count is met."""
NEVER_MET: Final = 1e-13
"""Probability of idle counts below which decisions there do not matter."""
CUT_AT: Final = 45.0
"""Logarithm of how much rarer than the most likely idle count those are that are cut off."""


@final
@dataclass(frozen=True, eq=False)
class ValueFunction:
    """The value of idle servers at one blocking cost, and the table that is best by it.

    Attributes:
        kinds: of the scenario.
        blocking_cost: of a blocked job, in mean sizes.
        table: the kind granted to each class (row) by idle servers, see `Kinds.policy`.
        shares: of the busy servers held by each kind.
        values: g, up to the idle count at which the chain is cut off.
        kind_values: the a_k.
        rent: of a server, per unit of time.
        law: stationary probabilities of the idle counts.
        cost: per unit of time.
        blocking: in this model, often 5 to 30 % below the true one.
        mean_execution_time: of accepted jobs, in this model.
        rounds: of policy iteration.
        settled: False if tables took turns; the cheapest of them is kept then.
    """

    kinds: Kinds
    blocking_cost: float
    table: Ints
    shares: Floats
    values: Floats
    kind_values: Floats
    rent: float
    law: Floats
    cost: float
    blocking: float
    mean_execution_time: float
    rounds: int
    settled: bool

    @property
    def policy(self) -> Thresholds:
        """The table as a policy."""
        return self.kinds.policy(self.table)


def value_policy(scenario: Scenario, blocking_cost: float) -> Thresholds:
    """Return the table of widths by idle servers for one blocking cost.

    It comes close to the least (1 - blocking) x mean execution time + cost x blocking of all
    policies, where classes have equal weights.

    Args:
        scenario: classes that share one pool. Arrivals are taken to be Poisson, and of the sizes
            only the means are used.
        blocking_cost: what a blocked job costs, in mean sizes.
    """
    return value_function(Kinds.of(scenario), blocking_cost).policy


def value_function(
    kinds: Kinds, blocking_cost: float, start: ValueFunction | None = None, *, cut: bool = True
) -> ValueFunction:
    """Return the table that is best by its own value function, and that function.

    Args:
        kinds: of the scenario.
        blocking_cost: of a blocked job, in mean sizes.
        start: the solution at another cost; a near one saves rounds.
        cut: whether idle counts that are never met are left out of the equations.
    """
    charge = _checked(blocking_cost) * kinds.mean_size
    interruptible(importlib.import_module, "scipy.linalg.lapack")  # takes its time once
    if start is None and kinds.servers > FEW:
        # Far from the solution, tables of many servers take turns; thresholds hardly grow with n.
        start = value_function(kinds.scaled(SCALE), blocking_cost)
    table = kinds.fastest() if start is None else start.table
    running = np.isin(np.arange(kinds.widths.size), table)
    shares = running / running.sum() if start is None else start.shares
    seen: dict[bytes, tuple[int, Floats]] = {}
    turns: list[ValueFunction] = []
    recent: deque[ValueFunction] = deque(maxlen=TURNS)
    last: _Step | None = None
    for rounds in range(ROUNDS):
        step = _Step(kinds, table, shares, charge, cut=cut)
        found = step.solution(blocking_cost, rounds)
        if found.settled:
            return found
        recent.append(found)
        before, then = seen.get(table.tobytes(), (rounds, shares))
        # Twice running, or with another mix, the same table is no sign of a cycle.
        if rounds - before > 1 and np.abs(shares - then).max() < SAME:
            turns.append(found)
        if len(turns) > TURNS:
            break
        seen[table.tobytes()] = rounds, shares
        table, shares, last = _trimmed(step.better), step.next_shares(last), step
    return min(turns or recent, key=lambda each: each.cost)


def _checked(blocking_cost: float) -> float:
    cost = number(blocking_cost, "blocking_cost", PolicyError)
    if not 0.0 <= cost < MOST_COSTLY:
        raise PolicyError(
            f"{cost:g} must be at least 0 and below {MOST_COSTLY:g}: what a blocked job costs, in "
            f"mean sizes, such as 8",
            "blocking_cost",
        )
    return cost


@final
class _Step:
    """One round of policy iteration.

    Attributes:
        law: of the idle servers under the present table, up to where the chain is cut off.
        shares: of the busy servers held by each kind under it.
        better: the improved table.
    """

    def __init__(
        self, kinds: Kinds, table: Ints, shares: Floats, charge: float, *, cut: bool
    ) -> None:
        self.kinds, self.old_shares = kinds, shares
        end, mode = _met(kinds, table, shares)
        end = end if cut else kinds.servers + 1
        self.table = extended(table, end)
        self.coming, self.going = _coming(kinds, self.table), _going(kinds, shares, end)
        chain = _Chain(kinds, self.coming, self.going, mode)
        self.law = chain.law()
        running = (self.coming @ self.law) * kinds.times
        self.running, held = running, running * kinds.widths
        self.shares: Floats = held / held.sum()
        self._solve(chain, charge)
        self.better = self._improved()

    def _solve(self, chain: _Chain, charge: float) -> None:
        """Find g, the a_k and the rent: g is linear in the a_k, which are then given by (2)."""
        own, law, coming = self.kinds, self.law, self.coming
        weighted = own.weights * own.times
        self.lost = np.maximum(own.rates.sum() - coming.sum(axis=0), 0.0)
        cost, drift = weighted @ coming + charge * self.lost, coming - self.going
        self.cost = float(cost @ law)
        parts = chain.values(np.vstack([cost, drift]))
        busy = law * (own.servers - np.arange(law.size))
        gained = _shifts(own, busy / busy.sum()) @ parts
        kinds = own.widths.size
        matrix, right = np.zeros((kinds + 1, kinds + 1)), np.zeros(kinds + 1)
        matrix[:-1, :-1] = np.eye(kinds) - gained[:, 1:]
        matrix[:-1, -1], right[:-1] = -own.widths * own.times, gained[:, 0]
        # (1) is the same with g + s z and a_k + s w_k for any s, which this equation chooses.
        matrix[-1, :-1] = self.running
        found: Floats = np.linalg.lstsq(matrix, right, rcond=None)[0].astype(np.float64)
        self.kind_values: Floats = found[:-1]
        self.rent = float(found[-1])
        self.values = parts[:, 0] + parts[:, 1:] @ self.kind_values
        self.kind_costs = weighted + self.kind_values

    def _improved(self) -> Ints:
        """Grant the cheapest kind that fits; beyond what is met, go on as there."""
        own, g, end = self.kinds, self.values, self.law.size
        last = int(np.flatnonzero(self.law > NEVER_MET)[-1])
        better = np.full_like(self.table, -1)
        for j in range(own.rates.size):
            members = own.members(j)
            costs = np.full((members.size, end), np.inf)
            for row, kind in zip(costs, members.tolist(), strict=True):
                width = int(own.widths[kind])
                row[width:] = self.kind_costs[kind] + g[: max(end - width, 0)] - g[width:]
            first = int(own.widths[members[0]])
            better[j, first:] = members[costs[:, first:].argmin(axis=0)]
            better[j, max(last, first) :] = better[j, max(last, first)]
        return better

    def next_shares(self, last: _Step | None) -> Floats:
        """Return the mix to go on with, extrapolated from two steps with one table (Anderson)."""
        if last is None or not np.array_equal(_trimmed(self.table), _trimmed(last.table)):
            return self.shares
        residual = self.shares - self.old_shares
        change = residual - (last.shares - last.old_shares)
        square = float(change @ change)
        ratio = float(residual @ change) / square if square > 0.0 else 0.0
        guess: Floats = self.shares - ratio * (self.shares - last.shares)
        return guess if guess.min() >= 0.0 else self.shares

    def solution(self, blocking_cost: float, rounds: int) -> ValueFunction:
        """Return the present table with its values."""
        own = self.kinds
        changed = (self.better != self.table)[:, self.law > NEVER_MET].any()
        moved = float(np.abs(self.shares - self.old_shares).max())
        blocking = float(self.lost @ self.law) / float(own.rates.sum())
        return ValueFunction(
            kinds=own,
            blocking_cost=blocking_cost,
            table=_trimmed(self.table if changed else self.better),
            shares=self.shares,
            values=self.values,
            kind_values=self.kind_values,
            rent=self.rent,
            law=self.law,
            cost=self.cost,
            blocking=blocking,
            mean_execution_time=float(self.running.sum() / own.rates.sum()) / (1.0 - blocking),
            rounds=rounds,
            settled=not changed and moved < SETTLED,
        )


def _trimmed(table: Ints) -> Ints:
    """Leave out columns at the end that repeat the one before."""
    changes = np.flatnonzero((np.diff(table) != 0).any(axis=0))
    return table[:, : int(changes[-1]) + 2 if changes.size else 1]


def _coming(kinds: Kinds, table: Ints) -> Floats:
    """Return arrival rates by kind (row) and idle servers; some jobs stray."""
    coming = np.zeros((kinds.widths.size, table.shape[1]))
    idle = np.arange(table.shape[1])
    for j, rate in enumerate(kinds.rates.tolist()):
        members = kinds.members(j)
        fits = idle >= kinds.widths[members, None]
        strays = STRAY * rate / np.maximum(fits.sum(axis=0), 1)
        chosen = table[j] == members[:, None]
        coming[members] = (1.0 - STRAY) * rate * chosen + strays * fits
    return coming


def _going(kinds: Kinds, shares: Floats, end: int) -> Floats:
    """Return rates of departures by kind (row) and idle servers; the mix is that of `shares`."""
    each = shares / (kinds.widths * kinds.times)
    going = np.outer(each, kinds.servers - np.arange(end))
    for row, width in zip(going, kinds.widths.tolist(), strict=True):
        row[max(end - width, 0) :] = 0.0  # the chain is cut off there
    return going


def _met(kinds: Kinds, table: Ints, shares: Floats) -> tuple[int, int]:
    """Return where to cut the chain off, and its most likely idle count, taken as a diffusion."""
    most, size = kinds.servers + 1, table.shape[1] + int(kinds.widths.max())
    departures = shares / kinds.times
    while True:
        size = min(2 * size, most)
        busy = kinds.servers - np.arange(size)
        widths = np.append(kinds.widths, 0).astype(np.float64)[extended(table, size)]
        drift = busy * departures.sum() - kinds.rates @ widths
        noise = busy * (departures @ kinds.widths) + kinds.rates @ widths**2
        log_law = np.cumsum(2.0 * drift / np.maximum(noise, np.finfo(float).tiny))
        met = np.flatnonzero(log_law > log_law.max() - CUT_AT)
        # Beyond the table the drift only falls, so that the law has no second mode there.
        if size == most or (met[-1] < size - 1 and drift[-1] < 0.0):
            end = min(int(met[-1]) + 1 + 2 * int(kinds.widths.max()), most)
            return end, int(np.argmax(log_law))


def _shifts(kinds: Kinds, weights: Floats) -> Floats:
    """Return rows that make E[f(Z + w_k) - f(Z)] of a function f of the weighted idle servers."""
    rows = np.zeros((kinds.widths.size, weights.size))
    for row, width in zip(rows, kinds.widths.tolist(), strict=True):
        size = max(weights.size - width, 0)
        row[width:] = weights[:size]
        row[:size] -= weights[:size]
    return rows


@final
class _Chain:
    """The generator of the idle servers, factored once for its law and its values.

    It is kept in LAPACK's band storage with its row `mode` replaced by that of the identity, which
    makes it regular.
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
        self.row = np.zeros(size)
        self.row[columns] = banded[middle + mode - columns, columns]
        banded[middle + mode - columns, columns] = 0.0
        banded[middle, mode] = 1.0
        self.factors, self.pivots, _ = dgbtrf(banded, band, band, overwrite_ab=True)

    def law(self) -> Floats:
        """Return the stationary law p: p A = 0, so p times the changed matrix is p_mode (e - a)."""
        right = -self.row
        right[self.mode] += 1.0
        law = np.maximum(self._solved(right, transposed=True), 0.0)
        return np.asarray(law / law.sum())

    def values(self, costs: Floats) -> Floats:
        """Return a column f for each row of costs: A f = mean cost - cost, f = 0 at the mode."""
        right = (costs @ self.law())[:, None] - costs
        right[:, self.mode] = 0.0
        return self._solved(right.T, transposed=False)

    def _solved(self, right: Floats, *, transposed: bool) -> Floats:
        from scipy.linalg.lapack import dgbtrs

        found, _ = dgbtrs(
            self.factors, self.band, self.band, right, self.pivots, trans=int(transposed)
        )
        return np.asarray(found)
