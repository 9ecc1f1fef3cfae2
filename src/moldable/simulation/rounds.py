"""How many replications are enough?

One round if a number was asked for; with a precision, rounds of growing size until both intervals
are tight enough or the jobs allowed are spent.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Final, final

import numpy as np

from moldable.simulation import estimates
from moldable.simulation.plan import Plan, Tallies, joined
from moldable.simulation.replications import Finished
from moldable.system.loss_system import mean_size

ABSOLUTE: Final = 1e-4
"""Half-width that is tight enough whatever the relative precision."""
GROWTH: Final = 4
STEP: Final = 32
"""Replications in the first round for a precision, and what later ones are multiples of."""


@final
@dataclasses.dataclass
class Rounds:
    """The replications of one plan, run so far."""

    plan: Plan
    kernel: str
    estimator: str
    precision: float | None
    max_jobs: int
    run: Callable[[range], Finished]
    gathered: Tallies | None = None
    interrupted: bool = False
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def tallies(self) -> Tallies:
        """What was counted in all replications so far."""
        assert self.gathered is not None  # noqa: S101 - a round has been run
        return self.gathered

    def more(self, replications: range) -> bool:
        """Run these replications too; return whether all of them finished."""
        finished = self.run(replications)
        if finished.repeated:
            self.notes.append(f"{finished.repeated} replications of lost workers were run again")
        parts = [part for part in (self.gathered, finished.tallies) if part is not None]
        if not parts:
            raise KeyboardInterrupt
        self.gathered = joined(parts)
        self.interrupted = finished.interrupted
        if self.interrupted:
            reason = f" ({finished.reason})" if finished.reason else ""
            count = len(self.gathered.replications)
            self.notes.append(
                f"interrupted{reason}: these are the {count} of {replications.stop} replications "
                f"finished"
            )
        return not self.interrupted

    def excess(self, precision: float) -> float:
        """Return how many times too wide the wider interval is."""
        system, tallies = self.plan.system, self.tallies
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


def until_enough(several: Sequence[Rounds], replications: int) -> bool:
    """Run one round of each, or as many as the precision needs; return whether it was reached.

    All of them run the same replications, so that they can be compared one by one.
    """
    one = several[0]
    most = max(2, one.max_jobs // one.plan.jobs)
    done, wanted = 0, replications
    if one.precision is not None:
        wanted = min(max(replications, STEP), most)
    while True:
        if not all(rounds.more(range(done, wanted)) for rounds in several):
            return False
        if one.precision is None:
            return True
        excess = max(rounds.excess(one.precision) for rounds in several)
        if excess <= 1.0:
            return True
        if wanted >= most:
            note = f"max_jobs={one.max_jobs} was reached before the precision {one.precision:g}"
            for rounds in several:
                rounds.notes.append(note)
            return False
        done = wanted
        needed = math.ceil(done * min(1.1 * excess**2, GROWTH) / STEP) * STEP
        wanted = min(max(needed, done + STEP), most)
