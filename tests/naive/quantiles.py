"""Naive version of a table of quantiles: one number at a time, by bisection."""

from __future__ import annotations

import math


def quantile(cdf, e):
    """Return the x at which the distribution function reaches 1 - exp(-e)."""
    wanted = -math.expm1(-e)
    low, high = 0.0, 1.0
    while cdf(high) < wanted:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if cdf(middle) < wanted else (low, middle)
    return high


def look_up(table, e):
    """Find the cell of e by comparing, and evaluate its cubic."""
    cells = 2 ** (52 - int(table[0]))
    exponent = -36
    while e >= 2.0 ** (exponent + 1):
        exponent += 1
    passed = (e / 2.0**exponent - 1.0) * cells
    cell = int(passed)
    a, b, c, d = table[2 + 4 * ((exponent + 36) * cells + cell) :][:4]
    share = passed - cell
    return a + share * (b + share * (c + share * d))


def look_between(table, e):
    """Try one piece after the other, and evaluate its cubic."""
    cells = int(table[2])
    pieces = [table[at : at + 6] for at in range(4 + cells, len(table), 6)]
    begin, inverse, a, b, c, d = [piece for piece in pieces if piece[0] <= e][-1]
    share = (e - begin) * inverse
    return math.exp(a + share * (b + share * (c + share * d)))
