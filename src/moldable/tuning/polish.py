"""Improve a table by idle servers on the true chain, where that has few states.

Policy iteration restricted to tables: solve for the values of all states under the present table,
average the cost of each width over the states with equal idle servers, and choose the best width
for every idle count. A few rounds suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.optimal.policy_iteration import STEPS, BestPolicy, cost_rates
from moldable.optimal.policy_law import granted, policy_law
from moldable.optimal.problem import ControlProblem, control_problem
from moldable.policies.kinds import Kinds, extended
from moldable.threads import interruptible
from moldable.tuning.reference import fits

MOST_STATES: Final = 20_000
ROUNDS: Final = 4
ACCURACY: Final = 1e-7
"""Relative residual to which the values of a round are solved."""
NO_GAIN: Final = 1e-7
"""Smallest relative gain in cost for which a table is changed."""


@final
@dataclass(frozen=True, eq=False)
class Polish:
    """Improves tables of one scenario.

    Attributes:
        kinds: to which the tables refer.
        problem: the states of the chain.
        place: index in the problem of each of the `kinds`.
    """

    kinds: Kinds
    problem: ControlProblem
    place: Ints

    @classmethod
    def of(cls, kinds: Kinds) -> Self | None:
        """Return None where states are many, sizes are not exponential, or classes have weights."""
        scenario = kinds.scenario
        weighted = np.unique(kinds.weights).size > 1
        if weighted or kinds.unit > 1 or not fits(scenario, MOST_STATES):
            return None
        problem = control_problem(scenario)
        place = [
            int(np.flatnonzero((problem.owner == j) & (problem.widths == width))[0])
            for j, width in zip(kinds.owner.tolist(), kinds.widths.tolist(), strict=True)
        ]
        return cls(kinds, problem, np.array(place))

    def __call__(self, table: Ints, blocking_cost: float) -> Ints:
        """Return the best table that this one leads to at a blocking cost in mean sizes."""
        charge = np.full(self.kinds.rates.size, blocking_cost * self.problem.mean_size)
        table = extended(table, self.problem.servers + 1)
        law, cost = self._law(table, charge)
        values = np.zeros(self.problem.states)
        for _ in range(ROUNDS):
            self._value(table, cost, charge, values)
            least = NO_GAIN * cost * float(self.kinds.rates.sum())
            changes = self._changes(table, law, values, least)
            # If all changes together do not pay, try those of the largest gains.
            while changes.shape[1]:
                changed = table.copy()
                changed[changes[0], changes[1]] = changes[2]
                law, lower = self._law(changed, charge)
                if lower < cost * (1.0 - NO_GAIN):
                    table, cost = changed, lower
                    break
                changes = changes[:, : changes.shape[1] // 2]
            else:
                break
        return table

    def _law(self, table: Ints, charge: Floats) -> tuple[Floats, float]:
        """Return the stationary distribution of the states, and the cost per arrival."""
        problem, policy = self.problem, self._policy(table)
        law = interruptible(policy_law, problem, policy)
        chances = granted(problem, policy.decisions, law)
        cost = chances[:, :-1] @ problem.times + chances[:, -1] * charge
        return law, float(problem.arrivals @ cost / problem.arrivals.sum())

    def _value(self, table: Ints, cost: float, charge: Floats, values: Floats) -> None:
        """Solve for the values of the states under a table, in place."""
        from moldable.kernels.value_iteration import policy_values

        problem, policy = self.problem, self._policy(table)
        rates = cost_rates(policy.decisions, problem.times, charge, problem.arrivals)
        values += cost * problem.arrivals.sum() - values[0]
        lines = (problem.start, problem.counts, problem.before)
        flows = (problem.rates, problem.arrivals, policy.target)
        rest: tuple[Any, ...] = (*lines, *flows, ACCURACY, STEPS)
        interruptible(policy_values, values, rates, *rest)

    def _changes(self, table: Ints, law: Floats, values: Floats, least: float) -> Ints:
        """Return classes, idle counts and their better kinds, a row each, largest gains first.

        Gains per unit of time below `least` are left out.
        """
        found, gains, size = [], [], table.shape[1]
        for j, row in enumerate(table):
            members = self.kinds.members(j)
            costs = np.full((members.size, size), np.inf)
            for line, kind in zip(costs, members.tolist(), strict=True):
                at = self.place[kind]
                after = law * (self.problem.times[at] + values[self._moves[at]] - values)
                fitting = slice(int(self.kinds.widths[kind]), None)
                line[fitting] = np.bincount(self._idle, after, size)[fitting]
            cells = np.flatnonzero(row >= 0)
            best = costs[:, cells].argmin(axis=0)
            present = costs[row[cells] - members[0], cells]
            gain = self.kinds.rates[j] * (present - costs[best, cells])
            better = gain > least
            parts = (np.full(cells.size, j), cells, members[best])
            found.append(np.array(parts)[:, better])
            gains.append(gain[better])
        return np.concatenate(found, axis=1)[:, np.argsort(-np.concatenate(gains))]

    def _policy(self, table: Ints) -> BestPolicy:
        kinds = np.where(table >= 0, self.place[np.maximum(table, 0)], -1)[:, self._idle]
        states = np.arange(self.problem.states)
        moved = [np.where(row < 0, states, self._moves[row, states]) for row in kinds]
        target = np.array(moved, dtype=np.int32)
        return BestPolicy(kinds.astype(np.int8), target, np.empty(0), 0.0, np.inf, 0)

    @cached_property
    def _idle(self) -> Ints:
        return self.problem.idle()

    @cached_property
    def _moves(self) -> Ints:
        """The state that a new job of each kind (row) leads to; the state itself if none fits."""
        problem, states = self.problem, np.arange(self.problem.states)
        length = np.diff(problem.start)
        place = states - np.repeat(problem.start[:-1], length)
        moves = np.empty((problem.widths.size, problem.states), dtype=np.int64)
        moves[0] = np.where(place + 1 < np.repeat(length, length), states + 1, states)
        for k in range(1, problem.widths.size):
            first, room = (np.repeat(x[k - 1], length) for x in (problem.after, problem.room))
            moves[k] = np.where(place < room, first + place, states)
        return moves
