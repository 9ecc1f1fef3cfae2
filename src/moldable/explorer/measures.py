"""The measures that the explorer shows, and their values, exact or estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self, final

from moldable.explorer.question import Question
from moldable.model.units import SYMBOLS
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance

Effort = Literal["quick", "full"]
"""Quick: what takes a moment, with estimates where exact answers take longer. Full: the numbers of
the command line."""
SIMULATED: Final = "simulate"


@final
@dataclass(frozen=True, slots=True)
class Value:
    """A number of an answer.

    Attributes:
        value: the number; NaN if it is unknown.
        interval: the 95 % confidence interval of an estimate; None if there is no valid one.
        exact: whether it is exact.
        method: how it was found, such as "closed-form", "chain" or "simulate".
    """

    value: float
    interval: tuple[float, float] | None
    exact: bool
    method: str

    @classmethod
    def known(cls, value: float, method: str) -> Self:
        """Return an exact value."""
        return cls(float(value), (float(value), float(value)), exact=True, method=method)

    @classmethod
    def of(cls, estimate: Estimate, method: str) -> Self:
        """Return a value of an evaluation."""
        return cls(estimate.value, estimate.interval, method != SIMULATED, method)

    @property
    def estimate(self) -> Estimate:
        """The number as an `Estimate`, whose text shows only the digits that are known."""
        return Estimate(self.value, self.interval)

    def __str__(self) -> str:
        return str(self.estimate)


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that policies are compared by.

    Attributes:
        name: as in the JSON output of the commands.
        label: in words.
        unit: of its values; empty for probabilities.
    """

    name: str
    label: str
    unit: str

    @property
    def heading(self) -> str:
        """The label with the unit, for axes and tables."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


LABELS: Final = {
    "blocking": "blocking",
    "mean_response_time": "mean response time",
    "mean_wait": "mean wait",
    "wait_probability": "probability of waiting",
    "mean_execution_time": "mean execution time",
}
_WITHOUT_UNIT: Final = ("blocking", "wait_probability")


def measures(question: Question) -> tuple[Measure, ...]:
    """Return the measures of a question, the most important first."""
    names = list(LABELS)
    if not question.waiting:
        names = ["blocking", "mean_execution_time"]
    elif math.isinf(question.waiting):
        names.remove("blocking")
    return tuple(measure(question, name) for name in names)


def measure(question: Question, name: str) -> Measure:
    """Return one measure by its name."""
    return Measure(name, LABELS[name], "" if name in _WITHOUT_UNIT else unit(question))


def unit(question: Question) -> str:
    """Return the unit of all times."""
    if question.time_unit is not None:
        return SYMBOLS[question.time_unit]
    sizes = {part.mean_size for part in question.classes}
    return "mean sizes" if sizes == {1.0} else "units of time"


def values(answer: Performance) -> Mapping[str, Value]:
    """Return the measures of an evaluation by name."""
    found: dict[str, Estimate] = {
        "blocking": answer.blocking,
        "mean_execution_time": answer.mean_execution_time,
    }
    if (queueing := answer.queueing) is not None:
        for name in ("mean_response_time", "mean_wait", "wait_probability"):
            found[name] = getattr(queueing, name)
    return {name: Value.of(found[name], answer.method) for name in LABELS if name in found}
