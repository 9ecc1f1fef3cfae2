"""The value function of a cluster with a queue, and the best table for it.

A kind is a class at one of its widths. The relative value of a state with x_k running jobs of kind
k at level y, the idle servers less the waiting jobs, is approximated by

    h(x, y) = g(y) + sum_k (a_k + b q s_k) x_k                                               (1)

with q waiting jobs and the server-time s_k = w_k t_k of kind k. The last term comes from long
queues, whose value is quadratic in the remaining server-time. The Bellman equation, averaged over
the states at level y, is that of the chain in `queue_levels`: a banded system for g, linear in the
a_k and b. These follow from projections of the equation on x_k and on q s_k x_k at equal level:

    sum_y P(y) sum_k m_k v_k (c_k - w_k r) = 0,  r = sum_k m_k w_k c_k / sum_k m_k w_k^2,    (2)

where c_k(y) is the coefficient of x_k in the equation, m_k(y) the mean of x_k, and v_k(y) the
function on which it is projected. Covariances of the x_k are those of (3) in `queue_levels`.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.policies.kinds import extended
from moldable.policies.queue_levels import NEGLIGIBLE, TINIEST, Levels
from moldable.policies.queue_nodes import KindTable, most_free

TIE: Final = 1e-9
"""Relative difference of costs below which they count as equal."""


@final
class QueueValue:
    """The values of the levels under one table: one round of policy iteration.

    Args:
        levels: the levels under the table.
        waiting_cost: of a unit of waiting time, if a unit of execution time costs 1.
        blocking_cost: of a job that finds all waiting places taken, in mean sizes.
        before: the round before, with whose values these are averaged: without that, tables
            often alternate.
        step: weight of the values of this round in the average.

    Attributes:
        levels: the levels, with their distribution and the mix of running jobs.
        values: g by level.
        kind_values: the a_k.
        slope: b.
        cost: mean cost per unit of time in this model: jobs that run, and that wait.
        better: the improved table.
        same: whether it is the evaluated table where levels are likely.
        table: the improved table if that is the same, else the evaluated one.
    """

    def __init__(
        self,
        levels: Levels,
        waiting_cost: float,
        blocking_cost: float,
        before: QueueValue | None = None,
        step: float = 1.0,
    ) -> None:
        self.levels = levels
        kinds = self.kinds = levels.kinds
        self.held: Floats = kinds.widths * kinds.times
        classes = [kinds.weights[kinds.members(j)[0]] for j in range(kinds.rates.size)]
        weight = float(kinds.rates @ np.array(classes) / kinds.rates.sum())
        costs = kinds.weights @ levels.mix + waiting_cost * weight * levels.waiting
        costs[0] += blocking_cost * kinds.mean_size * float(kinds.rates.sum())
        self.cost = float(costs @ levels.law)
        self.queue_drift = self._queue_drift()
        drifts = self._kind_drifts(), self._slope_drift()
        parts = levels.chain.values(np.vstack([costs, *drifts]))
        found = self._projected(parts)
        values = parts[:, 0] + parts[:, 1:] @ found
        self.values: Floats = values - values[levels.zero]
        self.kind_values, self.slope = found[:-1], float(found[-1])
        if before is not None:
            self._average(before, step)
        self.better = self._improved()
        self.same = self._same_where_likely()
        self.table = self.better if self.same else levels.table

    def _average(self, before: QueueValue, step: float) -> None:
        """Average the values with those of the round before; all are 0 at level 0."""
        level, old = self.levels.level, before.levels.level
        known = np.interp(level, old, before.values)
        # Levels that the round before left out: the last difference continues.
        known += np.maximum(level - old[-1], 0) * (before.values[-1] - before.values[-2])
        known += np.minimum(level - old[0], 0) * (before.values[1] - before.values[0])
        self.values = known + step * (self.values - known)
        self.kind_values = before.kind_values + step * (self.kind_values - before.kind_values)
        self.slope = before.slope + step * (self.slope - before.slope)

    # Drifts: expected changes per unit of time, by level.

    def _below(self, node_values: Floats) -> Floats:
        """Return what a departure of each kind (row) does at each level, 0 where no job waits."""
        levels = self.levels
        found = np.zeros((self.kinds.widths.size, levels.size))
        found[:, : levels.zero + 1] = node_values[self.kinds.widths, ::-1]
        return found

    def _queue_drift(self) -> Floats:
        """Return the expected change of the waiting jobs by a departure of each kind (row)."""
        levels = self.levels
        change = levels.nodes.queue - np.arange(levels.zero + 1)
        return self._below(change)

    def _joining(self) -> Floats:
        """Return the rate of arrivals that wait."""
        levels = self.levels
        started = (levels.granted + levels.squeezed).sum(axis=0)
        joining = self.kinds.rates.sum() - started
        joining[0] = 0.0 if levels.zero else joining[0]
        return np.asarray(joining if levels.zero else np.zeros(levels.size))

    def _kind_drifts(self) -> Floats:
        """Return the drift of the running jobs of each kind (row)."""
        levels, above = self.levels, self.levels.zero + 1
        found = levels.granted + levels.squeezed - levels.ends
        ends = levels.ends[:, :above]
        starts = levels.nodes.starts[self.kinds.widths, ::-1]  # ending kind, level, starting kind
        found[:, :above] += np.einsum("jy,jyk->ky", ends, starts)
        return np.asarray(found)

    def _slope_parts(self) -> tuple[Floats, Floats]:
        """Return what is multiplied by b: the effects of a departure of kind k, and of the others.

        Both are by kind (row) and level; the latter are per running job of kind k.
        """
        levels, widths, held = self.levels, self.kinds.widths[:, None], self.held[:, None]
        mix, spread, change = levels.mix, levels.spread, self.queue_drift
        others = held.T @ mix - widths * ((widths * held).T @ mix) / spread
        own = self._below(levels.nodes.held_queue) - held * levels.waiting + others * change
        rest = levels.ends * change
        drift = rest.sum(axis=0) - widths * ((widths * rest).sum(axis=0) / spread)
        return own, held * (self._joining() + drift)

    def _slope_drift(self) -> Floats:
        """Return the drift of q sum_k s_k x_k."""
        levels = self.levels
        own, _ = self._slope_parts()
        slopes = (levels.ends * own).sum(axis=0)
        return np.asarray(self._joining() * (self.held @ levels.mix) + slopes)

    # The coefficients a_k and b.

    def _projected(self, parts: Floats) -> Floats:
        """Solve (2) for the a_k and b; `parts` are g = parts_0 + sum_k a_k parts_k + b parts_b."""
        levels, kinds, count = self.levels, self.kinds, self.kinds.widths.size
        expected = levels.law * levels.mix
        own, rest = self._slope_parts()
        lengthy = levels.law * levels.waiting
        matrix = np.zeros((count + 2, count + 2))
        held_back = np.zeros((levels.size, count + 2))  # sum_k m_k w_k c_k
        for k in range(count):
            coefficient = self._coefficient(k, parts, own[k], rest[k])
            matrix[k] = expected[k] @ coefficient
            matrix[count] += (lengthy * self.held[k] * levels.mix[k]) @ coefficient
            held_back += (kinds.widths[k] * levels.mix[k])[:, None] * coefficient
        held_back /= levels.spread[:, None]
        matrix[:count] -= (kinds.widths[:, None] * expected) @ held_back
        matrix[count] -= (lengthy * ((kinds.widths * self.held) @ levels.mix)) @ held_back
        sizes = np.append(expected.sum(axis=1), (lengthy * (self.held @ levels.mix)).sum())
        matrix[:-1] /= np.maximum(sizes, TINIEST)[:, None]
        # (1) is unchanged by a_k + s w_k and g + s y for any s; this equation fixes s.
        matrix[-1, 1:-1] = sizes[:-1]
        left, right = matrix[:, 1:], -matrix[:, 0]
        scale = np.maximum(np.abs(left).max(axis=0), TINIEST)
        found = np.linalg.lstsq(left / scale, right, rcond=None)[0] / scale
        return np.asarray(found, dtype=np.float64)

    def _coefficient(self, k: int, parts: Floats, own: Floats, rest: Floats) -> Floats:
        """Return c_k by level (row): its constant part, and what is multiplied by each a and b."""
        levels, kinds, above = self.levels, self.kinds, self.levels.zero + 1
        width, rate = int(kinds.widths[k]), 1.0 / float(kinds.times[k])
        found = rate * (self._after(width, parts) - parts)
        found[:, 0] += kinds.weights[k]
        found[:above, 1:-1] += rate * levels.nodes.starts[width, ::-1]
        found[:, 1 + k] -= rate
        found[:, -1] += rate * own + rest
        return found

    def _after(self, width: int, parts: Floats) -> Floats:
        """Return the expectation of functions of the level (columns) after a departure."""
        levels, above = self.levels, self.levels.zero + 1
        found = parts.copy()
        found[above:-width] = parts[above + width :]
        found[:above] = 0.0
        for rise in range(width + 1):
            chance = levels.nodes.rises[width, ::-1, rise]
            found[:above] += chance[:, None] * parts[rise : rise + above]
        return found

    # The improved table.

    def _improved(self) -> KindTable:
        levels, kinds = self.levels, self.kinds
        likely = np.flatnonzero(levels.law > NEGLIGIBLE)
        most_idle = max(int(levels.level[likely[-1]]), 1)
        longest = min(max(-int(levels.level[likely[0]]), 1), max(levels.zero - 1, 1))
        first = self._first(most_idle)
        offer = _Offer(self, extended(first, most_free(kinds) + 1))
        later = [offer.next() for _ in range(longest)]
        return KindTable(_trimmed(first), _without_repeats(np.array(later).swapaxes(0, 1)))

    def _first(self, most_idle: int) -> Ints:
        """Return the cheapest kind that fits, by class and idle servers, if no job waits."""
        kinds, zero = self.kinds, self.levels.zero
        size = max(most_idle, most_free(kinds)) + 1
        found = np.full((kinds.rates.size, size), -1)
        for j in range(kinds.rates.size):
            members = kinds.members(j)
            costs = np.full((members.size, size), np.inf)
            for row, kind in zip(costs, members.tolist(), strict=True):
                width = int(kinds.widths[kind])
                row[width:] = self.kind_values[kind] + self.values[zero : zero + size - width]
            first = int(kinds.widths[members[0]])
            found[j, first:] = members[_narrowest_of_best(costs[:, first:])]
            last = max(most_idle, first)
            found[j, last:] = found[j, last]
        return found

    def _same_where_likely(self) -> bool:
        """Return whether the improved table decides like the evaluated one at likely levels."""
        levels = self.levels
        likely = np.flatnonzero(levels.law > NEGLIGIBLE)
        most_idle, longest = int(levels.level[likely[-1]]), -int(levels.level[likely[0]])
        idle, behind = np.arange(max(most_idle, 0) + 1), np.arange(max(longest, 1))
        one, other = self.better, levels.table
        firsts = [extended(table.first, idle.size) for table in (one, other)]
        laters = [t.later[:, np.minimum(behind, t.later.shape[1] - 1)] for t in (one, other)]
        return np.array_equal(firsts[0], firsts[1]) and np.array_equal(laters[0], laters[1])


@final
class _Offer:
    """Offers servers to a queue that grows job by job; `next` decides for one job more.

    Arrays are indexed by free servers, for a number of waiting jobs.

    Attributes:
        waiting: that number.
        level_value: expected g after all starts.
        started: expected sum of a_k of the jobs that start.
        queue: expected number of jobs that still wait.
        started_queue: expected sum of s_k over the jobs that start, multiplied by that number.
    """

    def __init__(self, value: QueueValue, first: Ints) -> None:
        self.value, self.free = value, np.arange(first.shape[1])
        zero = value.levels.zero
        self.waiting = 0
        self.level_value = value.values[zero : zero + self.free.size]
        self.started, self.queue, self.started_queue = np.zeros((3, self.free.size))
        self._advance(first)

    def next(self) -> Ints:
        """Return the best kinds by class and free servers, with one job more than before."""
        value, kinds = self.value, self.value.kinds
        levels = value.levels
        # Jobs that run already; some have just ended.
        running = float(value.held @ levels.mix[:, levels.zero - min(self.waiting, levels.zero)])
        share = 1.0 - self.free / kinds.servers
        found = np.full((kinds.rates.size, self.free.size), -1)
        rest = self.level_value + self.started + value.slope * self.started_queue
        for j in range(kinds.rates.size):
            members = kinds.members(j)
            costs = np.full((members.size, self.free.size), np.inf)
            for row, kind in zip(costs, members.tolist(), strict=True):
                width = int(kinds.widths[kind])
                left = slice(0, self.free.size - width)
                present = value.held[kind] + running * share[width:]
                row[width:] = value.kind_values[kind] + rest[left]
                row[width:] += value.slope * present * self.queue[left]
            first = int(kinds.widths[members[0]])
            found[j, first:] = members[_narrowest_of_best(costs[:, first:])]
        self._advance(found)
        return found

    def _advance(self, table: Ints) -> None:
        """Add a job, which is granted what the table says."""
        value, kinds = self.value, self.value.kinds
        before = (self.level_value, self.started, self.queue, self.started_queue)
        self.waiting += 1
        zero = value.levels.zero
        stays = (float(value.values[max(zero - self.waiting, 0)]), 0.0, float(self.waiting), 0.0)
        after = np.zeros((4, self.free.size))
        after[:, 0] = stays
        shares = kinds.rates / kinds.rates.sum()
        for j, share in enumerate(shares.tolist()):
            narrowest = int(kinds.members(j)[0])
            kind = np.where(table[j, 1:] >= 0, table[j, 1:], narrowest)
            width = kinds.widths[kind]
            chance = np.minimum(self.free[1:] / width, 1.0)
            left = np.maximum(self.free[1:] - width, 0)
            moved = np.array([each[left] for each in before])
            moved[1] += value.kind_values[kind]
            moved[3] += value.held[kind] * moved[2]
            after[:, 1:] += share * (chance * moved + (1.0 - chance) * np.array(stays)[:, None])
        self.level_value, self.started, self.queue, self.started_queue = after


def _narrowest_of_best(costs: Floats) -> Ints:
    """Return the first row that is the cheapest up to rounding, by column.

    Ties are common: free servers can be divided among jobs of one class in any order.
    """
    least = costs.min(axis=0)
    return np.asarray(np.argmax(costs <= least + TIE * (1.0 + np.abs(least)), axis=0))


def _trimmed(table: Ints) -> Ints:
    """Drop idle counts at the end that repeat the one before."""
    changes = np.flatnonzero((np.diff(table) != 0).any(axis=0))
    return table[:, : int(changes[-1]) + 2 if changes.size else 1]


def _without_repeats(table: Ints) -> Ints:
    """Drop numbers of waiting jobs at the end that repeat the one before."""
    changes = np.flatnonzero((np.diff(table, axis=1) != 0).any(axis=(0, 2)))
    return table[:, : int(changes[-1]) + 2 if changes.size else 1]
