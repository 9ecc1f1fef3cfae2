"""Arrival processes."""

from __future__ import annotations

from moldable.model.arrivals import Arrivals, ArrivalTimes, MarkovModulated, Poisson, Renewal

__all__ = [
    "ArrivalTimes",
    "Arrivals",
    "MarkovModulated",
    "Poisson",
    "Renewal",
]
