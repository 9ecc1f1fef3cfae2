"""Find good policy tables that see only a part of the state.

Such a table makes the same decision in all states of one *cell*. Policy iteration improves it:
compute the values of the current table, add up the cost of each width over the states of a cell,
weighted by their stationary probabilities, and choose the best width for each cell. The result is a
local optimum that depends on the initial table; with one cell for each state it is the optimum over
all policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moldable import Policy, Scenario
from moldable.arrays import Floats, Ints
from moldable.kernels.value_iteration import policy_values
from moldable.optimal.control import solve
from moldable.optimal.policy_iteration import STEPS, BestPolicy, cost_rates
from moldable.optimal.policy_law import granted, policy_law
from moldable.optimal.problem import ControlProblem, control_problem

ROUNDS = 20
COSTS = np.geomspace(0.3, 64.0, 24)
START = 1e-4
ACCURACY = 1e-8
"""Share of the residual of the values that remains after each round."""
ROUNDING = 1e-10
"""Relative improvement of the cost that counts as rounding."""


@dataclass(frozen=True)
class View:
    """What a table sees: the cell of each state, and the idle servers of each cell."""

    cells: Ints
    idle: Ints


def idle_only(problem: ControlProblem) -> View:
    """Return the view that distinguishes states by the idle servers only."""
    return View(problem.idle(), np.arange(problem.servers + 1))


def idle_and(problem: ControlProblem, seen: Ints) -> View:
    """Return the view that distinguishes states by the idle servers and another integer."""
    values = int(seen.max()) + 1
    return View(problem.idle() * values + seen, np.repeat(np.arange(problem.servers + 1), values))


def granted_widths(policy: Policy, problem: ControlProblem) -> dict[str, list[int]]:
    """Return the widths of a deterministic policy, by idle servers."""
    return {
        job_class.name: [max(policy.decide(job_class, z)) for z in range(problem.servers + 1)]
        for job_class in problem.workload.classes
    }


def best_time_within(scenario: Scenario, limit: float) -> float:
    """Return the least mean time at this blocking of the mixtures of two tables that are found.

    The tables depend on the idle servers; a mixture draws one of the two for each long epoch.
    """
    problem = control_problem(scenario)
    view, points = idle_only(problem), []
    for cost in COSTS:
        tables = Tables(problem, float(cost))
        start = tables.of(solve(problem, float(cost), START, None).widths_by_idle)
        points.append(tables.figures(view, tables.best(view, start)[0]))
    # The lower hull of (blocking, accepted time), read at the limit.
    blocking, accepted = np.array(points).T
    lines = (
        accepted[i]
        + (accepted[j] - accepted[i]) * (limit - blocking[i]) / (blocking[j] - blocking[i])
        for i in np.flatnonzero(blocking <= limit)
        for j in np.flatnonzero(blocking > limit)
    )
    return min(lines) / (1.0 - limit)


@dataclass(frozen=True)
class Tables:
    """All tables for one blocking cost, in mean sizes.

    A table holds the kind granted to each class (row) in each cell; -1 where none fits.
    """

    problem: ControlProblem
    blocking_cost: float

    def of(self, widths: Mapping[str, Sequence[int]]) -> Ints:
        """Return the table that grants each class these widths at 0, 1, ... idle servers.

        A width that does not fit is replaced by the next narrower one that does.
        """
        problem = self.problem
        table = np.full((len(problem.workload.classes), problem.servers + 1), -1)
        for j, job_class in enumerate(problem.workload.classes):
            for idle, width in enumerate(widths[job_class.name]):
                fitting = [kind for kind in self._kinds(j) if problem.widths[kind] <= idle]
                narrower = [kind for kind in fitting if problem.widths[kind] <= width]
                table[j, idle] = (narrower or fitting[:1] or [-1])[-1]
        return table

    def best(self, view: View, table: Ints) -> tuple[Ints, float]:
        """Return the local optimum reached from this table, and its cost per arrival."""
        law, cost = self._law(table[:, view.cells])
        values = np.zeros(self.problem.states)
        for _ in range(ROUNDS):
            self._value(table[:, view.cells], cost, values)
            changes = self._changes(view, table, law, values)
            # If all changes together do not help, try only the half with the largest gains.
            while changes[0].size:
                changed = table.copy()
                changed[changes[0], changes[1]] = changes[2]
                law, lower = self._law(changed[:, view.cells])
                if lower < cost * (1.0 - ROUNDING):
                    table, cost = changed, lower
                    break
                changes = changes[:, : changes[0].size // 2]
            else:
                break
        return table, cost

    def figures(self, view: View, table: Ints) -> tuple[float, float]:
        """Return blocking, and the accepted time per arrival."""
        chances, _ = self._chances(table[:, view.cells])
        shares = self.problem.arrivals / self.problem.arrivals.sum()
        return float(shares @ chances[:, -1]), float(shares @ chances[:, :-1] @ self.problem.times)

    def _law(self, decisions: Ints) -> tuple[Floats, float]:
        """Return the stationary distribution, and the cost per arrival."""
        problem = self.problem
        chances, law = self._chances(decisions)
        cost = chances[:, :-1] @ problem.times + chances[:, -1] * self._blocked
        return law, float(problem.arrivals @ cost / problem.arrivals.sum())

    def _chances(self, decisions: Ints) -> tuple[Floats, Floats]:
        """Return the probability of each kind (last: blocked) by class, and the distribution."""
        law = policy_law(self.problem, self._policy(decisions))
        return granted(self.problem, decisions.astype(np.int8), law), law

    def _value(self, decisions: Ints, cost: float, values: Floats) -> None:
        """Replace the values by those of this policy."""
        problem, policy = self.problem, self._policy(decisions)
        rates = cost_rates(policy.decisions, problem.times, self._blocked, problem.arrivals)
        values += cost * problem.arrivals.sum() - values[0]
        lines = (problem.start, problem.counts, problem.before)
        flows = (problem.rates, problem.arrivals, policy.target)
        policy_values(values, rates, *lines, *flows, ACCURACY, STEPS)

    def _changes(self, view: View, table: Ints, law: Floats, values: Floats) -> Ints:
        """Return three rows, largest gain first: classes, cells and their better kinds."""
        problem, found, gains = self.problem, [], []
        for j, row in enumerate(table):
            costs = np.full((problem.widths.size, view.idle.size), np.inf)
            for kind in self._kinds(j):
                after = law * (problem.times[kind] + values[self._moves[kind]] - values)
                total = np.bincount(view.cells, after, view.idle.size)
                costs[kind] = np.where(view.idle >= problem.widths[kind], total, np.inf)
            cells = np.flatnonzero(row >= 0)
            best = costs[:, cells].argmin(axis=0)
            gain = problem.arrivals[j] * (costs[row[cells], cells] - costs[best, cells])
            better = gain > 0.0
            found.append(np.array((np.full(cells.size, j), cells, best))[:, better])
            gains.append(gain[better])
        return np.concatenate(found, axis=1)[:, np.argsort(-np.concatenate(gains))]

    def _policy(self, decisions: Ints) -> BestPolicy:
        states = np.arange(self.problem.states)
        moved = [np.where(row < 0, states, self._moves[row, states]) for row in decisions]
        chosen, target = decisions.astype(np.int8), np.array(moved, dtype=np.int32)
        return BestPolicy(chosen, target, np.empty(0), 0.0, np.inf, 0)

    def _kinds(self, job_class: int) -> Ints:
        return np.flatnonzero(self.problem.owner == job_class)

    @cached_property
    def _blocked(self) -> Floats:
        charge = self.blocking_cost * self.problem.mean_size
        return np.full(len(self.problem.workload.classes), charge)

    @cached_property
    def _moves(self) -> NDArray[np.int32]:
        """The state that a new job of each kind (row) leads to; the state itself if none fits."""
        problem, states = self.problem, np.arange(self.problem.states)
        length = np.diff(problem.start)
        place = states - np.repeat(problem.start[:-1], length)
        moves = np.empty((problem.widths.size, problem.states), dtype=np.int32)
        moves[0] = np.where(place + 1 < np.repeat(length, length), states + 1, states)
        for k in range(1, problem.widths.size):
            first, room = (np.repeat(x[k - 1], length) for x in (problem.after, problem.room))
            moves[k] = np.where(place < room, first + place, states)
        return moves
