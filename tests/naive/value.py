"""Naive version of the value policy: dense linear algebra, and no idle counts left out.

Kinds are tuples (class, width, mean time, weight), classes given by their arrival rates.
"""

from __future__ import annotations

import numpy as np

STRAY = 1e-6


def arrivals(kinds, rates, table, idle):
    """Return the arrival rate of each kind with `idle` idle servers."""
    found = []
    for k, (j, width, _, _) in enumerate(kinds):
        fitting = sum(1 for other in kinds if other[0] == j and other[1] <= idle)
        own = rates[j] * (1.0 - STRAY) if table[j][idle] == k else 0.0
        found.append(own + (STRAY * rates[j] / fitting if width <= idle else 0.0))
    return found


def dense_generator(kinds, coming, going):
    """Return the generator of the idle servers; departures that do not fit are left out."""
    states = len(coming)
    generator = np.zeros((states, states))
    for z in range(states):
        for k, (_, width, _, _) in enumerate(kinds):
            if z + width >= states:
                going[z, k] = 0.0
            for to, rate in ((z - width, coming[z, k]), (z + width, going[z, k])):
                if rate > 0.0:
                    generator[z, to] += rate
                    generator[z, z] -= rate
    return generator


def value_round(kinds, rates, servers, table, shares, charge):
    """Return the distribution, new shares, g, the kinds' values, the rent and a better table."""
    states, count = servers + 1, len(kinds)
    coming = np.array([arrivals(kinds, rates, table, z) for z in range(states)])
    going = np.array(
        [
            [
                (servers - z) * share / (width * time)
                for share, (_, width, time, _) in zip(shares, kinds, strict=True)
            ]
            for z in range(states)
        ]
    )
    generator = dense_generator(kinds, coming, going)
    equations = np.vstack([generator.T, np.ones(states)])
    law = np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)[0]
    widths = np.array([kind[1] for kind in kinds])
    times = np.array([kind[2] for kind in kinds])
    own = times * np.array([kind[3] for kind in kinds])
    running = (law @ coming) * times
    blocked = sum(rates) - coming.sum(axis=1)
    cost = coming @ own + charge * blocked
    # Unknown: g at every state, a of every kind, the rent, and the mean cost.
    size = states + count + 2
    matrix, right = np.zeros((size + 1, size)), np.zeros(size + 1)
    matrix[:states, :states] = generator
    matrix[:states, states : states + count] = coming - going
    matrix[:states, -1] = -1.0
    right[:states] = -cost
    weights = law * (servers - np.arange(states))
    weights /= weights.sum()
    for k in range(count):
        row = matrix[states + k]
        row[states + k], row[states + count] = 1.0, -widths[k] * times[k]
        for z in range(states - widths[k]):
            row[z + widths[k]] -= weights[z]
            row[z] += weights[z]
    matrix[states + count, states : states + count] = running
    matrix[size - 1, 0] = 1.0
    matrix[size - 1, 1:states] = 0.0
    found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    g, a, rent = found[:states], found[states : states + count], found[states + count]
    better = [[-1] * states for _ in rates]
    for j in range(len(rates)):
        for z in range(states):
            fitting = [k for k in range(count) if kinds[k][0] == j and widths[k] <= z]
            if fitting:
                costs = [own[k] + a[k] + g[z - widths[k]] - g[z] for k in fitting]
                better[j][z] = fitting[int(np.argmin(costs))]
    held = running * widths
    return law, held / held.sum(), g, a, rent, better


def value_table(kinds, rates, servers, charge, rounds=400):
    """Iterate until the table and the shares no longer change, from the fastest widths that fit."""
    table = [
        [
            max((k for k, (own, w, _, _) in enumerate(kinds) if own == j and w <= z), default=-1)
            for z in range(servers + 1)
        ]
        for j in range(len(rates))
    ]
    used = np.array([any(k in row for row in table) for k in range(len(kinds))], dtype=float)
    shares = used / used.sum()
    for _ in range(rounds):
        law, new, g, a, rent, better = value_round(kinds, rates, servers, table, shares, charge)
        if better == table and np.abs(new - shares).max() < 1e-9:
            break
        table, shares = better, new
    return table, law, shares, g, a, rent
