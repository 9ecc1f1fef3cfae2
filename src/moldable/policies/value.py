"""The value policy: widths by idle servers, from a value function and one blocking cost.

A kind is a class at one of its widths. The relative value of a state with x_k running jobs of kind
k and z idle servers is approximated by

    h(x) = g(z) + sum_k a_k x_k.                                                             (1)

The Bellman equation, averaged over the states with z idle servers, is that of a chain on the idle
servers alone whose jumps are widths: a banded system for g, linear in the a_k. These follow from
the projections of the equation on x_k at equal z,

    a_k = rent w_k t_k + E[g(Z + w_k) - g(Z)],                                               (2)

with w_k and t_k the width and mean time of kind k, and Z the idle servers weighted by the busy
ones. A job of kind k costs t_k + a_k + g(z - w_k) - g(z), and the cheapest kind that fits is
granted. Policy iteration repeats this until the table no longer changes. The approximations are (1)
and that the mix of the running jobs does not depend on z.
"""

from __future__ import annotations

import importlib
from collections import deque
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import number
from moldable.errors import PolicyError
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.policies.idle_chain import (
    IdleChain,
    arrival_rates,
    cut_off,
    departure_rates,
    shifts,
)
from moldable.policies.kinds import Kinds, extended
from moldable.policies.thresholds import Thresholds
from moldable.threads import interruptible

MOST_COSTLY: Final = 1e12
"""At larger blocking costs the time of accepted jobs would be lost to rounding."""
ROUNDS, REPEATS = 60, 8
"""Most rounds of policy iteration, and most rounds that return to an earlier table."""
FEW, SCALE = 2_000, 8
"""With more servers, the solution for an eighth of them is the initial guess."""
SETTLED, SAME = 1e-8, 1e-4
"""Changes of the mix of running jobs that count as converged, and as the same mix in a cycle."""
NEGLIGIBLE: Final = 1e-13
"""Probability of idle counts below which decisions there do not matter."""


def value_policy(scenario: ScenarioOrFile, blocking_cost: float) -> Thresholds:
    """Return the table of widths by idle servers for one blocking cost.

    It comes close to the least (1 - blocking) x mean execution time + cost x blocking of all
    policies, where classes have equal weights.

    Args:
        scenario: classes that share one pool. Arrivals are taken to be Poisson, and of the sizes
            only the means are used.
        blocking_cost: what a blocked job costs, in mean sizes.

    Examples:
        >>> value_policy(Scenario.single([1, 1.8, 2.5], 0.8, 8), blocking_cost=4).describe()
        '1 server from 1 idle, 2 from 3, 3 from 7'
    """
    scenario = checked_scenario(scenario)
    return value_function(Kinds.of(scenario), blocking_cost).policy.with_classes(scenario)


