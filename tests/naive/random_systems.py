"""Random workloads and policies of every kind in the library."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from moldable import (
    Greedy,
    JobClass,
    MoldableError,
    Policy,
    Scenario,
    SpeedUp,
    Thresholds,
    Workload,
    greedy_p,
)
from moldable.policies import FixedWidth, GreedyP, Rigid
from naive.random_curves import SHAPES, random_speedups

POLICIES = ("greedy", "greedy(p)", "greedy(p*)", "fixed", "rigid", "thresholds", "table")


@dataclass(eq=False)
class RandomTable(Policy):
    """Draws one decision for each class and idle count, once."""

    rng: np.random.Generator
    strict: bool = False
    drawn: dict = field(default_factory=dict)

    def decide(self, job_class, idle):
        """Return the decision of this class and idle count."""
        key = job_class.name, idle
        if key not in self.drawn:
            widths = job_class.speedup.widths.tolist()
            count = int(self.rng.integers(1, len(widths) + 1))
            chosen = self.rng.choice(widths, count, replace=False).tolist()
            shares = self.rng.dirichlet(np.ones(count)).tolist()
            self.drawn[key] = dict(zip(chosen, shares, strict=True))
        return self.drawn[key]


def random_curve(rng, most_widths) -> SpeedUp:
    """Draw a curve, with gaps every other time."""
    d = int(rng.integers(1, most_widths + 1))
    speedups = random_speedups(str(rng.choice(SHAPES)), d, rng)
    kept = np.ones(d, dtype=bool)
    if rng.random() < 0.5:
        kept = rng.random(d) < 0.6
        kept[rng.integers(d)] = True
    widths = np.flatnonzero(kept) + 1
    return SpeedUp(dict(zip(widths.tolist(), speedups[kept].tolist(), strict=True)))


def random_workload(rng, servers, *, classes, most_widths, size=None) -> Workload:
    """Draw classes with a total load between 0.3 and 1.3."""
    offered = rng.dirichlet(np.ones(classes)) * rng.uniform(0.3, 1.3) * servers + 0.01
    parts = []
    for j in range(classes):
        mean = float(rng.uniform(0.3, 3.0))
        law = {} if size is None else {"size": size}
        curve = random_curve(rng, most_widths)
        parts.append(JobClass(f"class {j}", float(offered[j]) / mean, curve, mean, **law))
    return Workload(tuple(parts))


def random_policy(rng, workload, servers) -> Policy:  # noqa: PLR0911 - one for each kind
    """Draw a policy for these classes."""
    kind = str(rng.choice(POLICIES))
    classes = workload.classes
    if kind == "greedy(p)":
        return GreedyP({part.name: _shares(rng, part) for part in classes})
    if kind == "greedy(p*)":
        try:
            return greedy_p(Scenario(workload, servers))
        except MoldableError:  # more work than servers
            return Greedy()
    common = set.intersection(*(set(part.speedup.widths.tolist()) for part in classes))
    if kind == "fixed" and common:
        return FixedWidth(int(rng.choice(sorted(common))), strict=bool(rng.integers(2)))
    if kind == "rigid":
        return Rigid({part.name: int(rng.choice(part.speedup.widths)) for part in classes})
    if kind == "thresholds":
        return Thresholds({part.name: _thresholds(rng, part, servers) for part in classes})
    if kind == "table":
        return RandomTable(rng, strict=rng.random() < 0.3)
    return Greedy()


def _shares(rng, part):
    widths = np.arange(1, int(part.speedup.widths[-1]) + 1)  # wishes need not be allowed widths
    chosen = rng.choice(widths, int(rng.integers(1, min(widths.size, 3) + 1)), replace=False)
    return dict(zip(chosen.tolist(), rng.dirichlet(np.ones(chosen.size)).tolist(), strict=True))


def _thresholds(rng, part, servers):
    widths = part.speedup.widths
    chosen = np.sort(rng.choice(widths, int(rng.integers(1, widths.size + 1)), replace=False))
    idle, table = 0, {}
    for width in chosen.tolist():
        idle = max(width, idle + 1) + int(rng.integers(0, max(1, servers // 4)))
        table[idle] = width
    return table
