"""What a policy is tuned for: a limit on blocking or on time, or a blocking cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self, final

from moldable.checks import number
from moldable.errors import ControlError
from moldable.policies.value import MOST_COSTLY, ValueFunction
from moldable.system.performance import Estimate, Performance

RULES: Final = {
    "max_blocking": (1.0, "be above 0 and below 1, such as 0.01"),
    "blocking_cost": (MOST_COSTLY, f"be above 0 and below {MOST_COSTLY:g} mean sizes, such as 4"),
    "max_time": (math.inf, "be finite and above 0, such as 4"),
}
"""What each target must stay below, and how that is said."""
TINIEST: Final = 1e-300


@final
@dataclass(frozen=True)
class Target:
    """One of three targets.

    Attributes:
        name: "max_blocking": least mean execution time with at most this blocking; "max_time":
            least blocking with at most this mean execution time; "blocking_cost": least
            (1 - blocking) x mean execution time + cost x blocking.
        value: the limit, or the cost in mean sizes.
        mean_size: of all jobs.
    """

    name: str
    value: float
    mean_size: float

    @classmethod
    def of(
        cls,
        max_blocking: float | None,
        blocking_cost: float | None,
        max_time: float | None,
        mean_size: float,
    ) -> Self:
        """Check the request."""
        given = dict(zip(RULES, (max_blocking, blocking_cost, max_time), strict=True))
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise ControlError(
                f"give exactly one of {', '.join(given)}; got {' and '.join(named) or 'none'}"
            )
        (name,) = named
        value = number(given[name], name, ControlError)
        most, rule = RULES[name]
        if not 0.0 < value < most:
            raise ControlError(f"{value:g} must {rule}", name)
        return cls(name, value, mean_size)

    @property
    def limited(self) -> bool:
        """Is there a limit to keep?"""
        return self.name != "blocking_cost"

    @property
    def on_time(self) -> bool:
        """Is it time that is limited?"""
        return self.name == "max_time"

    def used(self, answer: Performance) -> float:
        """Return the logarithm of the share of the limit that is used, at the interval's far end.

        Where a simulation saw no blocking at all, its interval says nothing about how much.
        """
        figure = answer.mean_execution_time if self.on_time else answer.blocking
        seen = 0.0 if figure.value == 0.0 else _upper(figure)
        return math.log(max(seen, TINIEST) / self.value)

    def kept(self, answer: Performance) -> bool:
        """Is the limit kept at the far end of the interval, if there is one?"""
        figure = answer.mean_execution_time if self.on_time else answer.blocking
        return not self.limited or _upper(figure) <= self.value

    def objective(self, answer: Performance) -> float:
        """Return what is to be as small as possible, apart from the limit."""
        blocking, time = answer.blocking.value, answer.mean_execution_time.value
        if self.limited:
            return blocking if self.on_time else time
        return (1.0 - blocking) * time + self.value * self.mean_size * blocking

    def modelled(self, found: ValueFunction) -> float:
        """Return the logarithm of the limited figure in the model of the value function."""
        figure = found.mean_execution_time if self.on_time else found.blocking
        return math.log(max(figure, TINIEST))


def _upper(figure: Estimate) -> float:
    return figure.value if figure.interval is None else figure.interval[1]
