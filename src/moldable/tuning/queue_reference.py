"""The optimum over all policies of a cluster with a queue, and bounds for all policies."""

from __future__ import annotations

import dataclasses
from typing import Final

from moldable.errors import ChainError, InfeasibleError
from moldable.exact.queue_size import predicted_queue_states
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.optimal.queue_limit import LeastResponse, least_response
from moldable.optimal.queueing import OptimalQueueing, optimal_queueing
from moldable.policies.even_price import even_price
from moldable.system.loss_system import build_system
from moldable.system.performance import Performance
from moldable.tuning.queue_target import LEAST_RESPONSE, QueueTarget

STATES: Final = {False: 60_000, True: 3_000_000}
"""States up to which the optimum is computed: at once, and if it is asked for."""
SOLUTIONS: Final = 4
"""A limit on blocking takes about this number of times as long."""
TOLERANCE: Final = 1e-5
NO_OPTIMUM: Final = (
    f"the true optimum is not known here: it needs exponential sizes, Poisson arrivals, no limit "
    f"on waiting, classes with the same narrowest width and at most {STATES[True]:,} states"
)


def known_optimum(
    scenario: Scenario, target: QueueTarget, states: int
) -> OptimalQueueing | LeastResponse | None:
    """Return the optimum over all policies; None where it is not known or too large."""
    if target.limits_waiting:
        return None
    if target.name == LEAST_RESPONSE:
        return _optimum(scenario, None, states)
    if target.name == "blocking_cost":
        return _optimum(scenario, target.given, states)
    if not queue_fits(scenario, states // SOLUTIONS):
        return None
    try:
        return least_response(scenario, target.value, tolerance=TOLERANCE)
    except (ChainError, InfeasibleError):
        return None


def bounded(
    scenario: Scenario, target: QueueTarget, answer: Performance, states: int
) -> Performance:
    """Return the performance with the largest known bound on the mean response time.

    The dynamic programme knows no limit on waiting, but no policy that keeps one beats the optimum
    without it.
    """
    if not target.limits_waiting or answer.response_bound is None:
        return answer
    free = _optimum(scenario, None, states)
    if free is None:
        return answer
    bound = max(answer.response_bound, free.lower_bound)
    return dataclasses.replace(answer, response_bound=bound)


def _optimum(
    scenario: Scenario, blocking_cost: float | None, states: int
) -> OptimalQueueing | None:
    if not queue_fits(scenario, states):
        return None
    try:
        return optimal_queueing(scenario, blocking_cost, tolerance=TOLERANCE)
    except (ChainError, InfeasibleError):
        return None


def queue_fits(scenario: Scenario, states: int) -> bool:
    """Return whether the dynamic programme applies, with at most this many states."""
    memoryless = isinstance(scenario.arrivals, Poisson) and all(
        isinstance(c.size, Exponential) for c in scenario.workload.classes
    )
    if not memoryless:
        return False
    try:
        return predicted_queue_states(build_system(scenario, even_price(scenario))) <= states
    except (ChainError, InfeasibleError):
        return False
