"""Which policies lie on the edge between blocking and time, and what do their prices prove?

Every solution at a price charges blocked jobs so much and bounds what any policy can cost then.
Searches for the best policy under a limit walk along that edge, from solution to solution.
"""

from __future__ import annotations

import math
from typing import Final, final

from moldable.errors import ChainError
from moldable.optimal.optimal_control import FINEST, OptimalControl, solve
from moldable.optimal.problem import ControlProblem

SOLUTIONS: Final = 60
"""Prices tried before a search is given up."""
SAME: Final = 1e-12
"""Relative difference of solutions that is rounding."""
FINER: Final = 0.1
"""How much more precise than the answer each solution is."""


@final
class Pricing:
    """Solves for the best policy at one price after another.

    Attributes:
        problem: the states.
        tolerance: of the answer that is sought.
        solutions: prices tried.
        bounds: what a blocked job was charged, and what then every policy costs at least.
    """

    def __init__(self, problem: ControlProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.solutions = 0
        self.bounds: list[tuple[float, float]] = []

    def solved(self, price: float, near: OptimalControl | None = None) -> OptimalControl:
        """Return the best policy at a price, beginning from a similar one."""
        self.solutions += 1
        values = None if near is None else near.values
        found = solve(self.problem, price, max(FINEST, FINER * self.tolerance), values)
        if math.isfinite(price):
            self.bounds.append((price * self.problem.mean_size, found.lower_bound))
        return found

    def fastest(self) -> OptimalControl:
        """Return the policy of the least mean time, whatever it blocks.

        The least of W / (1 - B) is where a blocked job is priced at that very time (Dinkelbach
        1967).
        """
        size = self.problem.mean_size
        found = self.solved(float(self.problem.times.min()) / size)
        while self.solutions < SOLUTIONS:
            time = found.mean_execution_time
            found = self.solved(time / size, found)
            if found.mean_execution_time >= time * (1.0 - self.tolerance):
                break
        return found

    def slope(self, safe: OptimalControl, fast: OptimalControl) -> float:
        """Return the price at which two policies cost the same."""
        slower = safe.accepted_time - fast.accepted_time
        return max(0.0, slower / (fast.blocking - safe.blocking)) / self.problem.mean_size

    def given_up(self, what: str, gap: float) -> ChainError:
        """Say how closely something is known after all prices allowed."""
        return ChainError(
            f"after {self.solutions} prices the least {what} is only known to within {gap:.1g}; "
            f"ask for a larger tolerance than {self.tolerance:g}"
        )


def same(one: OptimalControl, two: OptimalControl) -> bool:
    """Are two solutions one point of the edge, but for rounding?"""
    pairs = (one.blocking, two.blocking), (one.accepted_time, two.accepted_time)
    return all(math.isclose(a, b, rel_tol=SAME) for a, b in pairs)


def mixture(*parts: tuple[OptimalControl, float]) -> tuple[float, float]:
    """Return blocking and mean time of policies drawn with these shares for long epochs."""
    blocking = math.fsum(share * policy.blocking for policy, share in parts)
    accepted = math.fsum(share * policy.accepted_time for policy, share in parts)
    return blocking, accepted / (1.0 - blocking)
