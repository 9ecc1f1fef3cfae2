"""Performance of a tuned policy when its assumptions fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, final

from moldable.errors import MoldableError, UnstableError
from moldable.model.arrivals import ArrivalTimes, Poisson, Renewal
from moldable.model.scenario import Scenario
from moldable.model.sizes import Lognormal
from moldable.policies.policy import Policy
from moldable.system.performance import Performance
from moldable.tuning.evaluator import Evaluator

BURSTINESS: Final = 3.0
"""Coefficient of variation of interarrival times; 2 to 9 in the logs of real clusters."""
GROWTH: Final = 1.1
PRECISION: Final = 0.05
UNSEEDED: Final = 1
"""Seed if nothing else is simulated and none is given, so that answers are reproducible."""


@final
@dataclass(frozen=True)
class Stress:
    """A policy in a scenario that it was not tuned for.

    Attributes:
        case: how the scenario differs.
        performance: of the policy there.
    """

    case: str
    performance: Performance

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {"case": self.case, **self.performance.figures()}


def stresses(
    scenario: Scenario, policy: Policy, evaluator: Callable[[Scenario], Evaluator]
) -> tuple[tuple[Stress, ...], tuple[str, ...]]:
    """Return the performance under burstier arrivals and more load, and where the queue grows.

    Args:
        scenario: for which the policy was tuned.
        policy: the tuned policy.
        evaluator: returns an evaluator for another scenario.
    """
    found, growing = [], []
    for name, other in stress_cases(scenario).items():
        try:
            found.append(Stress(name, evaluator(other)(policy)))
        except UnstableError:
            growing.append(name)
        except MoldableError:  # it cannot be simulated; the other figures are valid
            continue
    return tuple(found), tuple(growing)


def stress_cases(scenario: Scenario) -> dict[str, Scenario]:
    """Return scenarios with burstier arrivals and with more load, by their names."""
    cases: dict[str, Scenario] = {}
    if isinstance(scenario.arrivals, Poisson):
        bursty = Renewal(Lognormal(BURSTINESS))
        name = f"interarrival times with CV {BURSTINESS:g}"
        cases[name] = replace(scenario, arrivals=bursty)
    if not isinstance(scenario.arrivals, ArrivalTimes):  # a list of times has its own rate
        more = scenario.at_load(GROWTH * scenario.load)
        cases[f"{100.0 * (GROWTH - 1.0):.0f} % more load"] = more
    return cases
