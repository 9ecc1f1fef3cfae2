"""Targets for tuning: a limit on blocking or on time, or a blocking cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self, final

from moldable.checks import number
from moldable.errors import ControlError
from moldable.policies.value import MOST_COSTLY, ValueFunction
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance

RULES: Final = {
    "max_blocking": (1.0, "be above 0 and below 1, such as 0.01"),
    "blocking_cost": (MOST_COSTLY, f"be above 0 and below {MOST_COSTLY:g} mean sizes, such as 4"),
    "max_time": (math.inf, "be finite and above 0, such as 4"),
}
"""The upper bound of each target, and the rule in words."""
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
    def of(cls, mean_size: float, **given: float | None) -> Self:
        """Check the request: exactly one of the targets by name, the others None."""
        named = [name for name in RULES if given.get(name) is not None]
        if len(named) != 1:
            raise ControlError(
                f"give exactly one of {', '.join(RULES)}; got {' and '.join(named) or 'none'}"
            )
        (name,) = named
        value = number(given[name], name, ControlError)
        most, rule = RULES[name]
        if not 0.0 < value < most:
            raise ControlError(f"{value:g} must {rule}", name)
        return cls(name, value, mean_size)

    @property
    def limited(self) -> bool:
        """Whether there is a limit to keep."""
        return self.name != "blocking_cost"

    @property
    def on_time(self) -> bool:
        """Whether the limit is on the mean execution time."""
        return self.name == "max_time"

    def used(self, answer: Performance) -> float:
        """Return the logarithm of the share of the limit used at the interval's upper end.

        A simulation in which no job was blocked counts as 0: its interval is not informative.
        """
        upper = 0.0 if self._figure(answer).value == 0.0 else self.upper(answer)
        return math.log(max(upper, TINIEST) / self.value)

    def estimated(self, answer: Performance) -> float:
        """Return the logarithm of the share of the limit used by the estimate itself."""
        return math.log(max(self._figure(answer).value, TINIEST) / self.value)

    def kept(self, answer: Performance) -> bool:
        """Return whether the limit, if any, is kept at the upper end of the interval."""
        return not self.limited or self.upper(answer) <= self.value

    def objective(self, answer: Performance) -> float:
        """Return what is minimised subject to the limit."""
        blocking, time = answer.blocking.value, answer.mean_execution_time.value
        if self.limited:
            return blocking if self.on_time else time
        return (1.0 - blocking) * time + self.value * self.mean_size * blocking

    def modelled(self, found: ValueFunction) -> float:
        """Return the logarithm of the limited figure in the model of the value function."""
        figure = found.mean_execution_time if self.on_time else found.blocking
        return math.log(max(figure, TINIEST))

    def upper(self, answer: Performance) -> float:
        """Return the upper end of the interval of the limited figure."""
        figure = self._figure(answer)
        return figure.value if figure.interval is None else figure.interval[1]

    def _figure(self, answer: Performance) -> Estimate:
        return answer.mean_execution_time if self.on_time else answer.blocking
