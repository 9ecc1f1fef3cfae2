"""Where should a knob be turned next, so that a figure just keeps its limit?

By the slope at first, in steps that may grow; between a value that breaks the limit and one that
keeps it, by what both of them gave.
"""

from __future__ import annotations

from typing import Final, final

MERE_NOISE: Final = 1e-3
"""Slopes below which the knob does not move the figure."""
GROWTH: Final = 2.0
MIDDLE: Final = 0.1
"""Share of the distance between the two values that is kept from either."""

Seen = tuple[float, float]
"""A value of the knob, and the logarithm of how much of the limit it uses."""


@final
class Way:
    """A knob's way towards its limit.

    Attributes:
        waste: share of the limit that may stay unused.
        helps: +1 if turning the knob up uses less of the limit, else -1.
        slope: of the logarithm, as far as is known.
        broken: the last value that broke the limit.
        kept: the last that kept it.
        steps: how many values were noted.
    """

    def __init__(self, waste: float, helps: float, slope: float) -> None:
        self.waste, self.helps, self.slope = waste, helps, slope
        self.broken: Seen | None = None
        self.kept: Seen | None = None
        self.last: Seen | None = None
        self.steps = 0

    def note(self, value: float, log_used: float) -> None:
        """Learn what a value gave."""
        seen = value, log_used
        if self.last is not None and value != self.last[0]:
            slope = (log_used - self.last[1]) / (value - self.last[0])
            self.slope = slope if slope * self.helps < 0.0 else self.slope
        if log_used > 0.0:
            self.broken = seen
        else:
            self.kept = seen
        self.last, self.steps = seen, self.steps + 1

    def arrived(self) -> bool:
        """Is the limit kept by the last value, and hardly wasted?"""
        return self.last is not None and -self.waste <= self.last[1] <= 0.0

    def next(self, small: float, most: float) -> float:
        """Return the value to try next.

        Args:
            small: a small step, where nothing else is known.
            most: the largest step at first.
        """
        if self.last is None:
            raise ValueError("note where the knob stands before asking where to turn it")
        goal, (value, log_used) = -0.5 * self.waste, self.last
        if self.broken is not None and self.kept is not None:
            share = (self.broken[1] - goal) / (self.broken[1] - self.kept[1])
            share = min(max(share, MIDDLE), 1.0 - MIDDLE)
            return self.broken[0] + share * (self.kept[0] - self.broken[0])
        most *= GROWTH ** (self.steps - 1)
        if -self.slope * self.helps > MERE_NOISE:
            return value + max(-most, min(most, (goal - log_used) / self.slope))
        blind = small * GROWTH ** (self.steps - 1)
        return value + (blind if log_used > 0.0 else -blind) * self.helps

    def beyond(self, value: float, small: float) -> float:
        """Return a value further on, where one gave nothing new."""
        if self.broken is not None and self.kept is not None:
            # Towards the safe side: what changes there keeps the limit.
            return value + MIDDLE * (self.kept[0] - value)
        return value + (small if value > self._start() else -small)

    def _start(self) -> float:
        return 0.0 if self.last is None else self.last[0]
