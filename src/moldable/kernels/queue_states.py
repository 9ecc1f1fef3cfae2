"""The chain of a cluster whose jobs wait, first come, first served.

A state is the configuration of the running jobs, the number of waiting jobs and, where it matters,
the class of the first of them, the head. A *node* is a configuration with the class of the head:
configuration x heads + class. States without waiting jobs come first, numbered as configurations;
then follow, for 1, 2, ... waiting jobs, the nodes at which a head may hold.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def offer(
    node, queue, flow, heads, idle, more, chances, shares, owner, mass, nodes, granted, found, left,
    chance,
):  # fmt: skip
    """Offer the idle servers to the head, then to the next head, until one holds or none waits.

    Args:
        node: the configuration, and the class of the head.
        queue: number of waiting jobs, at least 1.
        flow: probability, or rate, of this offer.
        heads: number of classes if states contain the head's class, else 1.
        idle: idle servers of each configuration.
        more: the configuration with one more job in each slot (row).
        chances: probability of each slot, then of each class that holds, by jobs behind the head
            (first axis) and idle servers; the last ones hold for all larger numbers.
        shares: share of each class in the arrivals.
        owner: the class of each slot.
        mass: zeros, two for each node; zeros again afterwards.
        nodes: room for two lists of nodes.
        granted: flow of grants of each slot, to which the grants are added.
        found: to fill: the nodes where this ends, of class 0 if nobody waits.
        left: to fill: waiting jobs then.
        chance: to fill: their probability, or rate.

    Returns:
        The number of outcomes.
    """
    slots = more.shape[0]
    last, reach = chances.shape[0] - 1, chances.shape[1] - 1
    now, count, ends = 0, 1, 0
    nodes[0, 0] = node
    mass[0, node] = flow
    while count > 0:
        behind, after = min(queue - 1, last), 0
        for i in range(count):
            here = nodes[now, i]
            weight = mass[now, here]
            mass[now, here] = 0.0
            config, head = here // heads, here % heads
            row = chances[max(behind, 0), min(idle[config], reach)]
            scale, held = 1.0, 0.0
            if heads > 1:
                scale = 1.0 / shares[head]
                held = row[slots + head] * scale
            else:
                for j in range(slots, row.size):
                    held += row[j]
            if queue == 0 or held > 0.5:  # noqa: PLR2004 - 0 or 1
                found[ends], left[ends], chance[ends] = here, queue, weight
                ends += 1
                continue
            for j in range(slots):
                if row[j] <= 0.0 or (heads > 1 and owner[j] != head):
                    continue
                part = weight * row[j] * scale
                if part == 0.0:  # below the smallest number
                    continue
                granted[j] += part
                # With nobody left to wait, the head has no class.
                for next_head in range(heads if queue > 1 else 1):
                    target = more[j, config] * heads + next_head
                    if mass[1 - now, target] == 0.0:
                        nodes[1 - now, after] = target
                        after += 1
                    share = shares[next_head] if heads > 1 and queue > 1 else 1.0
                    mass[1 - now, target] += part * share
        queue, now, count = queue - 1, 1 - now, after
    return ends


@njit(nogil=True, cache=True)
def _add(target, flow, first, entry, column, rate, mark):
    """Add a rate to the row that began at `first`; return the next free entry, -1 if none is."""
    if mark[target] >= first:
        rate[mark[target]] += flow
        return entry
    if entry == column.size:
        return -1
    column[entry], rate[entry], mark[target] = target, flow, entry
    return entry + 1


@njit(nogil=True, cache=True)
def forward_rates(
    state, counts, idle, fewer, more, rates, moves, arrival_rate, chances, shares, owner, heads,
    waiting, place, top, start, column, rate, mark,
):  # fmt: skip
    """Fill the rates out of states, row by row, until they end or there is no room for a row.

    Args:
        state: the first one to fill; `start[state]` says where its row begins.
        counts: jobs in each slot, a column for each configuration.
        idle: idle servers of each configuration.
        fewer: the configuration with one job less in each slot (row).
        more: that with one job more.
        rates: at which a job in each slot completes its phase.
        moves: probability of each next phase, by slot (row); the rest to 1: completed.
        arrival_rate: of all classes.
        chances: see `offer`.
        shares: see `offer`.
        owner: see `offer`.
        heads: see `offer`.
        waiting: the nodes at which a head may hold.
        place: their positions in `waiting`, for each node.
        top: largest number of waiting jobs; further arrivals are left out.
        start: to fill: where each row begins.
        column: to fill: the states that it leads to.
        rate: to fill: the rates.
        mark: one number for each state up to the last that is led to, -1 at first.

    Returns:
        The next state to fill; the number of states to fill if all are.
    """
    slots, configs = counts.shape
    phases, reach, states = moves.shape[1], chances.shape[1] - 1, start.size - 1
    mass = np.zeros((2, configs * heads))
    nodes = np.empty((2, configs * heads), np.int64)
    found, left = np.empty(configs * heads, np.int64), np.empty(configs * heads, np.int64)
    chance, granted = np.empty(configs * heads), np.zeros(slots)
    while state < states:
        first = entry = start[state]
        if state < configs:
            queue, node = 0, state * heads
        else:
            queue = 1 + (state - configs) // waiting.size
            node = waiting[(state - configs) % waiting.size]
        config = node // heads
        if queue > 0 and queue < top:
            entry = _add(state + waiting.size, arrival_rate, first, entry, column, rate, mark)
        elif queue == 0:
            row = chances[0, min(idle[config], reach)]
            for j in range(slots):
                if row[j] > 0.0 and entry >= 0:
                    flow = arrival_rate * row[j]
                    entry = _add(more[j, config], flow, first, entry, column, rate, mark)
            for j in range(slots, row.size):
                if row[j] > 0.0 and entry >= 0 and top > 0:
                    into = config * heads + (j - slots if heads > 1 else 0)
                    target, flow = configs + place[into], arrival_rate * row[j]
                    entry = _add(target, flow, first, entry, column, rate, mark)
        for j in range(slots):
            if counts[j, config] == 0 or entry < 0:
                continue
            flow, done, without = rates[j] * counts[j, config], 1.0, fewer[j, config]
            for k in range(phases):
                done -= moves[j, k]
                if moves[j, k] > 0.0 and entry >= 0:
                    target = more[j - j % phases + k, without]
                    if queue > 0:
                        at = place[target * heads + node % heads]
                        target = configs + (queue - 1) * waiting.size + at
                    entry = _add(target, flow * moves[j, k], first, entry, column, rate, mark)
            if done <= 1e-14 or entry < 0:  # noqa: PLR2004 - rounding
                continue
            if queue == 0:
                entry = _add(without, flow * done, first, entry, column, rate, mark)
                continue
            ends = offer(
                without * heads + node % heads, queue, flow * done, heads, idle, more, chances,
                shares, owner, mass, nodes, granted, found, left, chance,
            )  # fmt: skip
            for i in range(ends):
                target = found[i] // heads
                if left[i] > 0:
                    target = configs + (left[i] - 1) * waiting.size + place[found[i]]
                if entry >= 0:
                    entry = _add(target, chance[i], first, entry, column, rate, mark)
        if entry < 0:
            for i in range(first, column.size):
                mark[column[i]] = -1
            return state
        state += 1
        start[state] = entry
    return state


@njit(nogil=True, cache=True)
def granted_to_heads(
    node, queue, weight, counts, idle, fewer, more, rates, moves, chances, shares, owner, heads,
    granted,
):  # fmt: skip
    """Add the rates at which waiting jobs are granted each slot to `granted`.

    Args:
        node: of each state.
        queue: its waiting jobs, at least 1.
        weight: its probability.
        counts: see `forward_rates`.
        idle: see `forward_rates`.
        fewer: see `forward_rates`.
        more: see `forward_rates`.
        rates: see `forward_rates`.
        moves: see `forward_rates`.
        chances: see `offer`.
        shares: see `offer`.
        owner: see `offer`.
        heads: see `offer`.
        granted: one number for each slot.
    """
    slots, configs = counts.shape
    mass = np.zeros((2, configs * heads))
    nodes = np.empty((2, configs * heads), np.int64)
    found, left = np.empty(configs * heads, np.int64), np.empty(configs * heads, np.int64)
    chance = np.empty(configs * heads)
    for state in range(node.size):
        config, head = node[state] // heads, node[state] % heads
        for j in range(slots):
            done = 1.0
            for k in range(moves.shape[1]):
                done -= moves[j, k]
            flow = weight[state] * rates[j] * counts[j, config] * done
            if flow > 0.0 and done > 1e-14:  # noqa: PLR2004 - rounding
                offer(
                    fewer[j, config] * heads + head, queue[state], flow, heads, idle, more,
                    chances, shares, owner, mass, nodes, granted, found, left, chance,
                )  # fmt: skip
