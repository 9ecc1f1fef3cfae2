"""The stationary distribution of a policy on a chain of counts with a queue.

States, nodes and the common arguments are those of `queue_control`, whose sweeps are transposed
here: probability flows where values came from.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from moldable.kernels.bicgstab import bicgstab


@njit(nogil=True, cache=True)
def flow_down(
    right, shift, start, counts, before, rates, arrivals, goes, node, ends, out, result,
):  # fmt: skip
    """Solve the balance equations with completions only, for `right - out x shift`.

    The result is the solution plus `shift`. It is the transpose of `sweep_up`.
    """
    lines, depth = start.size - 1, goes.shape[2]
    base = start[lines]
    total_rate = 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    below, level = np.zeros((depth + 1) * lines), np.zeros((depth + 1) * lines)
    for q in range(goes.shape[0] - 1, -1, -1):
        for line in range(lines):
            state = base + q * lines + line
            weight = (right[state] - out[state] * shift[state] + level[line]) / out[state]
            result[state] = weight
            for k in range(ends.shape[0]):
                level[node[k, line]] += ends[k, line] * weight
        for i in range(below.size):
            below[i] = 0.0
        for j in range(arrivals.size):
            share = arrivals[j] / total_rate
            for t in range(depth):
                for line in range(lines):
                    below[goes[q, j, t, line]] += share * level[(t + 1) * lines + line]
        below, level = level, below
    for state in range(base):
        result[state] = 0.0
    for t in range(depth + 1):
        for line in range(lines):
            state = start[line + 1] - 1 - t
            if state >= start[line]:
                result[state] += level[t * lines + line]
    for line in range(lines - 1, -1, -1):
        begin = start[line]
        last = 0.0
        for state in range(start[line + 1] - 1, begin - 1, -1):
            x = state - begin
            total = right[state] - out[state] * shift[state] + result[state]
            # Of the next state, one job of the first kind more.
            weight = (total + (x + 1) * rates[0] * last) / out[state]
            result[state] = last = weight
            for k in range(counts.shape[0]):
                if counts[k, line] > 0:
                    rate = counts[k, line] * rates[k + 1]
                    result[before[k, line] + x] += rate * weight
    for state in range(result.size):
        result[state] += shift[state]


@njit(nogil=True, cache=True)
def flow_up(right, start, arrivals, target, out, result):
    """Solve the balance equations with arrivals only; the transpose of `sweep_down`."""
    lines = start.size - 1
    base, total_rate = start[lines], 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    for state in range(result.size):
        result[state] = right[state]
    for state in range(base):
        weight = result[state] / out[state]
        result[state] = weight
        for j in range(arrivals.size):
            if target[j, state] != state:
                result[target[j, state]] += arrivals[j] * weight
    for state in range(base, result.size):
        weight = result[state] / out[state]
        result[state] = weight
        if state + lines < result.size:
            result[state + lines] += total_rate * weight


@njit(nogil=True, cache=True)
def arrival_imbalance(law, start, arrivals, target, out, result):
    """Write the rate into each state by arrivals minus the whole rate out of it."""
    lines = start.size - 1
    base, total_rate = start[lines], 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    for state in range(law.size):
        result[state] = -out[state] * law[state]
    for state in range(base):
        for j in range(arrivals.size):
            if target[j, state] != state:
                result[target[j, state]] += arrivals[j] * law[state]
    for state in range(base + lines, law.size):
        result[state] += total_rate * law[state - lines]


def improve_queue_law(
    law, start, counts, before, rates, arrivals, target, goes, node, ends, out, enough, gain,
    steps,
):  # fmt: skip
    """Improve a distribution in place; return the l1 norm of the residual that it had.

    The residual is what one sweep changes, so it is relative to the probabilities.

    Further arguments:
        law: to improve.
        enough: residual that needs no improvement.
        gain: factor by which a larger one must decrease.
        steps: largest number of steps.
    """
    down = (start, counts, before, rates, arrivals, goes, node, ends, out)
    up = (start, arrivals, target, out)
    right, residual = np.empty(law.size), np.empty(law.size)
    arrival_imbalance(law, *up, right)
    flow_down(right, -law, *down, residual)
    found = float(np.abs(residual).sum())

    def apply(vector, solved, image):
        flow_up(vector, *up, solved)
        flow_down(vector, solved, *down, image)

    if found > enough:
        # More than rounding allows would take all steps for nothing.
        bicgstab(apply, law, residual, max(gain, 0.1 * enough / found), steps)
    return found


@njit(nogil=True, cache=True)
def head_grants(law, start, first, members, arrivals, goes, node, ends, onto, idle, grants):
    """Add the rates at which heads of the queue are granted each kind.

    Further arguments:
        first, members, onto: see `queue_control.improve_queue`.
        idle: idle servers at each node.
        grants: to add to, by class, jobs behind the head (the last row stands for all larger
            numbers), idle servers and kind.
    """
    lines, depth = start.size - 1, goes.shape[2]
    base = start[lines]
    total_rate = 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    below, level = np.zeros((depth + 1) * lines), np.zeros((depth + 1) * lines)
    for q in range(goes.shape[0] - 1, -1, -1):
        row = min(q, grants.shape[1] - 1)
        for i in range(below.size):
            below[i] = 0.0
        for line in range(lines):
            weight = law[base + q * lines + line]
            for k in range(ends.shape[0]):
                level[node[k, line]] += ends[k, line] * weight
        for j in range(arrivals.size):
            share = arrivals[j] / total_rate
            for t in range(depth):
                for line in range(lines):
                    at = (t + 1) * lines + line
                    flow = share * level[at]
                    if flow > 0.0:
                        to = goes[q, j, t, line]
                        below[to] += flow
                        for m in range(first[j], first[j + 1]):
                            if onto[members[m], t, line] == to:
                                grants[j, row, idle[at], members[m]] += flow
        below, level = level, below
