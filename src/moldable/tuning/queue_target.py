"""The target for which a policy of a cluster with a queue is tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self, final

from moldable.checks import number
from moldable.errors import ControlError
from moldable.model.scenario import Scenario
from moldable.model.units import parse_duration
from moldable.policies.value import MOST_COSTLY
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance
from moldable.system.queueing import Queueing

LEAST_RESPONSE: Final = "least_response"
WAITING_LIMITS: Final = frozenset({"max_wait_probability", "max_mean_wait"})
RULES: Final = {
    "max_wait_probability": (1.0, "be above 0 and below 1, such as 0.1"),
    "max_mean_wait": (math.inf, "be finite and above 0, such as 0.5"),
    "max_blocking": (1.0, "be above 0 and below 1, such as 0.01"),
    "blocking_cost": (MOST_COSTLY, f"be above 0 and below {MOST_COSTLY:g} mean sizes, such as 4"),
}
"""The upper bound of each target, and the rule in words."""


@final
@dataclass(frozen=True)
class QueueTarget:
    """The mean response time is minimised, subject to a limit or with a cost of blocking.

    Attributes:
        name: "least_response", or one of the keys of RULES.
        value: the limit, or the cost in units of time; 0 for "least_response".
        given: the target as it was given.
    """

    name: str
    value: float
    given: float

    @classmethod
    def of(cls, scenario: Scenario, **given: float | str | None) -> Self:
        """Check the request: at most one of the targets by name, the others None."""
        named = {name: value for name, value in given.items() if value is not None}
        for name in named.keys() - RULES.keys():
            raise ControlError(
                f"{named[name]} limits the mean execution time, which says little where jobs wait; "
                f"give max_mean_wait or max_wait_probability, or nothing for the least mean "
                f"response time",
                name,
            )
        if len(named) > 1:
            raise ControlError(f"give at most one target; got {' and '.join(named)}")
        finite = math.isfinite(scenario.waiting)
        if not named:
            if finite:
                raise ControlError(
                    "jobs are blocked where waiting places are limited, and the fewer are accepted "
                    "the shorter they wait; give max_blocking, blocking_cost, max_mean_wait or "
                    "max_wait_probability"
                )
            return cls(LEAST_RESPONSE, 0.0, 0.0)
        ((name, asked),) = named.items()
        if name in {"max_blocking", "blocking_cost"} and not finite:
            raise ControlError(
                f"{asked} has no effect: with unlimited waiting places no job is blocked; leave it "
                f"out, or limit the places",
                name,
            )
        if name == "max_mean_wait":
            asked = parse_duration(asked, scenario.time_unit, name, ControlError)
        value = number(asked, name, ControlError)
        most, rule = RULES[name]
        if not 0.0 < value < most:
            raise ControlError(f"{value:g} must {rule}", name)
        size = scenario.workload.mean_size
        return cls(name, value * size if name == "blocking_cost" else value, value)

    @property
    def limited(self) -> bool:
        """Whether there is a limit to keep."""
        return self.name.startswith("max_")

    @property
    def limits_waiting(self) -> bool:
        """Whether the limit is on waiting."""
        return self.name in WAITING_LIMITS

    def costs(self, strictness: float) -> dict[str, float]:
        """Return what the value policy charges for; the stricter, the lower the limited figure."""
        if self.name == "blocking_cost":
            return {"blocking_cost": self.given}
        if self.name == "max_blocking":
            return {"blocking_cost": 1.0 + strictness}
        return {"waiting_cost": 1.0 + strictness}

    def figure(self, answer: Performance) -> Estimate:
        """Return the limited figure."""
        queueing = _queueing(answer)
        if self.name == "max_wait_probability":
            return queueing.wait_probability
        return queueing.mean_wait if self.name == "max_mean_wait" else answer.blocking

    def excess(self, answer: Performance) -> float:
        """Return by which factor the upper end of the limited figure exceeds the limit."""
        if not self.limited:
            return 0.0
        figure = self.figure(answer)
        upper = figure.value if figure.interval is None else figure.interval[1]
        return upper / self.value

    def objective(self, answer: Performance) -> float:
        """Return what is minimised subject to the limit: time per arrival."""
        response = _queueing(answer).mean_response_time.value
        if self.name != "blocking_cost":
            return response
        lost = answer.blocking.value
        return (1.0 - lost) * response + self.value * lost


def _queueing(answer: Performance) -> Queueing:
    assert answer.queueing is not None  # noqa: S101 - all answers are of one scenario
    return answer.queueing
