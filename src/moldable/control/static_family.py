"""What is the best that the paper's scheme does under a target? greedy(p*) for another load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.control.targets import Target
from moldable.control.trials import Trials
from moldable.hull import Floats
from moldable.performance import Performance
from moldable.policies.greedy import greedy_p
from moldable.policies.policy_table import Policy

LOADS: Final = 32
ROUNDS: Final = 3


@final
@dataclass(frozen=True)
class Static:
    """The best design load.

    Attributes:
        design_load: for which the shares were computed.
        performance: of greedy(p) with them, at the true load.
    """

    design_load: float
    performance: Performance


def best_static(
    target: Target, trials: Trials, evaluate: Callable[[Policy], Performance]
) -> Static | None:
    """Scan design loads, ever closer around the best."""
    workload, servers = trials.workload, trials.servers
    least, *_, most = design_loads(trials, LOADS).tolist()
    low, high, best = least, most, None
    for number in range(ROUNDS):
        loads = np.linspace(low, high, LOADS)
        figures = trials.measure([greedy_p(workload, servers, x) for x in loads], number + 1)
        merits = [target.merit(*pair) for pair in figures]
        i = int(np.argmin(merits))
        best = float(loads[i]) if target.kept(*figures[i]) else None
        step = float(loads[1] - loads[0])
        low, high = max(least, float(loads[i]) - step), min(most, float(loads[i]) + step)
    if best is None:
        return None
    return Static(best, evaluate(greedy_p(workload, servers, best)))


def design_loads(trials: Trials, count: int) -> Floats:
    """Return loads to design for: from half the true one to the most that can be carried."""
    workload, servers = trials.workload, trials.servers
    load = sum(job_class.offered for job_class in workload.classes) / servers
    needed = sum(
        job_class.offered * float(np.min(job_class.speedup.widths / job_class.speedup.speedups))
        for job_class in workload.classes
    )
    return np.linspace(0.5 * load, load * servers / needed * (1.0 - 1e-9), count)
