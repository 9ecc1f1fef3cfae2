"""How good is every state of a chain of counts, and which width is best in each?

States stand in *lines*: all numbers of jobs of the first kind beside fixed numbers of the others,
one after another, the empty state first. Whatever ends or begins beside them moves a whole line
onto another one, so neighbours are found by one address for each line, and loops along lines are
fast.

All kernels share these arguments:
    start: first state of each line, and at last the number of states.
    counts: jobs of the kinds after the first, a column for each line.
    before: first state of the line with one job less of each of them.
    rates: at which a job of each kind ends.
    arrivals: rate of each class.
    target: state that an arrival of each class (row) leads to; the state itself if it is blocked.
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
    """Decide for the best width in every state; return the changed decisions and two bounds.

    For any values the least and the largest change of value per unit of time, costs included,
    enclose the least cost per unit of time.

    Further arguments:
        values: of the states.
        target: is filled.
        after: first state of the line with one job more of each kind after the first.
        room: length of that line; 0 if such a job does not fit.
        times: cost of granting each kind.
        first: where the kinds of each class begin in `members`, and at last their number.
        members: the kinds of each class, the one to prefer on ties first.
        blocked: cost of blocking a job of each class.
        keep: by how much another width must be better than the present one to replace it.
        decisions: kind that each class (row) is granted in each state, -1 for none; improved.
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
    """List what may end beside a line: total rates, and the line each leads to; return how many."""
    found = 0
    for k in range(counts.shape[0]):
        if counts[k, line] > 0:
            ends[found], onto[found] = counts[k, line] * rates[k + 1], before[k, line]
            found += 1
    return found


@njit(nogil=True, cache=True)
def outflow(values, start, counts, before, rates, arrivals, target, result):
    """Write by how much each value falls per unit of time, plus the empty state's value.

    That last term makes the equations `outflow = cost` solvable: they give the empty state the
    cost per unit of time as its value.
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
    """Write one over the total rate out of each state, which is one more in the empty state."""
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
    """Solve for the part of the equations at or below the diagonal, from the empty state on.

    `inverse` is what `invert_diagonal` writes.
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
            # Only one product and one sum have to wait for the state before.
            share = inverse[state]
            last = share * total + share * (x * rates[0]) * last
            result[state] = last


@njit(nogil=True, cache=True)
def sweep_down(swept, arrivals, target, inverse, result):
    """Solve what `sweep_up` left over at or above the diagonal, from the last state on.

    Only arrivals and the empty state's value are left over there, so that no residual is needed.

    Further arguments:
        swept: what `sweep_up` wrote; becomes what is added to it.
        result: the sum is written here.
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
    """Write the outflow of what both sweeps made of `right`.

    It differs from that only by what `sweep_down` added to the states that endings lead to.
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
    """Improve the values of a fixed policy in place: `outflow = cost`; return how it went.

    BiCGSTAB, preconditioned by a sweep in either direction; it stops when the residual has fallen
    by `accuracy`. The values of the smallest residual are kept.

    Further arguments:
        values: to improve; the empty state's is the cost per unit of time.
        cost: per unit of time in each state.
        accuracy: share of the residual that may be left.
        steps: at most so many.

    Returns:
        The steps done, and the share of the residual that is left.
    """
    flow, inverse, swept = np.empty(values.size), np.empty(values.size), np.empty(values.size)
    invert_diagonal(start, counts, before, rates, arrivals, target, inverse)
    outflow(values, start, counts, before, rates, arrivals, target, flow)

    def apply(right, solved, image):
        sweep_up(right, start, counts, before, rates, inverse, swept)
        sweep_down(swept, arrivals, target, inverse, solved)
        swept_outflow(right, swept, start, counts, before, rates, image)

    return bicgstab(apply, values, cost - flow, accuracy, steps)
