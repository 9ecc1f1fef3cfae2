"""How little blocking can be had for how much time, over all policies?

Every price of a blocked job gives one point that no policy can better. What lies between two of
them is reached by following one policy or the other for long epochs, drawn at random: blocking and
the accepted time per arrival then mix linearly, in the shares of arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import ChainError, shown
from moldable.model.scenario import Scenario
from moldable.optimal.optimal_control import TOLERANCE, OptimalControl, checked_price, solve
from moldable.optimal.problem import ControlProblem, control_problem
from moldable.simulation.replications import count_workers
from moldable.simulation.simulate import check_seed_and_threads
from moldable.threads import on_threads

PRICES: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 24.0, 32.0, 64.0)
IN_A_ROW: Final = 5
"""Prices solved one after another, each from the last: fixed, whatever the number of threads."""
FARTHEST: Final = 2.0
"""Multiple of the last step in price over which values are extrapolated."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class TradeoffCurve:
    """The best policies over a range of prices.

    Attributes:
        controls: one for each price, prices ascending: blocking falls, time rises.
    """

    controls: tuple[OptimalControl, ...]

    def mean_time_at(self, blocking: float) -> float:
        """Return the least mean execution time with this blocking, by mixing two neighbours.

        It is what the policies found reach; a policy for a price between theirs may be better.
        """
        losses = np.array([control.blocking for control in self.controls[::-1]])
        times = np.array([control.accepted_time for control in self.controls[::-1]])
        if not losses[0] <= blocking <= losses[-1]:
            raise ChainError(
                f"{blocking:g} lies outside this curve, from {losses[0]:.3g} to "
                f"{losses[-1]:.3g}; ask for more prices, or use least_time",
                "blocking",
            )
        return float(np.interp(blocking, losses, times)) / (1.0 - blocking)

    def least_time_at(self, blocking: float) -> float:
        """Return a mean execution time that no policy with this blocking can better.

        Every price proves that (1 - blocking) x time + price x blocking is at least its least cost.
        """
        if not 0.0 <= blocking < 1.0:
            raise ChainError(f"{blocking:g} must be at least 0 and below 1", "blocking")
        charges = np.array([c.price * c.problem.mean_size for c in self.controls])
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
        return f"TradeoffCurve({len(self.controls)} prices, (blocking, time) from {points})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "points": [
                {
                    "price": control.price,
                    "blocking": control.blocking,
                    "mean_execution_time": control.mean_execution_time,
                    "cost": control.cost,
                    "gap": control.gap,
                }
                for control in self.controls
            ],
            "states": self.controls[0].states,
        }


def tradeoff(
    scenario: Scenario,
    prices: Iterable[float] = PRICES,
    *,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> TradeoffCurve:
    """Return the best policy at every price.

    Args:
        scenario: the classes and the cluster.
        prices: of a blocked job, in mean sizes.
        tolerance: largest relative distance between the bounds of each optimal cost.
        threads: all cores by default; they do not change the results.
    """
    ascending = checked_prices(prices)
    check_seed_and_threads(None, threads)
    problem = control_problem(scenario)
    rows = [ascending[k : k + IN_A_ROW] for k in range(0, len(ascending), IN_A_ROW)]

    stopped = Event()

    def solve_row(row: list[float]) -> list[OptimalControl]:
        return _in_a_row(problem, row, tolerance, stopped)

    try:
        solved = list(on_threads(solve_row, rows, count_workers(threads, None)))
    finally:
        stopped.set()  # rows under way end after their present step
    return TradeoffCurve(tuple(control for row in solved for control in row))


def checked_prices(prices: Iterable[float]) -> list[float]:
    """Return prices of a blocked job in ascending order, each once, or refuse."""
    if not isinstance(prices, Iterable):
        raise ChainError(f"{shown(prices)} is no list; write one, such as [2, 4, 8]", "prices")
    ascending = sorted({checked_price(price) for price in prices})
    if not ascending:
        raise ChainError("no price was given; give at least one, such as 4")
    return ascending


def _in_a_row(
    problem: ControlProblem, prices: list[float], tolerance: float, stopped: Event
) -> list[OptimalControl]:
    found: list[OptimalControl] = []
    for price in prices:
        if stopped.is_set():
            break
        found.append(solve(problem, price, tolerance, _extrapolated(found, price)))
    return found


def _extrapolated(found: list[OptimalControl], price: float) -> Floats | None:
    """Guess the values at a price from the last two: under one policy they are linear in it."""
    if len(found) < 2:  # noqa: PLR2004 - a line needs two points
        return found[-1].values if found else None
    before, last = found[-2:]
    ratio = (price - last.price) / (last.price - before.price)
    return np.asarray(last.values + min(ratio, FARTHEST) * (last.values - before.values))
