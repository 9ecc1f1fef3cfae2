"""Performance of several policies against the number of servers and against the load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

from moldable.errors import MoldableError
from moldable.model.scenario import Scenario
from moldable.planning.alternatives import Alternative
from moldable.planning.choice import Choice
from moldable.planning.goal import BLOCKING_COST
from moldable.planning.predictor import Predictor
from moldable.policies.greedy import Greedy, greedy_p
from moldable.policies.policy import Policy
from moldable.policies.value import value_policy
from moldable.system.performance import Performance

SERVERS: Final = (0.7, 0.85, 1.0, 1.2, 1.5)
LOADS: Final = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
"""Points of the figures, relative to the planned number of servers and load."""
COARSER: Final = 10.0
"""The precision of the points, relative to that of the plan: figures need no more."""


@final
@dataclass(frozen=True, eq=False)
class Series:
    """Performance of policies along one quantity.

    Attributes:
        quantity: "servers" or "load".
        points: its values.
        policies: for each policy its performance at each point; None where its queue grows without
            limit or the load is too high for it.
    """

    quantity: str
    points: tuple[float, ...]
    policies: Mapping[str, tuple[Performance | None, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "quantity": self.quantity,
            "points": list(self.points),
            "policies": {
                name: [
                    None if one is None else one.figures() | {"utilisation": one.busy_fraction}
                    for one in answers
                ]
                for name, answers in self.policies.items()
            },
        }


def both_series(
    scenario: Scenario,
    choice: Choice,
    others: tuple[Alternative, ...],
    predict: Predictor,
) -> tuple[Series, Series]:
    """Return the performance against servers, then against the load.

    The recommended policy is kept along the load, and with waiting places also along the servers:
    a table of widths by idle servers and waiting jobs changes little with their number. Otherwise
    the value policy at the same blocking cost is computed for each number of servers.
    """
    least = max(int(c.speedup.widths[0]) for c in scenario.workload.classes)
    sizes = sorted({max(least, round(share * scenario.servers)) for share in SERVERS})
    clusters = {float(n): replace(scenario, servers=n) for n in sizes}
    loads = {x * scenario.load: scenario.at_load(x * scenario.load) for x in LOADS}
    return (
        _series("servers", clusters, choice, others, predict),
        _series("load", loads, choice, others, predict),
    )


def _series(
    quantity: str,
    scenarios: Mapping[float, Scenario],
    choice: Choice,
    others: tuple[Alternative, ...],
    predict: Predictor,
) -> Series:
    answers: dict[str, list[Performance | None]] = {}
    for own in scenarios.values():
        made = _policies(own, choice, others, computed=quantity == "servers")
        systems = {name: (own, policy) for name, policy in made.items() if policy is not None}
        found = predict.together(systems, precise=COARSER)
        for name in made:
            paired = found.get(name, "")
            one = None if isinstance(paired, str) else paired.performance
            answers.setdefault(name, []).append(one)
    listed = {name: tuple(rows) for name, rows in answers.items()}
    return Series(quantity, tuple(scenarios), listed)


def _policies(
    scenario: Scenario, choice: Choice, others: tuple[Alternative, ...], *, computed: bool
) -> dict[str, Policy | None]:
    """Return the policies of a figure; None for those that do not exist in this scenario."""
    found: dict[str, Policy | None] = {}
    if computed and not scenario.waiting:
        found["value policy"] = _computed(scenario, choice.blocking_cost)
    else:
        found["recommended"] = choice.policy
    found["greedy"] = Greedy()
    fixed = next((other for other in others if other.key == "fixed"), None)
    if fixed is not None:
        found[fixed.name] = fixed.policy
    try:
        found["greedy(p*)"] = greedy_p(scenario)
    except MoldableError:
        found["greedy(p*)"] = None
    return found


def _computed(scenario: Scenario, blocking_cost: float | None) -> Policy | None:
    try:
        return value_policy(scenario, blocking_cost or BLOCKING_COST)
    except MoldableError:
        return None
