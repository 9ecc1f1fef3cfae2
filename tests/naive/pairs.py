"""Naive version of the frontier: try every width and every pair of widths."""

from __future__ import annotations

from itertools import combinations


def best_time(curve: dict[int, float], server_time: float) -> float:
    """Return the least mean time of a unit-size job at this mean server-time, or infinity."""
    best = float("inf")
    for width, speedup in curve.items():
        if width / speedup <= server_time * (1 + 1e-12):
            best = min(best, 1 / speedup)
    for (i, s_i), (j, s_j) in combinations(curve.items(), 2):
        cheap, dear = sorted(((i / s_i, 1 / s_i), (j / s_j, 1 / s_j)))
        if cheap[0] < server_time < dear[0]:
            share = (server_time - cheap[0]) / (dear[0] - cheap[0])
            best = min(best, (1 - share) * cheap[1] + share * dear[1])
    return best


def best_division(
    curves: list[dict[int, float]],
    rates: list[float],
    sizes: list[float],
    weights: list[float],
    servers: int,
) -> float:
    """Return the least weighted mean time over all divisions into whole servers."""
    total = sum(rates)

    def best_from(j: int, left: int) -> float:
        if j == len(curves):
            return 0.0
        best = float("inf")
        for count in range(min(curves[j]), left + 1):
            time = best_time(curves[j], count / (rates[j] * sizes[j]))
            if time < float("inf"):
                cost = weights[j] * rates[j] * sizes[j] * time / total
                best = min(best, cost + best_from(j + 1, left - count))
        return best

    return best_from(0, servers)
