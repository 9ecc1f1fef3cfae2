"""The best of all width policies of a cluster whose jobs wait.

Jobs wait in the order of their arrival, and no job waits while one of its widths fits. The cost per
arrival is the mean response time, waiting plus execution; with a finite number of places,

    mean jobs in the system / arrival rate + blocking cost x P_b,

where blocked jobs spend no time. It is minimised over every policy that sees all running jobs, how
many wait, and the class of the job that is to start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, final

from moldable.arrays import Floats
from moldable.base_result import Result, Row
from moldable.checks import within
from moldable.errors import ChainError, UnstableError
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.waiting import written_waiting
from moldable.model.workload import JobClass
from moldable.optimal.control import FINEST, TOLERANCE, checked_blocking_cost, rows_by_idle
from moldable.optimal.queue_bounds import lower_bound, upper_bound
from moldable.optimal.queue_iteration import (
    QueuePolicy,
    QueueSolver,
    best_queue_policy,
    longer_queue,
)
from moldable.optimal.queue_law import (
    commonest,
    grant_rates,
    queue_figures,
    queue_law,
    queue_lengths,
    tail_ratio,
)
from moldable.optimal.queue_problem import QueueProblem, queue_problem, refuse_too_long
from moldable.optimal.queueing_policy import OptimalQueueingPolicy
from moldable.policies.observation import Observation
from moldable.system.performance import ClassPerformance
from moldable.system.provenance import provenance

NEGLECTED: Final = 1e-9
"""Largest probability of the longest queue at which an unlimited one is cut off."""
SHORTEST: Final = 12
"""Fewest waiting places to which an unlimited queue is cut."""
LENGTHENED: Final = 6
"""How often a queue that was cut too short is lengthened."""
CRITICAL: Final = 0.998
"""Ratio of the probabilities of successive long queues beyond which none is computed."""


@final
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OptimalQueueing(Result):
    """The best policy of a cluster with a queue.

    All times are in units of time. Of an unlimited queue, the first `places` places are computed.
    Longer queues enter with a cost that is too small, so `cost` is also slightly too small;
    `neglected_mass` and the bounds show by how much.

    Attributes:
        cost: per arrival under the policy; the mean response time if the queue is unlimited.
        lower_bound: of the cost of every policy.
        upper_bound: of the least cost, from values alone.
        certified: whether `upper_bound` takes all lengths of an unlimited queue into account. It
            does if the narrowest widths alone can keep up with the arrivals; otherwise it holds for
            `places` places.
        blocking_cost: in mean sizes; None for an unlimited queue.
        blocking: the probability that an arriving job is blocked.
        mean_response_time: of accepted jobs, waiting plus execution.
        mean_wait: over all accepted jobs, those that do not wait included.
        mean_execution_time: of accepted jobs.
        wait_probability: share of accepted jobs that wait.
        queue_length: mean number of waiting jobs.
        classes: figures of each class; all wait equally long.
        widths_by_idle: for each class the width granted most often at each idle count from 0 while
            no other job waits; 0 where the job waits or is blocked.
        widths_by_waiting: for each class the width granted most often to a job with 0, 1, 2, ...
            jobs behind it (rows; the last stands for all longer queues) at each idle count that one
            completion can leave.
        neglected_mass: probability of the longest queue that was computed; 0 if places are finite.
        places: waiting places that were computed.
        iterations: improvements of the policy.
        policy: the policy, which can be asked for widths.
        law: the stationary probability of each state.
        provenance: versions, parameters and machine.

    Examples:
        >>> best = optimal_queueing(Scenario.single([1, 1.8], 0.8, 2, waiting="unlimited"))
        >>> round(best.mean_response_time, 6), best.widths_by_idle["jobs"]
        (2.712077, (0, 1, 2))
    """

    cost: float
    lower_bound: float
    upper_bound: float
    certified: bool
    blocking_cost: float | None
    blocking: float
    mean_response_time: float
    mean_wait: float
    mean_execution_time: float
    wait_probability: float
    queue_length: float
    classes: tuple[ClassPerformance, ...]
    widths_by_idle: dict[str, tuple[int, ...]]
    widths_by_waiting: dict[str, tuple[tuple[int, ...], ...]]
    neglected_mass: float
    places: int
    iterations: int
    policy: OptimalQueueingPolicy
    law: Floats
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Largest possible distance from the optimal cost, as a share of the cost."""
        return max(0.0, self.cost - self.lower_bound) / self.cost

    @property
    def accepted_time(self) -> float:
        """Response time per arrival, blocked jobs counting 0."""
        return (1.0 - self.blocking) * self.mean_response_time

    @property
    def states(self) -> int:
        """Number of states."""
        return self.law.size

    @property
    def scenario(self) -> Scenario:
        """The cluster and the classes."""
        return self.policy.queue.scenario

    def grant(
        self,
        job_class: JobClass | str,
        observation: Observation | None = None,
        u: float | None = None,
        *,
        idle: int | None = None,
    ) -> int:
        """Return the width granted to a job now; 0 if it waits or is blocked.

        Args:
            job_class: its class, or the name of its class.
            observation: idle servers, jobs waiting behind this one, and running jobs.
            u: not used, as the policy is deterministic.
            idle: is not enough for this policy.
        """
        return self.policy.grant(job_class, observation, u, idle=idle)

    def __repr__(self) -> str:
        waiting = written_waiting(self.scenario.waiting)
        lost = "" if math.isinf(self.scenario.waiting) else f"blocking={self.blocking:.6g}, "
        return (
            f"OptimalQueueing(waiting={waiting}, cost={self.cost:.6g}, gap={self.gap:.1e}, {lost}"
            f"mean_response_time={self.mean_response_time:.6g}, mean_wait={self.mean_wait:.6g}, "
            f"states={self.states})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; no blocking cost is null."""
        figures = (
            *("cost", "lower_bound", "upper_bound", "certified", "gap", "blocking_cost"),
            *("blocking", "mean_response_time", "mean_wait", "mean_execution_time"),
            *("wait_probability", "queue_length", "neglected_mass", "places", "states"),
            "iterations",
        )
        return {
            **{name: getattr(self, name) for name in figures},
            "classes": [part.to_dict() for part in self.classes],
            "widths_by_idle": {name: list(row) for name, row in self.widths_by_idle.items()},
            "widths_by_waiting": {
                name: [list(row) for row in rows] for name, rows in self.widths_by_waiting.items()
            },
            "provenance": self.provenance,
            "inputs": {"scenario": self.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return, for each idle count, the width granted most often while no other job waits."""
        return rows_by_idle(self.widths_by_idle)


def optimal_queueing(
    scenario: ScenarioOrFile,
    blocking_cost: float | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> OptimalQueueing:
    """Return the best of all width policies of a cluster with a queue, with exponential sizes.

    Args:
        scenario: the cluster with its waiting places, and the classes, which must have the same
            narrowest width; their weights are not used.
        blocking_cost: cost of a blocked job, in mean sizes of the workload's jobs; not used if the
            queue is unlimited.
        tolerance: largest relative distance between the bounds of the optimal cost. It may be
            missed where states that the policy never visits are so costly that rounding errors
            matter; see `gap`.

    Examples:
        >>> two_places = Scenario.single([1, 1.8, 2.5], 0.8, 8, waiting=2)
        >>> optimal_queueing(two_places, blocking_cost=4).states
        61
    """
    scenario = checked_scenario(scenario)
    tolerance = within(tolerance, "tolerance", ChainError, FINEST, 0.5, "take 1e-6")
    if math.isinf(scenario.waiting):
        return _unlimited(queue_problem(scenario), tolerance)
    if blocking_cost is None:
        raise ChainError(
            f"{scenario.waiting} waiting places: jobs that find none are blocked, which needs a "
            f"cost; pass blocking_cost=4 (mean sizes), or take waiting='unlimited'",
            "blocking_cost",
        )
    cost = checked_blocking_cost(blocking_cost)
    queue, places = queue_problem(scenario), int(scenario.waiting)
    refuse_too_long(queue, places)
    overflow = cost * queue.pool.mean_size
    policy, solver = best_queue_policy(queue, places, overflow, tolerance, None)
    law = queue_law(queue, solver)
    bounds = (policy.lower, policy.upper, True)
    return _result(_Solved(queue, policy, solver, law, bounds), cost, tolerance)


@dataclass(frozen=True, eq=False)
class _Solved:
    """A policy with its distribution; `bounds`: lower, upper, and whether the latter is certain."""

    queue: QueueProblem
    policy: QueuePolicy
    solver: QueueSolver
    law: Floats
    bounds: tuple[float, float, bool]


def _unlimited(queue: QueueProblem, tolerance: float) -> OptimalQueueing:
    """Solve with enough waiting places that longer queues are negligible."""
    rate, fastest = queue.arrival_rate, queue.largest_throughput
    if rate >= CRITICAL * fastest:
        raise UnstableError(
            f"{rate:g} jobs arrive per unit of time, but the servers complete at most "
            f"{fastest:.6g}: under every policy the queue grows without limit, or becomes so long "
            f"that the optimum cannot be computed; add servers, lower the load, or take a finite "
            f"number of waiting places"
        )
    places = max(SHORTEST, math.ceil(math.log(NEGLECTED) / math.log(rate / fastest)))
    values = None
    for _ in range(LENGTHENED):
        refuse_too_long(queue, places)
        # Certainly too small: about half of what one more job adds to a queue of this length.
        overflow = 0.5 * places / (fastest - rate)
        policy, solver = best_queue_policy(queue, places, overflow, tolerance, values)
        law = queue_law(queue, solver)
        lengths = queue_lengths(queue, law, places)
        if lengths[-1] <= NEGLECTED:
            lower, upper = lower_bound(queue, policy), upper_bound(queue, policy, solver)
            bounds = (lower, policy.upper if upper is None else upper, upper is not None)
            return _result(_Solved(queue, policy, solver, law, bounds), None, tolerance)
        ratio = tail_ratio(lengths)
        if ratio > CRITICAL:
            break
        more = math.ceil(1.1 * math.log(NEGLECTED / float(lengths[-1])) / math.log(ratio))
        values = longer_queue(queue, policy, places + more)
        places += more
    raise UnstableError(
        f"long queues are likely under the best policy found: {places} or more jobs wait with "
        f"probability {lengths[-1]:.2g}; add servers, lower the load, or take a finite number of "
        f"waiting places"
    )


def _result(solved: _Solved, blocking_cost: float | None, tolerance: float) -> OptimalQueueing:
    queue, policy, law = solved.queue, solved.policy, solved.law
    lower, upper, certified = solved.bounds
    found = queue_figures(queue, solved.solver, law)
    cost = found.jobs / queue.arrival_rate + policy.overflow * found.blocking
    blocking = 0.0 if blocking_cost is None else found.blocking
    accepted = queue.arrival_rate * (1.0 - blocking)
    execution = (found.jobs - found.queue_length) / (queue.arrival_rate * (1.0 - found.blocking))
    response = cost if blocking_cost is None else found.jobs / accepted
    rates = grant_rates(queue, policy, law)
    names = [part.name for part in queue.pool.workload.classes]
    met = int(queue.idle_at_nodes().max()) + 1
    rows = {
        name: tuple(commonest(queue, row[:met]) for row in rates[j]) for j, name in enumerate(names)
    }
    return OptimalQueueing(
        cost=cost,
        lower_bound=lower,
        upper_bound=upper,
        certified=certified,
        blocking_cost=blocking_cost,
        blocking=blocking,
        mean_response_time=response,
        mean_wait=response - execution,
        mean_execution_time=execution,
        wait_probability=found.wait_probability,
        queue_length=found.queue_length,
        classes=found.classes,
        widths_by_idle={name: commonest(queue, rates[j, 0]) for j, name in enumerate(names)},
        widths_by_waiting=rows,
        neglected_mass=found.blocking if blocking_cost is None else 0.0,
        places=policy.places,
        iterations=policy.rounds,
        policy=OptimalQueueingPolicy(queue, policy),
        law=law,
        provenance=provenance(queue.scenario, "optimal", tolerance=tolerance),
    )
