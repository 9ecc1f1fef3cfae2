"""An arrival rate that may change: counts over time, where older ones count less."""

from __future__ import annotations

import math
from typing import final

from moldable.checks import positive
from moldable.errors import InputError


@final
class ArrivalRate:
    """An arrival rate, estimated from the times of arrivals.

    Arrivals and time both lose weight exponentially, so the estimate is their ratio over about the
    last `memory` arrivals.

    Args:
        prior: rate that is assumed at first.
        memory: number of arrivals after which one counts e times less, at the prior rate.
        strength: number of arrivals that the prior counts as.

    Examples:
        >>> rate = ArrivalRate(2.0, memory=1000, strength=1)
        >>> for time in range(1, 5001):
        ...     rate.arrive(float(time))
        >>> round(rate.value, 2)
        1.0
    """

    def __init__(self, prior: float, memory: float, strength: float) -> None:
        self.lasts = positive(memory, "memory", InputError) / positive(prior, "prior", InputError)
        self.count = positive(strength, "strength", InputError)
        self.time = self.count / prior
        self._last: float | None = None

    def arrive(self, time: float) -> None:
        """Add an arrival; observation begins with the first one."""
        if self._last is not None:
            # Processes that share a journal may write out of order.
            passed = max(time - self._last, 0.0)
            kept = math.exp(-passed / self.lasts)
            self.count = self.count * kept + 1.0
            self.time = self.time * kept + self.lasts * (1.0 - kept)
        self._last = time if self._last is None else max(time, self._last)

    @property
    def value(self) -> float:
        """The estimate."""
        return self.count / self.time
