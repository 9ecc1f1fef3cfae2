"""What a cluster is planned for: a limit on blocking, waiting or response, or none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Self, final

from moldable.checks import number
from moldable.errors import ControlError
from moldable.model.scenario import Scenario
from moldable.model.units import parse_duration
from moldable.model.waiting import written_waiting
from moldable.policies.value import MOST_COSTLY
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance
from moldable.tuning.queue_target import QueueTarget
from moldable.tuning.targets import Target

BLOCKING_COST: Final = 10.0
"""Cost of a blocked job, in mean sizes, where jobs are lost and no limit is given."""
FIGURES: Final = {
    "max_blocking": "blocking",
    "max_wait": "mean wait",
    "max_response": "mean response time",
    "max_wait_probability": "wait probability",
}
"""The targets, and the figures that they limit."""
TIMES: Final = ("max_wait", "max_response")


@final
@dataclass(frozen=True)
class Goal:
    """A limit to keep, or the least cost or response time.

    Attributes:
        name: one of the keys of FIGURES; None if there is no limit.
        value: the limit, times in the scenario's unit; 0 without one.
        blocking_cost: in mean sizes, where jobs may be blocked and there is no limit, else None.
    """

    name: str | None
    value: float
    blocking_cost: float | None

    @classmethod
    def of(
        cls, scenario: Scenario, blocking_cost: float | None, **given: float | str | None
    ) -> Self:
        """Check the request: at most one of the limits, and one that applies here."""
        named = {name: value for name, value in given.items() if value is not None}
        if len(named) > 1:
            raise ControlError(
                f"give at most one target; got {' and '.join(named)}: plan for each in turn"
            )
        lossy = math.isfinite(scenario.waiting)
        if blocking_cost is not None:
            _check_cost(blocking_cost, lossy=lossy, limited=bool(named))
        if not named:
            return cls(None, 0.0, (blocking_cost or BLOCKING_COST) if lossy else None)
        ((name, asked),) = named.items()
        _refuse_without_meaning(scenario, name, asked)
        if name in TIMES:
            asked = parse_duration(asked, scenario.time_unit, name, ControlError)
        value = number(asked, name, ControlError)
        most = math.inf if name in TIMES else 1.0
        if not 0.0 < value < most:
            rule = "finite and above 0" if name in TIMES else "above 0 and below 1, such as 0.01"
            raise ControlError(f"{value:g} must be {rule}", name)
        return cls(name, value, None)

    @property
    def limited(self) -> bool:
        """Whether there is a limit to keep."""
        return self.name is not None

    @property
    def words(self) -> str:
        """What is limited or minimised, in words."""
        if self.name is not None:
            return FIGURES[self.name]
        return "mean response time" if self.blocking_cost is None else "cost per arrival"

    def figure(self, answer: Performance) -> Estimate:
        """Return the limited figure; without a limit the one that is minimised."""
        if self.name == "max_blocking":
            return answer.blocking
        queueing = answer.queueing
        if self.blocking_cost is not None or queueing is None:
            return _cost(answer, self.blocking_cost or 0.0)
        if self.name == "max_wait":
            return queueing.mean_wait
        if self.name == "max_wait_probability":
            return queueing.wait_probability
        return queueing.mean_response_time

    def kept(self, answer: Performance) -> bool:
        """Return whether the limit, if any, is kept at the upper end of the 95 % interval."""
        figure = self.figure(answer)
        upper = figure.value if figure.interval is None else figure.interval[1]
        return not self.limited or upper <= self.value

    def met(self, answer: Performance) -> bool:
        """Return whether the estimate itself is within the limit."""
        return self.figure(answer).value <= self.value

    def loss_target(self, mean_size: float) -> Target:
        """Return what a policy without waiting places is tuned for."""
        if self.limited:
            return Target.of(mean_size, max_blocking=self.value)
        return Target.of(mean_size, blocking_cost=self.blocking_cost)

    def queue_target(self, scenario: Scenario) -> QueueTarget:
        """Return what a policy with waiting places is tuned for."""
        limits = {
            "max_blocking": {"max_blocking": self.value},
            "max_wait": {"max_mean_wait": self.value},
            "max_wait_probability": {"max_wait_probability": self.value},
        }
        asked: dict[str, float | None] = dict(limits.get(self.name or "", {}))
        return QueueTarget.of(scenario, **asked or {"blocking_cost": self.blocking_cost})

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        if self.name is not None:
            return {self.name: self.value}
        return {"blocking_cost": self.blocking_cost} if self.blocking_cost is not None else {}


def _cost(answer: Performance, blocking_cost: float) -> Estimate:
    """Return the time per arrival plus the cost of blocked jobs, in units of time."""
    size = answer.scenario.workload.mean_size
    queueing, lost = answer.queueing, answer.blocking.value
    time = answer.mean_execution_time if queueing is None else queueing.mean_response_time
    value = (1.0 - lost) * time.value + blocking_cost * size * lost
    exact = answer.method != "simulate"
    return Estimate.exact(value) if exact else Estimate(value, None)


def _check_cost(cost: float, *, lossy: bool, limited: bool) -> None:
    name, value = "blocking_cost", number(cost, "blocking_cost", ControlError)
    if not lossy:
        raise ControlError(
            f"{value:g} has no effect: with unlimited waiting places no job is blocked; leave it "
            f"out",
            name,
        )
    if limited:
        raise ControlError(f"{value:g} and a limit are two targets; give one of them", name)
    if not 0.0 < value < MOST_COSTLY:
        raise ControlError(
            f"{value:g} must be above 0 and below {MOST_COSTLY:g} mean sizes, such as 10", name
        )


def _refuse_without_meaning(scenario: Scenario, name: str, asked: float | str) -> None:
    """Refuse a limit on blocking where no job is blocked, and limits on time where jobs are.

    Where jobs are blocked, the fewer are accepted the shorter they wait.
    """
    if math.isinf(scenario.waiting):
        if name == "max_blocking":
            raise ControlError(
                f"{asked} does not apply here: with unlimited waiting places no job is blocked; "
                f"give max_wait, max_response or max_wait_probability, or limit the places",
                name,
            )
        return
    if name != "max_blocking":
        places = written_waiting(scenario.waiting)
        raise ControlError(
            f"{asked} does not apply with {places} waiting places: jobs are blocked, and the more "
            f"are blocked the shorter the others wait; give max_blocking, or let all jobs wait "
            f"(waiting='unlimited')",
            name,
        )
