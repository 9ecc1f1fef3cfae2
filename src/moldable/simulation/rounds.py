"""How many replications are enough?

One round if a number was asked for; with a precision, rounds of growing size until both intervals
are tight enough or the jobs allowed are spent.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Final, final

import numpy as np

from moldable.simulation import estimates
from moldable.simulation.plan import Plan, Tallies, joined
from moldable.simulation.replications import LANES, Finished
from moldable.simulation.system import mean_size

ABSOLUTE: Final = 1e-4
"""Half-width that is tight enough whatever the relative precision."""
GROWTH: Final = 4


@final
@dataclasses.dataclass
class Rounds:
    """Rounds of replications, until they are enough."""

    plan: Plan
    kernel: str
    estimator: str
    precision: float | None
    max_jobs: int
    run: Callable[[range], Finished]
    gathered: Tallies | None = None
    notes: list[str] = dataclasses.field(default_factory=list)

    def until_enough(self, replications: int) -> bool:
        """Run one round, or as many as the precision needs; return whether it was reached."""
        most = max(2, self.max_jobs // self.plan.jobs)
        done, wanted = 0, replications
        if self.precision is not None:
            wanted = min(max(replications, LANES), most)
        while True:
            if not self._round(range(done, wanted)):
                return False
            if self.precision is None:
                return True
            excess = self._excess(self.precision)
            if excess <= 1.0:
                return True
            if wanted >= most:
                self.notes.append(
                    f"max_jobs={self.max_jobs} was reached before the precision {self.precision:g}"
                )
                return False
            done = wanted
            needed = math.ceil(done * min(1.1 * excess**2, GROWTH) / LANES) * LANES
            wanted = min(max(needed, done + LANES), most)

    def _round(self, replications: range) -> bool:
        finished = self.run(replications)
        if finished.repeated:
            self.notes.append(f"{finished.repeated} replications of lost workers were run again")
        parts = [part for part in (self.gathered, finished.tallies) if part is not None]
        if not parts:
            raise KeyboardInterrupt
        self.gathered = joined(parts)
        if finished.interrupted:
            reason = f" ({finished.reason})" if finished.reason else ""
            count = len(self.gathered.replications)
            self.notes.append(
                f"interrupted{reason}: these are the {count} of {replications.stop} replications "
                f"finished"
            )
        return not finished.interrupted

    def _excess(self, precision: float) -> float:
        """Return how many times too wide the wider interval is."""
        system, tallies = self.plan.system, self.gathered
        assert tallies is not None  # noqa: S101 - a round has been run
        every = np.ones(len(system.workload.classes), dtype=np.bool_)
        pair = (
            estimates.blocking(tallies, every, system),
            estimates.mean_time(tallies, every, system, self.estimator),
        )
        units = (1.0, mean_size(system))
        return max(
            e.half_width / max(precision * abs(e.value), ABSOLUTE * unit)
            for e, unit in zip(pair, units, strict=True)
        )
