"""Systems with a queue: arrays from a function of class, idle servers and jobs behind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from moldable.system.loss_system import System


def queue_system(scenario, choose, places, *, behind=20, reach=None) -> System:
    """Tabulate choose(class, idle, behind) -> {width: probability}.

    Args:
        scenario: the classes, the cluster and the arrivals.
        choose: the policy; an empty answer holds.
        places: number of jobs that may wait.
        behind: tables for 1, ..., `behind` jobs behind the head.
        reach: idle servers of the last row of each table.
    """
    classes, reach = scenario.workload.classes, scenario.servers if reach is None else reach
    kinds = [
        (j, width)
        for j, part in enumerate(classes)
        for width in part.speedup.widths.tolist()
        if width <= scenario.servers
    ]

    def rows(j, waiting):
        table = np.zeros((reach + 1, len(kinds)))
        for idle in range(reach + 1):
            for width, chance in choose(j, idle, waiting).items():
                table[idle, kinds.index((j, width))] += chance
        return table

    wishes = [rows(j, 0) for j in range(len(classes))]
    later = [
        np.array([rows(j, waiting) for waiting in range(1, behind + 1)]).reshape(
            behind, reach + 1, len(kinds)
        )
        for j in range(len(classes))
    ]
    used = np.zeros(len(kinds), dtype=bool)
    for table in (*wishes, *(table for tables in later for table in tables)):
        used |= table.any(axis=0)
    kept = [kind for kind, occurs in zip(kinds, used, strict=True) if occurs]
    return System(
        replace(scenario, waiting=places),
        "test",
        (scenario.servers,) * len(classes),
        True,  # noqa: FBT003 - shared
        np.array([j for j, _ in kept], dtype=np.int64),
        np.array([width for _, width in kept], dtype=np.int64),
        np.array([classes[j].mean_size / classes[j].speedup[width] for j, width in kept]),
        tuple(table[:, used] for table in wishes),
        {"policy": "test"},
        tuple(tables[:, :, used] for tables in later),
    )


def with_places(system, places) -> System:
    """The same system with another number of waiting places."""
    return replace(system, scenario=replace(system.scenario, waiting=places))


def greedy(widest):
    """The widest width that fits, whatever waits."""
    return lambda _, idle, __: {min(idle, widest): 1.0} if idle else {}


def fixed(width):
    """One width, or nothing."""
    return lambda _, idle, __: {width: 1.0} if idle >= width else {}


def even_share(widest):
    """Idle servers divided by the waiting jobs."""

    def choose(_, idle, behind):
        return {min(max(idle // (behind + 1), 1), widest): 1.0} if idle else {}

    return choose


def even_price(speedups, servers, q0=0.4, ell=None):
    """Least (1 + w p)/s_w of the even widths w, where p = exp(q0 - (idle - behind)/ell)."""
    ell = math.sqrt(servers) if ell is None else ell

    def choose(_, idle, behind):
        price = math.exp(q0 - (idle - behind) / ell)
        costs = {
            width: (1.0 + width * price) / speedups[width - 1]
            for width in range(1, min(idle, len(speedups)) + 1)
            if width == -(-idle // -(-idle // width))
        }
        return {min(costs, key=costs.get): 1.0} if costs else {}

    return choose


@dataclass(eq=False)
class RandomTable:
    """Draws the decision of each class, idle count and number of jobs behind once.

    Args:
        rng: source of the decisions.
        widths: of each class.
        behind: jobs behind the head from which on their number does not matter.
        holding: probability of holding although a job would fit; never with all servers idle.
        servers: of the cluster.
        alike: whether all classes hold, or none does.
        sharply: whether one width is given instead of probabilities.
    """

    rng: np.random.Generator
    widths: list
    behind: int
    holding: float
    servers: int
    alike: bool
    sharply: bool
    drawn: dict = field(default_factory=dict)

    def __call__(self, j, idle, behind):
        """Return {width: probability}."""
        key = j, idle, min(behind, self.behind)
        if key not in self.drawn:
            self.drawn[key] = self._draw(*key)
        return self.drawn[key]

    def _draw(self, j, idle, behind):
        fitting = [width for width in self.widths[j] if width <= idle]
        hold = ("hold", 0 if self.alike else j, idle, behind)
        if hold not in self.drawn:
            self.drawn[hold] = idle < self.servers and self.rng.random() < self.holding
        if not fitting or self.drawn[hold]:
            return {}
        count = 1 if self.sharply else int(self.rng.integers(1, min(3, len(fitting)) + 1))
        chosen = self.rng.choice(fitting, count, replace=False).tolist()
        return dict(zip(chosen, self.rng.dirichlet(np.ones(count)).tolist(), strict=True))
