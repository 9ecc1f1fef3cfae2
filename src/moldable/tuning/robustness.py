"""How a tuned policy performs where the assumptions behind it fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, final

from moldable.errors import MoldableError
from moldable.model.arrivals import ArrivalTimes, Poisson, Renewal
from moldable.model.scenario import Scenario
from moldable.model.sizes import Lognormal
from moldable.policies.policy import Policy
from moldable.system.performance import Performance
from moldable.tuning.evaluator import Evaluator
from moldable.tuning.targets import Target

BURSTINESS: Final = 3.0
"""Coefficient of variation of interarrival times; 2 to 9 in the logs of real clusters."""
GROWTH: Final = 1.1
PRECISION: Final = 0.05


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
    scenario: Scenario, policy: Policy, target: Target, *, seed: int, threads: int | None
) -> tuple[Stress, ...]:
    """Evaluate a policy under burstier arrivals and under more load.

    Args:
        scenario: for which the policy was tuned.
        policy: the tuned policy.
        target: its target.
        seed: random seed of simulations.
        threads: threads of simulations; all cores by default.
    """
    found = []
    for name, other in stress_cases(scenario).items():
        evaluate = Evaluator(other, target, precision=PRECISION, seed=seed, threads=threads)
        try:
            found.append(Stress(name, evaluate(policy)))
        except MoldableError:  # it cannot be simulated; the tuned figures hold all the same
            continue
    return tuple(found)


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
