"""The price rule by its words: try every width that fits, add up what its servers cost."""

from __future__ import annotations

from math import fsum


def charge(price, width: int, idle: int, form: str) -> float:
    """What `width` servers cost a unit of time, `price(idle)` being the price of one."""
    if form == "present":
        return width * price(idle)
    return fsum(price(idle - taken) for taken in range(width))


def cheapest(speedups: dict[int, float], price, idle: int, form: str, weight: float = 1.0):
    """The widths of least cost, within 1e-12; none if none fits."""
    costs = {
        width: (weight + charge(price, width, idle, form)) / faster
        for width, faster in speedups.items()
        if width <= idle
    }
    least = min(costs.values(), default=0.0)
    return [width for width, cost in costs.items() if cost <= least * (1.0 + 1e-12)]
