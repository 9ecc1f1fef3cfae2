"""Quick predictions for a number of servers, shown with the optimum for large clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldable.cli import output
from moldable.errors import MoldableError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.policy import Policy
    from moldable.system.performance import Performance

JOBS: Final = 100_000
"""Arrivals in each replication of the simulation behind a prediction."""
SHORT: Final = 120_000_000
"""Most arrivals of that simulation: one to three seconds of computing."""


def predict(scenario: Scenario, policy: Policy | None = None) -> Performance | None:
    """Return how a policy, by default greedy(p*), performs: exactly or from a short simulation."""
    from moldable.evaluation.evaluate import solve_exactly
    from moldable.simulation.simulate import RunOptions, simulate_system
    from moldable.system.loss_system import build_system
    from moldable.system.performance import Performance

    if scenario.waiting:
        output.note("jobs may wait here; moldable evaluate predicts their response times")
        return None
    output.show_log()
    try:
        system = build_system(scenario, policy)
        exact = solve_exactly(system, "auto")
        if isinstance(exact, Performance):
            return exact
        options = RunOptions(jobs=JOBS, precision=0.01, max_jobs=SHORT, seed=1, controls=True)
        return exact.warn(simulate_system(system, options, exact.reason).whole())
    except MoldableError as error:  # the optimum is valid without a prediction
        output.note(f"no prediction: {error}")
        return None
