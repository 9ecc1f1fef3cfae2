"""What is a good policy? Least time under a limit on blocking, or the like."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import number
from moldable.errors import ControlError
from moldable.optimal.optimal_control import DEAREST
from moldable.system.performance import Performance

HOPELESS: Final = 1e300
"""Merit from which a policy breaks the limit: any that keeps it is better, in any unit of time."""
FARTHEST: Final = 1e7
"""Times the limit on time beyond which all policies are alike."""

SEARCHED: Final = 1e-4
"""Blocking that a search of some seconds still counts well."""


RULES: Final = {
    "max_blocking": (1.0, "be above 0 and below 1, such as 0.01"),
    "blocked_job_price": (
        DEAREST,
        f"be above 0 and below {DEAREST:g}, in mean sizes, such as 4; or limit blocking instead",
    ),
    "max_time": (math.inf, "be finite and above 0, such as 4"),
}
"""What each target must stay below, and how that is said."""


@final
@dataclass(frozen=True)
class Target:
    """What to reach; exactly one of the three is given.

    Attributes:
        max_blocking: least mean execution time with at most this blocking.
        blocked_job_price: least cost per arrival, (1 - blocking) x time + price x blocking.
        max_time: least blocking with at most this mean execution time.
        unit: the mean size, in which the price is counted.
    """

    max_blocking: float | None
    blocked_job_price: float | None
    max_time: float | None
    unit: float

    @classmethod
    def of(
        cls,
        max_blocking: float | None,
        blocked_job_price: float | None,
        max_time: float | None,
        unit: float,
    ) -> Self:
        """Check the request."""
        values = max_blocking, blocked_job_price, max_time
        given = dict(zip(RULES, values, strict=True))
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise ControlError(
                f"give exactly one of {', '.join(given)}; got {' and '.join(named) or 'none'}"
            )
        value = number(given[named[0]], named[0], ControlError)
        most, rule = RULES[named[0]]
        if not 0.0 < value < most:
            raise ControlError(f"{value:g} must {rule}", named[0])
        found: dict[str, float | None] = dict.fromkeys(RULES)
        return cls(**found | {named[0]: value}, unit=unit)

    @property
    def asked(self) -> dict[str, float]:
        """The one target that was given, by its name."""
        given = {name: getattr(self, name) for name in RULES}
        return {name: float(value) for name, value in given.items() if value is not None}

    @property
    def limit(self) -> float | None:
        """The limit, if there is one."""
        return self.max_time if self.max_blocking is None else self.max_blocking

    def eased(self, times: float) -> Self:
        """Return the target with a limit that many times as large."""
        if self.max_blocking is not None:
            return replace(self, max_blocking=times * self.max_blocking)
        if self.max_time is not None:
            return replace(self, max_time=times * self.max_time)
        return self

    @property
    def rare(self) -> bool:
        """Is the limit on blocking too rare for a search that counts?"""
        return self.max_blocking is not None and self.max_blocking < SEARCHED

    def countable(self) -> Self:
        """Return the target with a limit that a search can count."""
        return replace(self, max_blocking=SEARCHED) if self.rare else self

    def merit(self, blocking: float, time: float) -> float:
        """Return what is to be as small as possible."""
        if self.max_blocking is not None:
            over = math.log(max(blocking, 1e-300) / self.max_blocking)
            return time if over <= 0.0 else HOPELESS * (1.0 + over)
        if self.max_time is not None:
            over = float(time) / self.max_time if time < FARTHEST * self.max_time else FARTHEST
            return blocking if over <= 1.0 else HOPELESS * over
        return self.cost(blocking, time)

    def merit_of(self, answer: Performance) -> float:
        """Return the merit of a policy that was evaluated."""
        return self.merit(answer.blocking.value, answer.mean_execution_time.value)

    def kept(self, blocking: float, time: float) -> bool:
        """Is the limit kept, if there is one?"""
        return self.merit(blocking, time) < HOPELESS

    def cost(self, blocking: float, time: float) -> float:
        """Return the cost per arrival at the price of a blocked job."""
        price = 0.0 if self.blocked_job_price is None else self.blocked_job_price * self.unit
        return (1.0 - blocking) * time + price * blocking

    def along(self, knob: Floats, blocking: Floats, time: Floats) -> tuple[float, float] | None:
        """Find where a knob that trades blocking for time is best; return it and its merit.

        The figures are read between the given points; None if the limit is kept at none of them.
        """
        if self.max_blocking is not None:
            logs = np.log(np.maximum(blocking, 1e-12))
            return _crossing(knob, math.log(self.max_blocking) - logs, time)
        if self.max_time is not None:
            kept = _crossing(-knob[::-1], self.max_time - time[::-1], blocking[::-1])
            if kept is None:
                return None
            # The narrowest jobs do not always block least.
            i = int(np.argmin(np.where(time <= self.max_time, blocking, np.inf)))
            edge, inside = (-kept[0], kept[1]), (float(knob[i]), float(blocking[i]))
            return min(edge, inside, key=lambda found: found[1])
        costs = np.array([self.cost(b, t) for b, t in zip(blocking, time, strict=True)])
        return _lowest(knob, costs)


def _crossing(knob: Floats, slack: Floats, merit: Floats) -> tuple[float, float] | None:
    """Return the first point at which the slack, which grows with the knob, is not negative."""
    kept = np.flatnonzero(slack >= 0.0)
    if kept.size == 0:
        return None
    i = int(kept[0])
    if i == 0 or np.isinf(slack[i - 1]):  # nothing to interpolate from: every job was blocked
        return float(knob[i]), float(merit[i])
    share = float(slack[i - 1] / (slack[i - 1] - slack[i]))
    return (
        float(knob[i - 1] + share * (knob[i] - knob[i - 1])),
        float(merit[i - 1] + share * (merit[i] - merit[i - 1])),
    )


def _lowest(knob: Floats, costs: Floats) -> tuple[float, float]:
    """Return the bottom of the parabola through the least cost and its neighbours."""
    i = int(np.argmin(costs))
    if 0 < i < costs.size - 1:
        left, mid, right = costs[i - 1 : i + 2]
        bend = left - 2.0 * mid + right
        if bend > 0.0:
            shift = 0.5 * float((left - right) / bend)
            step = float(knob[i + 1] - knob[i])
            return float(knob[i]) + shift * step, float(mid - 0.25 * (left - right) * shift)
    return float(knob[i]), float(costs[i])
