"""Sums over groups of states, for the coarse equations that speed up iterations."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def group_steps(start, source, group):
    """Return the least and the largest difference of groups between which there are rates."""
    least, most = 0, 0
    for state in range(start.size - 1):
        for entry in range(start[state], start[state + 1]):
            step = group[source[entry]] - group[state]
            least, most = min(least, step), max(most, step)
    return least, most


@njit(nogil=True, cache=True)
def aggregate(start, source, rate, out, group, restrict, prolong, least, band):
    """Add the equations of the groups, diagonal by diagonal, to `band`.

    Args:
        start: where the equation of each state begins.
        source: the other states in it.
        rate: minus their coefficients.
        out: its own coefficient.
        group: of each state.
        restrict: weight of each equation in that of its group.
        prolong: weight of each state in its group.
        least: the first diagonal, from `group_steps`.
        band: to fill: a row for each group, a column for each diagonal.
    """
    for state in range(out.size):
        own, weight = group[state], restrict[state]
        band[own, -least] += weight * out[state] * prolong[state]
        for entry in range(start[state], start[state + 1]):
            other = source[entry]
            band[own, group[other] - own - least] -= weight * rate[entry] * prolong[other]


@njit(nogil=True, cache=True)
def restricted(group, weight, values, sums):
    """Write the weighted sums of values over groups into `sums`."""
    sums[:] = 0.0
    for state in range(group.size):
        sums[group[state]] += weight[state] * values[state]


@njit(nogil=True, cache=True)
def prolonged(group, weight, values, states):
    """Add the value of its group, weighted, to every state."""
    for state in range(group.size):
        states[state] += weight[state] * values[group[state]]
