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
def outflow(values, start, counts, before, rates, arrivals, target, result):
    """Write by how much each value falls per unit of time, plus the empty state's value.

    That last term makes the equations `outflow = cost` solvable: they give the empty state the
    cost per unit of time as its value.
    """
    total = 0.0
    for j in range(arrivals.size):
        total += arrivals[j]
    for line in range(start.size - 1):
        begin = start[line]
        length = start[line + 1] - begin
        ending = total
        for k in range(counts.shape[0]):
            ending += counts[k, line] * rates[k + 1]
        for x in range(length):
            result[begin + x] = values[0] + (ending + x * rates[0]) * values[begin + x]
        for x in range(1, length):
            result[begin + x] -= x * rates[0] * values[begin + x - 1]
        for k in range(counts.shape[0]):
            if counts[k, line] > 0:
                ends, base = counts[k, line] * rates[k + 1], before[k, line]
                for x in range(length):
                    result[begin + x] -= ends * values[base + x]
        for j in range(arrivals.size):
            for x in range(length):
                result[begin + x] -= arrivals[j] * values[target[j, begin + x]]


@njit(nogil=True, cache=True)
def sweep_up(right, start, counts, before, rates, arrivals, target, result):
    """Solve for the part of the equations at or below the diagonal, from the empty state on."""
    for line in range(start.size - 1):
        begin = start[line]
        length = start[line + 1] - begin
        ending = 0.0
        for x in range(length):
            result[begin + x] = right[begin + x]
        for k in range(counts.shape[0]):
            if counts[k, line] > 0:
                ends, base = counts[k, line] * rates[k + 1], before[k, line]
                ending += ends
                for x in range(length):
                    result[begin + x] += ends * result[base + x]
        last = 0.0
        for x in range(length):
            state = begin + x
            out = ending + x * rates[0]
            for j in range(arrivals.size):
                if target[j, state] != state:
                    out += arrivals[j]
            if state == 0:
                out += 1.0
            last = (result[state] + x * rates[0] * last) / out
            result[state] = last


@njit(nogil=True, cache=True)
def sweep_down(right, start, counts, before, rates, arrivals, target, result):  # noqa: ARG001
    """Solve for the part of the equations at or above the diagonal, from the last state on.

    It takes what `sweep_up` takes, though nothing that ends is looked at.
    """
    for line in range(start.size - 2, -1, -1):
        begin = start[line]
        ending = 0.0
        for k in range(counts.shape[0]):
            ending += counts[k, line] * rates[k + 1]
        for x in range(start[line + 1] - begin - 1, -1, -1):
            state = begin + x
            total, out = right[state], ending + x * rates[0]
            for j in range(arrivals.size):
                to = target[j, state]
                if to != state:
                    out += arrivals[j]
                    total += arrivals[j] * result[to]
            if state == 0:
                out += 1.0
            result[state] = total / out


@njit(nogil=True, cache=True)
def _dot(a, b):
    """A plain sum: threads of a linear-algebra library would fight over the cores."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True)
def _swept(right, start, counts, before, rates, arrivals, target, result, rest, fix):
    """Solve roughly: one sweep up, then one down for what is left."""
    sweep_up(right, start, counts, before, rates, arrivals, target, result)
    outflow(result, start, counts, before, rates, arrivals, target, rest)
    for i in range(right.size):
        rest[i] = right[i] - rest[i]
    sweep_down(rest, start, counts, before, rates, arrivals, target, fix)
    for i in range(right.size):
        result[i] += fix[i]


@njit(nogil=True, cache=True)
def policy_values(
    values, cost, start, counts, before, rates, arrivals, target, accuracy, steps,
):  # fmt: skip
    """Improve the values of a fixed policy in place: `outflow = cost`; return how it went.

    BiCGSTAB (van der Vorst 1992), preconditioned from the right by a sweep in either direction; it
    stops when the residual has fallen by `accuracy`. The values of the smallest residual are kept.

    Further arguments:
        values: to improve; the empty state's is the cost per unit of time.
        cost: per unit of time in each state.
        accuracy: share of the residual that may be left.
        steps: at most so many.

    Returns:
        The steps done, and the share of the residual that is left.
    """
    states = values.size
    residual, along, flow = np.empty(states), np.zeros(states), np.zeros(states)
    smooth, image = np.empty(states), np.empty(states)
    rest, fix, kept = np.empty(states), np.empty(states), values.copy()
    outflow(values, start, counts, before, rates, arrivals, target, residual)
    for i in range(states):
        residual[i] = cost[i] - residual[i]
    shadow = residual.copy()
    begun = np.sqrt(_dot(residual, residual))
    lowest, rho, alpha, omega = begun, 1.0, 1.0, 1.0
    done = 0
    while done < steps and lowest > accuracy * begun:
        done += 1
        last, rho = rho, _dot(shadow, residual)
        if rho == 0.0 or omega == 0.0:
            break
        beta = rho / last * (alpha / omega)
        for i in range(states):
            along[i] = residual[i] + beta * (along[i] - omega * flow[i])
        _swept(along, start, counts, before, rates, arrivals, target, smooth, rest, fix)
        outflow(smooth, start, counts, before, rates, arrivals, target, flow)
        lean = _dot(shadow, flow)
        if lean == 0.0:
            break
        alpha = rho / lean
        for i in range(states):
            residual[i] -= alpha * flow[i]
            values[i] += alpha * smooth[i]
        _swept(residual, start, counts, before, rates, arrivals, target, smooth, rest, fix)
        outflow(smooth, start, counts, before, rates, arrivals, target, image)
        weight = _dot(image, image)
        # Without a residual left to smooth, the half step was the whole answer: keep it.
        omega = _dot(image, residual) / weight if weight > 0.0 else 0.0
        for i in range(states):
            values[i] += omega * smooth[i]
            residual[i] -= omega * image[i]
        left = np.sqrt(_dot(residual, residual))
        if left < lowest:
            lowest = left
            # A slice would do the same, but take seconds longer to compile.
            for i in range(states):
                kept[i] = values[i]
    for i in range(states):
        values[i] = kept[i]
    return done, lowest / begun if begun > 0.0 else 0.0
