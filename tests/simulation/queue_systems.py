"""Systems that queue jobs, from a rule for the width of a job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from moldable import Scenario
from moldable.arrays import Floats, Ints
from moldable.simulation.plan import MAIN, Plan


@dataclass(frozen=True, eq=False)
class QueueSystem:
    """The arrays of a loss system, with rows for jobs behind and places for waiting ones."""

    scenario: Scenario
    kind_class: Ints
    kind_width: Ints
    kind_scale: Floats
    wishes: tuple[Floats, ...]
    queue_rows: tuple[Floats, ...]
    places: float
    shared: bool = True
    policy_name: str = "rule"
    policy_data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pools(self):
        return (self.scenario.servers,) * len(self.workload.classes)

    @property
    def workload(self):
        return self.scenario.workload

    @property
    def servers(self):
        return self.scenario.servers

    @property
    def arrivals(self):
        return self.scenario.arrivals

    @property
    def poisson(self):
        return True


def queue_system(scenario, rule, *, places=math.inf, behind=0, idle=None):
    """Tabulate `rule(class, idle, behind)`, which returns {width: probability}."""
    classes, n = scenario.workload.classes, scenario.servers
    kinds = [(j, k) for j, one in enumerate(classes) for k in range(one.speedup.widths.size)]
    widths = np.array([classes[j].speedup.widths[k] for j, k in kinds])

    def row(j, z, b):
        wished, both = rule(j, z, b), zip(kinds, widths.tolist(), strict=True)
        return [wished.get(width, 0.0) if own == j else 0.0 for (own, _), width in both]

    idle = n if idle is None else idle
    return QueueSystem(
        scenario,
        np.array([j for j, _ in kinds]),
        widths,
        np.array([classes[j].mean_size / classes[j].speedup.speedups[k] for j, k in kinds]),
        tuple(np.array([row(j, z, 0) for z in range(n + 1)]) for j in range(len(classes))),
        tuple(
            np.array(
                [[row(j, z, b) for z in range(idle + 1)] for b in range(1, behind + 1)]
            ).reshape(behind, idle + 1, len(kinds))
            for j in range(len(classes))
        ),
        places,
    )


def even_price(scenario, q0=0.4):
    """Return the rule with a price that falls with the idle servers and divides them evenly."""
    n, speedups = scenario.servers, scenario.workload.classes[0].speedup.speedups

    def rule(_, z, b):
        price = math.exp(q0 - (z - b) / math.sqrt(n))
        widths = [w for w in range(1, min(z, len(speedups)) + 1) if -(-z // -(-z // w)) == w]
        cost = {w: (1 + w * price) / speedups[w - 1] for w in widths}
        return {min(cost, key=cost.__getitem__): 1.0} if cost else {}

    return rule


def fixed(width):
    """Return the rule that gives every job the same width."""
    return lambda _, z, b: {width: 1.0} if z >= width else {}  # noqa: ARG005


def fair(widest):
    """Return the rule that divides the idle servers by the jobs that wait."""
    return lambda _, z, b: {max(1, min(widest, z // (b + 1))): 1.0} if z else {}


def greedy(widest):
    """Return the rule that gives all it can."""
    return lambda _, z, b: {min(widest, z): 1.0} if z else {}  # noqa: ARG005


def queue_plan(system, *, jobs, warmup=0.0, batches=1, seed=4, start="equilibrium", **options):
    """Return a plan of such a system."""
    fixed_options = {"finished": False, "seed": seed, "stream": MAIN}
    return Plan(system, start, warmup, jobs=jobs, batches=batches, **fixed_options, **options)