def value_function(
    kinds: Kinds, blocking_cost: float, start: ValueFunction | None = None, *, cut: bool = True
) -> ValueFunction:
    """Return the table that is optimal for its own value function, by policy iteration.

    Args:
        kinds: of the scenario.
        blocking_cost: of a blocked job, in mean sizes.
        start: the solution at another cost; a close one saves rounds.
        cut: whether idle counts of negligible probability are left out of the equations.
    """
    charge = _checked(blocking_cost) * kinds.mean_size
    interruptible(importlib.import_module, "scipy.linalg.lapack")  # slow the first time
    if start is None and kinds.servers > FEW:
        # From a distant start the iteration cycles; thresholds hardly depend on the servers.
        start = value_function(kinds.scaled(SCALE), blocking_cost)
    table = kinds.fastest() if start is None else start.table
    running = np.isin(np.arange(kinds.widths.size), table)
    shares = running / running.sum() if start is None else start.shares
    seen: dict[bytes, tuple[int, Floats]] = {}
    repeated: list[ValueFunction] = []
    recent: deque[ValueFunction] = deque(maxlen=REPEATS)
    for rounds in range(ROUNDS):
        found = ValueFunction(kinds, table, shares, charge, rounds=rounds, cut=cut)
        if found.settled:
            return found
        last = recent[-1] if recent else None
        recent.append(found)
        before, then = seen.get(table.tobytes(), (rounds, shares))
        # The same table in two successive rounds, or with another mix, is not a cycle.
        if rounds - before > 1 and np.abs(shares - then).max() < SAME:
            repeated.append(found)
        if len(repeated) > REPEATS:
            break
        seen[table.tobytes()] = rounds, shares
        table, shares = _trimmed(found.better), found.next_shares(last)
    return min(repeated or recent, key=lambda each: each.cost)


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
class ValueFunction:
    """The value of idle servers under one table: one round of policy iteration.

    Attributes:
        kinds: of the scenario.
        law: stationary distribution of the idle servers under the table, up to the cut-off.
        shares: of the busy servers held by each kind.
        values: g, up to the cut-off.
        kind_values: the a_k.
        rent: of a server, per unit of time.
        cost: per unit of time.
        blocking: in this model, often 5 to 30 % below the true one.
        mean_execution_time: of accepted jobs, in this model.
        better: the improved table.
        rounds: of policy iteration before this one.
        settled: whether neither the table nor the mix changes any more.
        table: the kind granted to each class (row) by idle servers, see `Kinds.policy`.
        evaluated, old_shares: the table and the mix that the round began with.
    """

    def __init__(
        self, kinds: Kinds, table: Ints, shares: Floats, charge: float, *, rounds: int, cut: bool
    ) -> None:
        self.kinds, self.rounds, self.old_shares = kinds, rounds, shares
        end, mode = cut_off(kinds, table, shares)
        end = end if cut else kinds.servers + 1
        self.evaluated = extended(table, end)
        coming = arrival_rates(kinds, self.evaluated)
        going = departure_rates(kinds, shares, end)
        # The chain of the idle servers, and the mix of running jobs under the table.
        chain = IdleChain(kinds, coming, going, mode)
        self.law = chain.law
        running = (coming @ self.law) * kinds.times
        held = running * kinds.widths
        if not held.sum() > 0.0:
            raise PolicyError(
                f"{kinds.rates.sum():g} jobs arrive per unit of time: nearly all are blocked under "
                f"every policy, and differences are below floating-point precision; lower the load"
            )
        self.shares: Floats = held / held.sum()

        total = kinds.rates.sum()
        lost = np.maximum(total - coming.sum(axis=0), 0.0)
        cost = (kinds.weights * kinds.times) @ coming + charge * lost
        self.cost = float(cost @ self.law)
        self.blocking = float(lost @ self.law) / float(total)
        # Not by 1 - blocking, which is 0 at huge loads.
        accepted = float(coming.sum(axis=0) @ self.law)
        self.mean_execution_time = float(running.sum()) / accepted
        # g = parts_0 + sum_k a_k parts_k from (1), then the a_k and the rent from (2).
        parts = chain.values(np.vstack([cost, coming - going]))
        self.kind_values, self.rent = self._projections(parts, running)
        self.values: Floats = parts[:, 0] + parts[:, 1:] @ self.kind_values

        self.better = self._improved()
        changed = (self.better != self.evaluated)[:, self.law > NEGLIGIBLE].any()
        moved = float(np.abs(self.shares - shares).max())
        self.settled = not changed and moved < SETTLED
        self.table = _trimmed(self.evaluated if changed else self.better)

    @property
    def policy(self) -> Thresholds:
        """The table as a policy."""
        return self.kinds.policy(self.table)

    def _projections(self, parts: Floats, running: Floats) -> tuple[Floats, float]:
        """Solve (2) for the a_k and the rent."""
        own, kinds = self.kinds, self.kinds.widths.size
        busy = self.law * (own.servers - np.arange(self.law.size))
        gained = shifts(own, busy / busy.sum()) @ parts
        matrix, right = np.zeros((kinds + 1, kinds + 1)), np.zeros(kinds + 1)
        matrix[:-1, :-1] = np.eye(kinds) - gained[:, 1:]
        matrix[:-1, -1], right[:-1] = -own.widths * own.times, gained[:, 0]
        # (1) is unchanged by g + s z and a_k + s w_k for any s; this equation fixes s.
        matrix[-1, :-1] = running
        found: Floats = np.linalg.lstsq(matrix, right, rcond=None)[0].astype(np.float64)
        return found[:-1], float(found[-1])

    def _improved(self) -> Ints:
        """Grant the cheapest kind that fits; where idle counts are negligible, the last one."""
        own, g, end = self.kinds, self.values, self.law.size
        kind_costs = own.weights * own.times + self.kind_values
        last = int(np.flatnonzero(self.law > NEGLIGIBLE)[-1])
        better = np.full_like(self.evaluated, -1)
        for j in range(own.rates.size):
            members = own.members(j)
            costs = np.full((members.size, end), np.inf)
            for row, kind in zip(costs, members.tolist(), strict=True):
                width = int(own.widths[kind])
                row[width:] = kind_costs[kind] + g[: max(end - width, 0)] - g[width:]
            first = int(own.widths[members[0]])
            better[j, first:] = members[costs[:, first:].argmin(axis=0)]
            better[j, max(last, first) :] = better[j, max(last, first)]
        return better

    def next_shares(self, last: ValueFunction | None) -> Floats:
        """Return the next mix, by Anderson acceleration over two rounds with the same table."""
        if last is None or not np.array_equal(_trimmed(self.evaluated), _trimmed(last.evaluated)):
            return self.shares
        residual = self.shares - self.old_shares
        change = residual - (last.shares - last.old_shares)
        square = float(change @ change)
        ratio = float(residual @ change) / square if square > 0.0 else 0.0
        guess: Floats = self.shares - ratio * (self.shares - last.shares)
        return guess if guess.min() >= 0.0 else self.shares


def _trimmed(table: Ints) -> Ints:
    """Drop columns at the end that repeat the one before."""
    changes = np.flatnonzero((np.diff(table) != 0).any(axis=0))
    return table[:, : int(changes[-1]) + 2 if changes.size else 1]
