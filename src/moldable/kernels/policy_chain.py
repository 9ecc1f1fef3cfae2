"""Find the recurrent states of a policy that depends on all running jobs, and their rates.

The order of states and the common arguments are those of `value_iteration`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def recurrent(start, counts, before, target, place, waiting):
    """Number the states that can be reached from the empty system; return how many there are.

    Further arguments:
        place: to fill: the number of each such state, -1 for all others.
        waiting: scratch memory, one entry for each state.
    """
    line_of = np.empty(place.size, np.int32)
    for line in range(start.size - 1):
        # Slices would take seconds longer to compile.
        for state in range(start[line], start[line + 1]):
            line_of[state] = line
            place[state] = -1
    place[0], waiting[0] = 0, 0
    left = 1
    while left > 0:
        left -= 1
        state = waiting[left]
        line = line_of[state]
        x = state - start[line]
        for move in range(target.shape[0] + counts.shape[0] + 1):
            to = state
            if move < target.shape[0]:
                to = target[move, state]
            elif move == target.shape[0] + counts.shape[0]:
                to = state - 1 if x > 0 else state
            elif counts[move - target.shape[0], line] > 0:
                to = before[move - target.shape[0], line] + x
            if place[to] < 0:
                place[to] = 0
                waiting[left] = to
                left += 1
    number = 0
    for state in range(place.size):
        if place[state] == 0:
            place[state] = number
            number += 1
    return number


@njit(nogil=True, cache=True)
def policy_inflow(
    start, counts, before, after, room, rates, arrivals, owner, decisions, place, row, source,
    rate, out,
):  # fmt: skip
    """Fill the rates into every recurrent state under a policy; return how many rates there are.

    Further arguments:
        owner: the class of each kind.
        place: from `recurrent`.
        row: to fill: where the row of each recurrent state begins.
        source: to fill: the recurrent states that lead to it.
        rate: to fill: their rates.
        out: to fill: the total rate out of each recurrent state.
    """
    entry = 0
    for line in range(start.size - 1):
        begin = start[line]
        length = start[line + 1] - begin
        for x in range(length):
            state = begin + x
            here = place[state]
            if here < 0:
                continue
            row[here] = entry
            total = x * rates[0]
            for j in range(arrivals.size):
                if decisions[j, state] >= 0:
                    total += arrivals[j]
            for kind in range(rates.size):
                k = kind - 1
                jobs = x if kind == 0 else counts[k, line]
                if jobs > 0:
                    origin = state - 1 if kind == 0 else before[k, line] + x
                    if decisions[owner[kind], origin] == kind and place[origin] >= 0:
                        source[entry], rate[entry] = place[origin], arrivals[owner[kind]]
                        entry += 1
                    if kind > 0:
                        total += jobs * rates[kind]
                fits = x + 1 < length if kind == 0 else x < room[k, line]
                if fits:
                    origin = state + 1 if kind == 0 else after[k, line] + x
                    if place[origin] >= 0:
                        source[entry], rate[entry] = place[origin], (jobs + 1) * rates[kind]
                        entry += 1
            out[here] = total
    row[row.size - 1] = entry
    return entry
