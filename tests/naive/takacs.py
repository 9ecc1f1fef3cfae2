"""Blocking with any gaps and exponential sizes of mean 1: Takacs's formula for GI/M/c/c."""

from __future__ import annotations

import math

from scipy.integrate import quad


def pareto_transform(shape, mean, s):
    """Return the Laplace transform of a Pareto law, by integrating over its tail."""
    least = mean * (shape - 1.0) / shape
    return quad(lambda u: math.exp(-s * least * u ** (-1.0 / shape)), 0.0, 1.0, limit=500)[0]


def blocking(transform, servers):
    """Return the share of arrivals that find all servers busy."""
    total = product = 1.0
    for k in range(1, servers + 1):
        product *= (1.0 - transform(k)) / transform(k)
        total += math.comb(servers, k) * product
    return 1.0 / total
