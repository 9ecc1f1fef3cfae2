"""Which jobs are running when a replication begins?

"equilibrium" draws counts from the truncated product form of the wished widths, with independent
equilibrium residual sizes. It is exactly stationary if arrivals are Poisson and one width that
divides the servers is ever granted, with the same probability whenever it fits; otherwise it is
approximate. "empty" is what the paper did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError, nearest
from moldable.system.loss_system import System

Start = str | Mapping[tuple[str, int], int] | Mapping[int, int]
STARTS: Final = ("equilibrium", "empty")
TRIES: Final = 1000


def exactly_stationary(system: System, start: Start) -> bool:
    """Return whether the start is the stationary state itself, so that no warm-up is needed."""
    if start != "equilibrium" or not system.poisson:
        return False
    return all(
        members.size == 1 and _erlang(system, int(members[0]), servers)
        for members, servers in _groups(system)
    )


def _erlang(system: System, kind: int, servers: int) -> bool:
    """Return whether a pool with one kind of job is Erlang's loss system.

    Its width divides the servers, and the probability that it is granted is the same whenever it
    fits: arrivals of accepted jobs are then Poisson until the pool is full.
    """
    width = int(system.kind_width[kind])
    granted = system.wishes[system.kind_class[kind]][:, kind]
    return servers % width == 0 and bool(np.all(granted[width::width] == granted[-1]))


def initial_counts(system: System, start: Start, rng: np.random.Generator) -> Ints:
    """Return how many jobs of each kind run at time 0."""
    counts = np.zeros(system.kind_width.size, dtype=np.int64)
    if isinstance(start, Mapping):
        return _given(system, start)
    if start not in STARTS:
        raise SimulationError(f"{start!r} is unknown; {nearest(str(start), STARTS)}", "start")
    if start == "equilibrium":
        offered = _offered(system)
        for members, servers in _groups(system):
            widths = system.kind_width[members]
            counts[members] = _truncated(offered[members], widths, servers, rng)
    return counts


def _groups(system: System) -> list[tuple[Ints, int]]:
    """Return the kinds of each pool and its servers."""
    if system.shared:
        return [(np.arange(system.kind_width.size), system.servers)]
    return [
        (np.flatnonzero(system.kind_class == j), servers) for j, servers in enumerate(system.pools)
    ]


def _offered(system: System) -> Floats:
    """Mean jobs of each kind if nothing were ever short."""
    rates = np.array([job_class.arrival_rate for job_class in system.workload.classes])
    wished = np.array([system.wishes[j][-1, k] for k, j in enumerate(system.kind_class)])
    offered: Floats = rates[system.kind_class] * wished * system.kind_scale
    return offered


def _truncated(offered: Floats, widths: Ints, servers: int, rng: np.random.Generator) -> Ints:
    """Draw independent Poisson counts that fit together."""
    if offered.size == 1:
        return np.array([_truncated_poisson(float(offered[0]), servers // int(widths[0]), rng)])
    # Tilting by theta**width leaves the law given the total unchanged and makes overload fit.
    low, high = 0.0, 1.0
    if float(offered @ widths) > servers:
        for _ in range(60):
            theta = 0.5 * (low + high)
            fits = float((offered * theta**widths) @ widths) <= servers
            low, high = (theta, high) if fits else (low, theta)
        offered = offered * low**widths
    for _ in range(TRIES):
        counts = rng.poisson(offered)
        if int(counts @ widths) <= servers:
            return np.asarray(counts, dtype=np.int64)
    return np.floor(offered * servers / float(offered @ widths) * 0.999).astype(np.int64)


def _truncated_poisson(mean: float, most: int, rng: np.random.Generator) -> int:
    """Draw from the Poisson law given that it is at most `most`, exactly."""
    if mean <= most:
        while True:
            count = int(rng.poisson(mean))
            if count <= most:
                return count
    # Overloaded: p(most - i) falls at least geometrically, so a window below the end is enough.
    window = min(most, int(np.ceil(40.0 * (1.0 + most / max(mean - most, mean**0.5)))))
    counts = np.arange(most, most - window - 1, -1)
    log_ratio = np.concatenate(([0.0], np.cumsum(np.log(counts[:-1] / mean))))
    weights = np.exp(log_ratio)
    return int(counts[rng.choice(weights.size, p=weights / weights.sum())])


def _given(system: System, start: Mapping[tuple[str, int], int] | Mapping[int, int]) -> Ints:
    names = [job_class.name for job_class in system.workload.classes]
    counts = np.zeros(system.kind_width.size, dtype=np.int64)
    for key, count in start.items():
        name, width = key if isinstance(key, tuple) else (names[0], key)
        if name not in names:
            raise SimulationError(f"start: unknown class {name!r}; {nearest(name, names)}")
        match = (system.kind_class == names.index(name)) & (system.kind_width == width)
        if not match.any():
            known = system.kind_width[system.kind_class == names.index(name)].tolist()
            raise SimulationError(
                f"start: jobs of class {name!r} never have width {width} under this policy; "
                f"its widths are {known}"
            )
        if isinstance(count, bool) or int(count) != count or count < 0:
            raise SimulationError(
                f"start: {count} jobs of width {width}; give a whole number from 0"
            )
        # Compared as Python integers: sums of huge ones would wrap around in arrays.
        if int(count) * int(width) > system.servers:
            raise SimulationError(
                f"start: its jobs need {int(count) * int(width)} servers, but there are "
                f"{system.servers}"
            )
        counts[match] = int(count)
    for members, servers in _groups(system):
        busy = int(counts[members] @ system.kind_width[members])
        if busy > servers:
            raise SimulationError(f"start: its jobs need {busy} servers, but there are {servers}")
    return counts
