"""The trade-off between blocking and mean execution time over all policies.

Every blocking cost gives one Pareto-optimal point. Points between two of them are reached by
following one policy or the other for long epochs, drawn at random: blocking and the accepted time
per arrival then mix linearly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.base_result import Result, Row
from moldable.errors import ChainError, shown
from moldable.model.scenario import ScenarioOrFile
from moldable.optimal.control import TOLERANCE, OptimalControl, checked_blocking_cost, solve
from moldable.optimal.problem import ControlProblem, control_problem
from moldable.simulation.replications import count_workers
from moldable.simulation.simulate import check_seed_and_threads
from moldable.threads import on_threads

BLOCKING_COSTS: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 24.0, 32.0, 64.0)
RUN_LENGTH: Final = 5
"""Costs solved one after another, each starting from the last, whatever the number of threads."""
FARTHEST: Final = 2.0
"""Multiple of the last step in cost over which values are extrapolated."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class TradeoffCurve(Result):
    """The best policies over a range of blocking costs.

    Attributes:
        controls: one for each blocking cost, ascending; blocking falls and time rises.

    Examples:
        >>> tradeoff(Scenario.single([1, 1.8, 2.5], 0.8, 8), [2, 8]).to_frame().shape
        (2, 5)
    """

    controls: tuple[OptimalControl, ...]

    def mean_time_at(self, blocking: float) -> float:
        """Return the least mean execution time with this blocking, by mixing two neighbours.

        A policy for a blocking cost between theirs may be better.
        """
        losses = np.array([control.blocking for control in self.controls[::-1]])
        times = np.array([control.accepted_time for control in self.controls[::-1]])
        if not losses[0] <= blocking <= losses[-1]:
            raise ChainError(
                f"{blocking:g} lies outside this curve, from {losses[0]:.3g} to "
                f"{losses[-1]:.3g}; ask for more blocking costs, or use least_time",
                "blocking",
            )
        return float(np.interp(blocking, losses, times)) / (1.0 - blocking)

    def least_time_at(self, blocking: float) -> float:
        """Return a lower bound of the mean execution time of all policies with this blocking.

        For every blocking cost, (1 - blocking) x time + cost x blocking is at least the optimum.
        """
        if not 0.0 <= blocking < 1.0:
            raise ChainError(f"{blocking:g} must be at least 0 and below 1", "blocking")
        charges = np.array([c.blocking_cost * c.problem.mean_size for c in self.controls])
        costs = np.array([c.lower_bound for c in self.controls])
        return max(0.0, float((costs - charges * blocking).max())) / (1.0 - blocking)

    def edge(self, points: int = 200) -> list[tuple[float, float]]:
        """Return blocking and `least_time_at` along the curve, its own points among them."""
        ends = [control.blocking for control in self.controls]
        places = {*ends, *np.linspace(min(ends), max(ends), points).tolist()}
        return [(blocking, self.least_time_at(blocking)) for blocking in sorted(places)]

    def __repr__(self) -> str:
        ends = (self.controls[0], self.controls[-1])
        points = " to ".join(f"({c.blocking:.4g}, {c.mean_execution_time:.4g})" for c in ends)
        return f"TradeoffCurve({len(self.controls)} blocking costs, (blocking, time) from {points})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "points": self.table(),
            "states": self.controls[0].states,
            "inputs": {"scenario": self.controls[0].problem.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return a row for each blocking cost."""
        names = ("blocking_cost", "blocking", "mean_execution_time", "cost", "gap")
        return [{name: getattr(control, name) for name in names} for control in self.controls]


def tradeoff(
    scenario: ScenarioOrFile,
    blocking_costs: Iterable[float] = BLOCKING_COSTS,
    *,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> TradeoffCurve:
    """Return the best policy at every blocking cost.

    Args:
        scenario: the classes and the cluster.
        blocking_costs: costs of a blocked job, in mean sizes.
        tolerance: largest relative distance between the bounds of each optimal cost.
        threads: all cores by default; they do not change the results.

    Examples:
        >>> tradeoff(Scenario.single([1, 1.8, 2.5], 0.8, 8), [2, 8])
        TradeoffCurve(2 blocking costs, (blocking, time) from (0.261, 0.5506) to (0.1462, 0.9318))
    """
    costs = checked_blocking_costs(blocking_costs)
    check_seed_and_threads(None, threads)
    problem = control_problem(scenario)
    runs = [costs[k : k + RUN_LENGTH] for k in range(0, len(costs), RUN_LENGTH)]
    stopped = Event()

    def solve_run(run: list[float]) -> list[OptimalControl]:
        return _solve_run(problem, run, tolerance, stopped)

    try:
        solved = list(on_threads(solve_run, runs, count_workers(threads, None)))
    finally:
        stopped.set()  # the other runs end after their present step
    return TradeoffCurve(tuple(control for run in solved for control in run))


def checked_blocking_costs(blocking_costs: Iterable[float]) -> list[float]:
    """Return blocking costs in ascending order, each once."""
    if not isinstance(blocking_costs, Iterable):
        raise ChainError(
            f"{shown(blocking_costs)} is not a list; write one, such as [2, 4, 8]", "blocking_costs"
        )
    ascending = sorted({checked_blocking_cost(cost) for cost in blocking_costs})
    if not ascending:
        raise ChainError("no blocking cost was given; give at least one, such as 4")
    return ascending


def _solve_run(
    problem: ControlProblem, blocking_costs: list[float], tolerance: float, stopped: Event
) -> list[OptimalControl]:
    found: list[OptimalControl] = []
    for cost in blocking_costs:
        if stopped.is_set():
            break
        found.append(solve(problem, cost, tolerance, _extrapolated(found, cost)))
    return found


def _extrapolated(found: list[OptimalControl], cost: float) -> Floats | None:
    """Guess the values from the last two costs: under a fixed policy they are linear in it."""
    if len(found) < 2:  # noqa: PLR2004 - a line needs two points
        return found[-1].values if found else None
    before, last = found[-2:]
    ratio = (cost - last.blocking_cost) / (last.blocking_cost - before.blocking_cost)
    return np.asarray(last.values + min(ratio, FARTHEST) * (last.values - before.values))
