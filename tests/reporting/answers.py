"""Artificial results, to test how they are printed."""

from __future__ import annotations

import dataclasses

from moldable import Scenario, SpeedUp, evaluate
from moldable.results import Performance
from moldable.system.estimate import Estimate


def performing(blocking: Estimate, mean_time: float) -> Performance:
    """Return a result with these two figures; the rest is taken from a real one."""
    some = evaluate(Scenario.single(SpeedUp([1.0]), 0.5, 2))
    return dataclasses.replace(
        some, blocking=blocking, mean_execution_time=Estimate.exact(mean_time)
    )
