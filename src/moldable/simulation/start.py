"""Draw the jobs that are running when a replication starts.

"equilibrium" draws counts from the truncated product form of the requested widths, with independent
equilibrium residual sizes. It is exactly stationary if arrivals are Poisson and only one width,
which divides the servers, is ever granted, with the same probability whenever it fits; otherwise it
is approximate. "empty" is what the paper used.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import checked_int
from moldable.errors import SimulationError, shown, suggest
from moldable.system.loss_system import System

Start = str | Mapping[tuple[str, int], int] | Mapping[int, int]
STARTS: Final = ("equilibrium", "empty")
TRIES: Final = 1000


def exactly_stationary(system: System, start: Start) -> bool:
    """Return whether the start is exactly stationary, so that no warm-up is needed."""
    if start != "equilibrium" or not system.poisson or system.places:
        return False
    return all(
        members.size == 1 and _erlang(system, int(members[0]), servers)
        for members, servers in _pools(system)
    )


def _erlang(system: System, kind: int, servers: int) -> bool:
    """Return whether a pool with one kind of job is Erlang's loss system.

    Its width divides the servers, and it is granted with the same probability whenever it fits:
    accepted jobs then arrive as a Poisson process until the pool is full.
    """
    width = int(system.kind_width[kind])
    granted = system.wishes[system.kind_class[kind]][:, kind]
    return servers % width == 0 and bool(np.all(granted[width::width] == granted[-1]))


def initial_counts(system: System, start: Start, rng: np.random.Generator) -> Ints:
    """Return the number of jobs of each kind at time 0."""
    counts = np.zeros(system.kind_width.size, dtype=np.int64)
    if isinstance(start, Mapping):
        return _given(system, start)
    if not isinstance(start, str) or start not in STARTS:
        raise SimulationError(
            f"{shown(start)} is unknown; give 'equilibrium', 'empty', {{width: count}} or "
            f"{{(class, width): count}}",
            "start",
        )
    if start == "equilibrium":
        offered = _offered(system)
        for members, servers in _pools(system):
            widths = system.kind_width[members]
            counts[members] = _truncated(offered[members], widths, servers, rng)
    return counts


def _pools(system: System) -> list[tuple[Ints, int]]:
    """Return the kinds of each pool and its servers."""
    if system.shared:
        return [(np.arange(system.kind_width.size), system.servers)]
    return [
        (np.flatnonzero(system.kind_class == j), servers) for j, servers in enumerate(system.pools)
    ]


def _offered(system: System) -> Floats:
    """Return the mean number of jobs of each kind on infinitely many servers."""
    rates = system.workload.rates
    wished = np.array([system.wishes[j][-1, k] for k, j in enumerate(system.kind_class)])
    offered: Floats = rates[system.kind_class] * wished * system.kind_scale
    return offered


def _truncated(offered: Floats, widths: Ints, servers: int, rng: np.random.Generator) -> Ints:
    """Draw independent Poisson counts, given that the jobs fit on the servers."""
    if offered.size == 1:
        return np.array([_truncated_poisson(float(offered[0]), servers // int(widths[0]), rng)])
    # Scaling by theta**width does not change the distribution given the total, and makes it fit.
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
    """Draw exactly from the Poisson distribution truncated at `most`."""
    if mean <= most:
        while True:
            count = int(rng.poisson(mean))
            if count <= most:
                return count
    # Overloaded: p(most - i) decreases at least geometrically, so a window is enough.
    window = min(most, int(np.ceil(40.0 * (1.0 + most / max(mean - most, mean**0.5)))))
    counts = np.arange(most, most - window - 1, -1)
    log_ratio = np.concatenate(([0.0], np.cumsum(np.log(counts[:-1] / mean))))
    weights = np.exp(log_ratio)
    return int(counts[rng.choice(weights.size, p=weights / weights.sum())])


def _given(system: System, start: Mapping[Any, Any]) -> Ints:
    names = [job_class.name for job_class in system.workload.classes]
    counts = np.zeros(system.kind_width.size, dtype=np.int64)
    for key, count in start.items():
        match key if isinstance(key, tuple) else (names[0], key):
            case (str(name), numbers.Real() as width):
                pass
            case _:
                raise SimulationError(
                    f"start: {shown(key)} must be a width, or a pair of a class and a width"
                )
        if name not in names:
            raise SimulationError(f"start: unknown class {name!r}; {suggest(name, names)}")
        match = (system.kind_class == names.index(name)) & (system.kind_width == width)
        if not match.any():
            known = system.kind_width[system.kind_class == names.index(name)].tolist()
            raise SimulationError(
                f"start: jobs of class {name!r} never have width {width} under this policy; "
                f"its widths are {known}"
            )
        counts[match] = checked_int(count, f"start, width {width}: jobs", SimulationError, least=0)
    for members, servers in _pools(system):
        # Python integers, because products of huge ones would wrap around in arrays.
        busy = sum(int(counts[k]) * int(system.kind_width[k]) for k in members)
        if busy > servers:
            raise SimulationError(f"start: its jobs need {busy} servers, but there are {servers}")
    return counts
