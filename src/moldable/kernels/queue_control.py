"""Policy iteration on a chain of counts with a queue: values of states, and the best widths.

States without waiting jobs are ordered in lines as in `value_iteration`. The cluster is *full* in
the last state of each line: no further job of the narrowest width fits. Jobs wait only then, so the
states with q waiting jobs, one for each line, follow as levels q = 1, 2, ...

A completion while jobs wait is followed by grants until the cluster is full or nobody waits. On the
way the cluster passes *nodes* (t, line): full but for t jobs of the narrowest width. Node (0, line)
is the full state itself. A node has the index t x lines + line in the arrays of one level. Grants
lead to nodes of the level below, so two levels of nodes are kept at a time.

Completions lead to earlier states, arrivals to later ones. One sweep in each direction therefore
solves the two triangular parts of the equations, and the matrix itself is never applied: its
product with a sweep's result follows from the other sweep (Eisenstat 1981).

All kernels share these arguments:
    start: first state of each line, followed by the number of states without waiting jobs.
    counts: jobs of the kinds after the first (rows), by line.
    before: first state of the line with one job less of each of them.
    rates: completion rate of a job of each kind.
    arrivals: arrival rate of each class.
    target: state after an arrival of each class (row) at states without waiting jobs; the state
        itself if the job is blocked.
    goes: node of the level below to which the job at the head of the queue leads, by level, class,
        free places for narrow jobs from 1, and line.
    node: node after a completion of each kind (row) in the full state of each line.
    ends: total rate of these completions; 0 if there is no such job.
    out: total rate out of each state.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from moldable.kernels.bicgstab import bicgstab


@njit(nogil=True, cache=True)
def improve_queue(
    values, start, counts, before, after, room, rates, first, members, arrivals, node, ends, onto,
    jobs, overflow, keep, target, decisions, goes,
):  # fmt: skip
    """Choose the best width in every state; return the number of changes and two bounds.

    For any values, the smallest and the largest change of value per unit of time, including the
    number of jobs in the system, bound the optimal cost per unit of time.

    Further arguments:
        values: of the states.
        after: first state of the line with one job more of each kind after the first.
        room: length of that line; 0 if such a job does not fit.
        first: where the kinds of each class begin in `members`, followed by their number.
        members: the kinds of each class; the first is preferred on ties.
        onto: node to which granting each kind leads, by kind, free places from 1 and line; -1 if it
            does not fit.
        jobs: running jobs in the full state of each line.
        overflow: cost of an arrival that finds all waiting places taken.
        keep: smallest improvement for which a decision is changed.
        target: updated.
        decisions: kind granted to an arrival of each class (row) in states without waiting jobs, -1
            for none; updated.
        goes: updated.
    """
    lines, places, depth = start.size - 1, goes.shape[0], onto.shape[1]
    changed, least, most = 0, np.inf, -np.inf
    base, total_rate = start[lines], 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    for line in range(lines):
        begin = start[line]
        length = start[line + 1] - begin
        others = 0
        for k in range(counts.shape[0]):
            others += counts[k, line]
        for x in range(length):
            state = begin + x
            here = values[state]
            change = float(others + x)
            if x > 0:
                change += x * rates[0] * (values[state - 1] - here)
            for k in range(counts.shape[0]):
                if counts[k, line] > 0:
                    rate = counts[k, line] * rates[k + 1]
                    change += rate * (values[before[k, line] + x] - here)
            if x + 1 == length:
                to = base + line if places > 0 else state
                for j in range(arrivals.size):
                    target[j, state] = to
                    decisions[j, state] = -1
                change += total_rate * (values[to] - here if places > 0 else overflow)
            else:
                for j in range(arrivals.size):
                    best, chosen, onward = np.inf, -1, state
                    present, stays = decisions[j, state], np.inf
                    for m in range(first[j], first[j + 1]):
                        kind = members[m]
                        if kind == 0:
                            to = state + 1
                        elif x < room[kind - 1, line]:
                            to = after[kind - 1, line] + x
                        else:
                            continue
                        if kind == present:
                            stays = values[to]
                        if values[to] < best:
                            best, chosen, onward = values[to], kind, to
                    change += arrivals[j] * (best - here)
                    if not stays <= best + keep:
                        changed += 1
                        decisions[j, state], target[j, state] = chosen, onward
            least, most = min(least, change), max(most, change)
    below, level = np.zeros((depth + 1) * lines), np.zeros((depth + 1) * lines)
    nodes_without_waiting(values, start, below)
    for q in range(1, places + 1):
        for t in range(1, depth + 1):
            for line in range(lines):
                value = 0.0
                for j in range(arrivals.size):
                    best, chosen = np.inf, 0
                    present, stays = goes[q - 1, j, t - 1, line], np.inf
                    for m in range(first[j], first[j + 1]):
                        to = onto[members[m], t - 1, line]
                        if to >= 0:
                            if to == present:
                                stays = below[to]
                            if below[to] < best:
                                best, chosen = below[to], to
                    if best < np.inf:
                        value += arrivals[j] * best
                        if not stays <= best + keep:
                            changed += 1
                            goes[q - 1, j, t - 1, line] = chosen
                level[t * lines + line] = value / total_rate
        for line in range(lines):
            state = base + (q - 1) * lines + line
            here = values[state]
            change = float(jobs[line] + q)
            for k in range(ends.shape[0]):
                change += ends[k, line] * (level[node[k, line]] - here)
            change += total_rate * (values[state + lines] - here if q < places else overflow)
            level[line] = here
            least, most = min(least, change), max(most, change)
        below, level = level, below
    return changed, least, most


@njit(nogil=True, cache=True)
def head_values(values, start, first, members, arrivals, onto, waiting):
    """Return the values of all nodes from which this many jobs wait to be granted the best widths.

    The arguments are those of `improve_queue`; `onto` may reach deeper than one completion leads.
    """
    lines, depth = start.size - 1, onto.shape[1]
    base, total_rate = start[lines], 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    below, level = np.zeros((depth + 1) * lines), np.zeros((depth + 1) * lines)
    nodes_without_waiting(values, start, below)
    for q in range(waiting):
        for line in range(lines):
            level[line] = values[base + q * lines + line]
        for t in range(depth):
            for line in range(lines):
                value = 0.0
                for j in range(arrivals.size):
                    best = np.inf
                    for m in range(first[j], first[j + 1]):
                        to = onto[members[m], t, line]
                        if to >= 0:
                            best = min(best, below[to])
                    value += arrivals[j] * best
                level[(t + 1) * lines + line] = value / total_rate
        below, level = level, below
    return below


@njit(nogil=True, cache=True)
def nodes_without_waiting(values, start, nodes):
    """Write the values of nodes at which nobody waits any more: they are states."""
    lines = start.size - 1
    for t in range(nodes.size // lines):
        for line in range(lines):
            # Nodes beyond the beginning of a line do not exist and are not used.
            nodes[t * lines + line] = values[max(start[line + 1] - 1 - t, start[line])]


@njit(nogil=True, cache=True)
def sweep_up(
    right, shift, start, counts, before, rates, arrivals, goes, node, ends, out, result,
):  # fmt: skip
    """Solve the lower triangular part of the equations for `right - out x shift + shift[0]`.

    The result is the solution plus `shift`. If `shift` solves the upper triangular part for
    `right`, this is the product of the preconditioned matrix with `right`.
    """
    lines, depth = start.size - 1, goes.shape[2]
    base, empty = start[lines], shift[0]
    for line in range(lines):
        begin = start[line]
        last = 0.0
        for state in range(begin, start[line + 1]):
            x = state - begin
            total = right[state] - out[state] * shift[state] + empty
            for k in range(counts.shape[0]):
                if counts[k, line] > 0:
                    total += counts[k, line] * rates[k + 1] * result[before[k, line] + x]
            # Only one product and one sum depend on the previous state.
            share = 1.0 / out[state]
            last = share * total + share * (x * rates[0]) * last
            result[state] = last
    below, level = np.zeros((depth + 1) * lines), np.zeros((depth + 1) * lines)
    nodes_without_waiting(result, start, below)
    total_rate = 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    for q in range(goes.shape[0]):
        granted_values(q, arrivals, total_rate, goes, below, level)
        for line in range(lines):
            state = base + q * lines + line
            total = right[state] - out[state] * shift[state] + empty
            for k in range(ends.shape[0]):
                total += ends[k, line] * level[node[k, line]]
            level[line] = total / out[state]
            result[state] = level[line]
        below, level = level, below
    for state in range(result.size):
        result[state] += shift[state]


@njit(nogil=True, cache=True)
def granted_values(q, arrivals, total_rate, goes, below, level):
    """Write the values of the nodes of a level from those of the level below."""
    lines = goes.shape[3]
    for t in range(goes.shape[2]):
        at = (t + 1) * lines
        if arrivals.size == 1:
            for line in range(lines):
                level[at + line] = below[goes[q, 0, t, line]]
        else:
            for line in range(lines):
                value = 0.0
                for j in range(arrivals.size):
                    value += arrivals[j] * below[goes[q, j, t, line]]
                level[at + line] = value / total_rate


@njit(nogil=True, cache=True)
def sweep_down(right, start, arrivals, target, out, result):
    """Solve the upper triangular part of the equations."""
    lines = start.size - 1
    base, total_rate = start[lines], 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    for state in range(result.size - 1, base - 1, -1):
        total = right[state]
        if state + lines < result.size:
            total += total_rate * result[state + lines]
        result[state] = total / out[state]
    for state in range(base - 1, -1, -1):
        total = right[state]
        for j in range(arrivals.size):
            if target[j, state] != state:
                total += arrivals[j] * result[target[j, state]]
        result[state] = total / out[state]


@njit(nogil=True, cache=True)
def arrival_residual(values, cost, start, arrivals, target, out, result):
    """Write the residual of the equations except for completions and the cost per unit of time."""
    lines = start.size - 1
    base, total_rate = start[lines], 0.0
    for j in range(arrivals.size):
        total_rate += arrivals[j]
    for state in range(base):
        total = cost[state] - out[state] * values[state]
        for j in range(arrivals.size):
            if target[j, state] != state:
                total += arrivals[j] * values[target[j, state]]
        result[state] = total
    for state in range(base, values.size):
        total = cost[state] - out[state] * values[state]
        if state + lines < values.size:
            total += total_rate * values[state + lines]
        result[state] = total


def queue_values(
    values, cost, start, counts, before, rates, arrivals, target, goes, node, ends, out, accuracy,
    steps,
):  # fmt: skip
    """Improve the values of a fixed policy in place; return steps and what is left of the residual.

    The equations are `out x value - values of next states + value of the empty state = cost`, so
    the empty state's value is the cost per unit of time. They are solved by BiCGSTAB between two
    sweeps; the residual is that after a sweep up.

    Further arguments:
        values: to improve.
        cost: per unit of time in each state.
        accuracy: factor by which the residual must decrease.
        steps: largest number of steps.
    """
    up = (start, counts, before, rates, arrivals, goes, node, ends, out)
    down = (start, arrivals, target, out)
    right, residual = np.empty(values.size), np.empty(values.size)
    arrival_residual(values, cost, *down, right)
    sweep_up(right, -values, *up, residual)

    def apply(vector, solved, image):
        sweep_down(vector, *down, solved)
        sweep_up(vector, solved, *up, image)

    return bicgstab(apply, values, residual, accuracy, steps)
