"""Policy iteration on a chain of counts: values of states, and the best width in each.

States are ordered in *lines*: all numbers of jobs of the first kind for fixed numbers of the
others, starting with the empty state. A job of another kind that starts or ends moves a whole line
to another one, so one address for each line gives the neighbours, and loops along lines are fast.

All kernels share these arguments:
    start: first state of each line, followed by the number of states.
    counts: jobs of the kinds after the first (rows), by line.
    before: first state of the line with one job less of each of them.
    rates: completion rate of a job of each kind.
    arrivals: arrival rate of each class.
    target: state after an arrival of each class (row); the state itself if the job is blocked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from moldable.kernels.bicgstab import bicgstab


@njit(nogil=True, cache=True)
def improve(
    values, start, counts, before, after, room, rates, times, first, members, arrivals, blocked,
    keep, decisions, target,
):  # fmt: skip
    """Choose the best width in every state; return the number of changes and two bounds.

    For any values, the smallest and the largest change of value per unit of time, including costs,
    bound the optimal cost per unit of time.

    Further arguments:
        values: of the states.
        target: to fill.
        after: first state of the line with one job more of each kind after the first.
        room: length of that line; 0 if such a job does not fit.
        times: cost of granting each kind.
        first: where the kinds of each class begin in `members`, followed by their number.
        members: the kinds of each class; the first is preferred on ties.
        blocked: cost of blocking a job of each class.
        keep: smallest improvement for which a decision is changed.
        decisions: kind granted to each class (row) in each state, -1 for none; updated.
    """
    changed, least, most = 0, np.inf, -np.inf
    for line in range(start.size - 1):
        begin = start[line]
        length = start[line + 1] - begin
        for x in range(length):
            state = begin + x
            here = values[state]
            change = 0.0
            if x > 0:
                change += x * rates[0] * (values[state - 1] - here)
            for k in range(counts.shape[0]):
                if counts[k, line] > 0:
                    ends = counts[k, line] * rates[k + 1]
                    change += ends * (values[before[k, line] + x] - here)
            for j in range(arrivals.size):
                best, chosen, onto = np.inf, -1, state
                present, stays = decisions[j, state], np.inf
                for m in range(first[j], first[j + 1]):
                    kind = members[m]
                    if kind == 0:
                        to, fits = state + 1, x + 1 < length
                    else:
                        to, fits = after[kind - 1, line] + x, x < room[kind - 1, line]
                    if fits:
                        cost = times[kind] + values[to]
                        if kind == present:
                            stays = cost
                        if cost < best:
                            best, chosen, onto = cost, kind, to
                if chosen < 0:
                    change += arrivals[j] * blocked[j]
                    target[j, state] = state
                    continue
                change += arrivals[j] * (best - here)
                if not stays <= best + keep:
                    changed += 1
                    decisions[j, state], target[j, state] = chosen, onto
            least, most = min(least, change), max(most, change)
    return changed, least, most


@njit(nogil=True, cache=True)
def _endings(line, counts, before, rates, ends, onto):
    """List the completions of other kinds: total rates and resulting lines; return how many."""
    found = 0
    for k in range(counts.shape[0]):
        if counts[k, line] > 0:
            ends[found], onto[found] = counts[k, line] * rates[k + 1], before[k, line]
            found += 1
    return found


@njit(nogil=True, cache=True)
def outflow(values, start, counts, before, rates, arrivals, target, result):
    """Write the expected decrease of each value per unit of time, plus the empty state's value.

    The last term makes the equations `outflow = cost` solvable: in their solution the value of the
    empty state is the cost per unit of time.
    """
    ends, onto = np.empty(counts.shape[0]), np.empty(counts.shape[0], np.int64)
    for line in range(start.size - 1):
        begin = start[line]
        found = _endings(line, counts, before, rates, ends, onto)
        for state in range(begin, start[line + 1]):
            x, here = state - begin, values[state]
            total = values[0]
            if x > 0:
                total += x * rates[0] * (here - values[state - 1])
            for k in range(found):
                total += ends[k] * (here - values[onto[k] + x])
            for j in range(arrivals.size):
                total += arrivals[j] * (here - values[target[j, state]])
            result[state] = total


@njit(nogil=True, cache=True)
def invert_diagonal(start, counts, before, rates, arrivals, target, result):
    """Write one over the total rate out of each state, plus 1 in the empty state."""
    ends, onto = np.empty(counts.shape[0]), np.empty(counts.shape[0], np.int64)
    for line in range(start.size - 1):
        begin = start[line]
        ending = 0.0
        for k in range(_endings(line, counts, before, rates, ends, onto)):
            ending += ends[k]
        for state in range(begin, start[line + 1]):
            out = ending + (state - begin) * rates[0]
            for j in range(arrivals.size):
                if target[j, state] != state:
                    out += arrivals[j]
            if state == 0:
                out += 1.0
            result[state] = 1.0 / out


@njit(nogil=True, cache=True)
def sweep_up(right, start, counts, before, rates, inverse, result):
    """Solve the lower triangular part of the equations.

    `inverse` is written by `invert_diagonal`.
    """
    ends, onto = np.empty(counts.shape[0]), np.empty(counts.shape[0], np.int64)
    for line in range(start.size - 1):
        begin = start[line]
        found = _endings(line, counts, before, rates, ends, onto)
        last = 0.0
        for state in range(begin, start[line + 1]):
            x, total = state - begin, right[state]
            for k in range(found):
                total += ends[k] * result[onto[k] + x]
            # Only one product and one sum depend on the previous state.
            share = inverse[state]
            last = share * total + share * (x * rates[0]) * last
            result[state] = last


@njit(nogil=True, cache=True)
def sweep_down(swept, arrivals, target, inverse, result):
    """Solve the upper triangular part for the residual of `sweep_up`.

    That residual consists of arrivals and the empty state's value, so it is not formed.

    Further arguments:
        swept: the result of `sweep_up`; replaced by the correction.
        result: to fill with their sum.
    """
    empty = swept[0]
    for state in range(swept.size - 1, -1, -1):
        total = -empty if state > 0 else 0.0
        for j in range(arrivals.size):
            to = target[j, state]
            if to != state:
                total += arrivals[j] * result[to]
        added = inverse[state] * total
        result[state] = swept[state] + added
        swept[state] = added


@njit(nogil=True, cache=True)
def swept_outflow(right, added, start, counts, before, rates, result):
    """Write the outflow of the result of both sweeps of `right`.

    It differs from `right` only by the corrections of `sweep_down` in states after completions.
    """
    ends, onto = np.empty(counts.shape[0]), np.empty(counts.shape[0], np.int64)
    for line in range(start.size - 1):
        begin = start[line]
        found = _endings(line, counts, before, rates, ends, onto)
        for state in range(begin, start[line + 1]):
            x, total = state - begin, right[state] + added[0]
            if x > 0:
                total -= x * rates[0] * added[state - 1]
            for k in range(found):
                total -= ends[k] * added[onto[k] + x]
            result[state] = total
    result[0] = right[0]


def policy_values(
    values, cost, start, counts, before, rates, arrivals, target, accuracy, steps,
):  # fmt: skip
    """Improve the values of a fixed policy in place by solving `outflow = cost`.

    BiCGSTAB, preconditioned by a sweep in each direction; arguments and result are explained there.

    Further arguments:
        values: to improve; the empty state's is the cost per unit of time.
        cost: per unit of time in each state.
        accuracy: factor by which the residual must decrease.
        steps: largest number of steps.
    """
    flow, inverse, swept = np.empty(values.size), np.empty(values.size), np.empty(values.size)
    invert_diagonal(start, counts, before, rates, arrivals, target, inverse)
    outflow(values, start, counts, before, rates, arrivals, target, flow)

    def apply(right, solved, image):
        sweep_up(right, start, counts, before, rates, inverse, swept)
        sweep_down(swept, arrivals, target, inverse, solved)
        swept_outflow(right, swept, start, counts, before, rates, image)

    return bicgstab(apply, values, cost - flow, accuracy, steps)
