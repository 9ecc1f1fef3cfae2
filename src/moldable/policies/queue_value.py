"""The value policy of a cluster with a queue: widths by idle servers and waiting jobs.

Policy iteration with the value function of `queue_bellman`, without simulation or search.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from typing import Final

import numpy as np

from moldable.checks import positive
from moldable.errors import PolicyError, UnstableError
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.policies.idle_chain import cut_off
from moldable.policies.kinds import Kinds
from moldable.policies.queue_bellman import QueueValue
from moldable.policies.queue_levels import Levels
from moldable.policies.queue_nodes import KindTable, most_free
from moldable.policies.queue_table import QueueTable
from moldable.policies.thresholds import Choice
from moldable.threads import interruptible

SMALLER: Final = 1.25
"""The table is computed for a load n / (n + SMALLER) times as large; see `queue_value_policy`."""
ROUNDS, REPEATS = 40, 4
"""Most rounds of policy iteration, and most rounds that return to an earlier table."""
STEP: Final = 4.0
"""The values of round r have weight STEP / r in the average with those before, at most a half."""
UNCHANGED, SETTLED = 3, 1e-4
"""Rounds without a change of the table, and change of the mix as a share of the servers, that count
as converged."""
SWEEPS: Final = 3
"""Iterations of the mix of running jobs in a round."""
DEPTH: Final = math.log(1e-10)
"""Logarithm of the probability of longer queues that are left out."""
RARE: Final = 1e-6
"""Probability of longer queues below which their rows are left out of the policy."""
LONGEST, SPREAD = 2_000, 8.0
"""Longest queue in the equations because of the load; and because of fluctuations, in square roots
of the servers: large clusters are best kept full by a short queue, in which jobs hardly wait."""
BLOCKING_COST: Final = 100.0
"""Default cost of a blocked job in mean sizes: blocking is nearly as small as it can be. With
unlimited waiting places, it is the cost of a job that finds the longest queue of the equations."""
MOST_SERVERS: Final = 2_000
"""Larger clusters get the table of this many servers at the same load. Thresholds grow as the
logarithm of the servers only, and with more servers the iteration does not converge."""


def queue_value_policy(
    scenario: ScenarioOrFile,
    *,
    load_factor: float | None = None,
    waiting_cost: float = 1.0,
    blocking_cost: float = BLOCKING_COST,
) -> QueueTable:
    """Return a table of widths by idle servers and waiting jobs.

    It comes close to the least mean response time of all policies. Arrivals are taken to be
    Poisson, and of the sizes only the means are used.

    Args:
        scenario: classes that share one pool, with waiting places.
        load_factor: the table is computed for the load multiplied by this. By default it is
            n / (n + 1.25) with n servers, counted in the common divisor of the widths: (1)
            overestimates the value of servers in small clusters.
        waiting_cost: cost of a unit of waiting time, if a unit of execution time costs 1.
        blocking_cost: cost of a job that finds all waiting places taken, in mean sizes.

    Examples:
        >>> scenario = Scenario.single([1, 1.8, 2.5], 0.8, 8, waiting="unlimited")
        >>> queue_value_policy(scenario).grant("jobs", Observation(idle=3, waiting=2))
        1
    """
    scenario = checked_scenario(scenario)
    found = queue_value(
        scenario, load_factor=load_factor, waiting_cost=waiting_cost, blocking_cost=blocking_cost
    )
    return _as_policy(found).with_classes(scenario)


def queue_value(
    scenario: Scenario,
    start: QueueValue | None = None,
    *,
    load_factor: float | None = None,
    waiting_cost: float = 1.0,
    blocking_cost: float = BLOCKING_COST,
) -> QueueValue:
    """Return the table that is optimal for its own value function, by policy iteration.

    `start` is a solution for other parameters; see `queue_value_policy`.
    """
    if not scenario.waiting:
        raise PolicyError(
            "the scenario has no waiting places; add some, such as waiting='unlimited', or take "
            "value_policy for jobs that are lost if they find no server",
            "waiting",
        )
    costs = (
        positive(waiting_cost, "waiting_cost", PolicyError, "such as 1"),
        positive(blocking_cost, "blocking_cost", PolicyError, "such as 4"),
    )
    kinds = Kinds.of(replace(scenario, waiting=0))
    own = default_load_factor(scenario) if load_factor is None else load_factor
    factor = positive(own, "load_factor", PolicyError, "such as 0.95")
    if factor * _least_share(kinds) >= 1.0 and math.isinf(scenario.waiting):
        refuse_overload(scenario)
        raise PolicyError(
            f"{factor:g} must be below {1.0 / _least_share(kinds):.4g}: at this multiple of the "
            f"load the queue would grow without limit",
            "load_factor",
        )
    servers = min(kinds.servers, max(MOST_SERVERS, int(kinds.widths.max())))
    rates = kinds.rates * (factor * servers / kinds.servers)
    kinds = replace(kinds, servers=servers, rates=rates)
    interruptible(importlib.import_module, "scipy.linalg.lapack")  # slow the first time
    return _iterated(kinds, scenario.waiting, costs, start)


def default_load_factor(scenario: Scenario) -> float:
    """Return n / (n + 1.25); see `queue_value_policy`."""
    servers = Kinds.of(replace(scenario, waiting=0)).servers
    return servers / (servers + SMALLER)


def _iterated(
    kinds: Kinds, places: float, costs: tuple[float, float], start: QueueValue | None
) -> QueueValue:
    longest = _longest_queue(kinds, places)
    table = KindTable.narrow(kinds) if start is None else start.table
    before, unchanged = start, 0
    seen: dict[bytes, int] = {}
    repeated: list[QueueValue] = []
    last: list[QueueValue] = []
    for rounds in range(ROUNDS):
        levels = _levels(kinds, table, longest, None if before is None else before.levels)
        before = QueueValue(levels, *costs, before, min(0.5, STEP / (rounds + 1)))
        last = [before]
        unchanged = unchanged + 1 if before.same else 0
        if unchanged >= UNCHANGED and levels.moved < SETTLED * kinds.servers:
            return before
        key = table.first.tobytes() + table.later.tobytes()
        if rounds - seen.get(key, rounds) > 1:
            repeated.append(before)
        if len(repeated) >= REPEATS:
            break
        seen[key], table = rounds, before.better
    return min(repeated or last, key=lambda each: each.cost)


def _longest_queue(kinds: Kinds, places: float) -> int:
    """Return the longest queue in the equations: longer ones are too rare to matter."""
    spread = math.ceil(SPREAD * math.sqrt(kinds.servers))
    needed = _least_share(kinds)
    if needed < 1.0:
        spread = max(spread, min(math.ceil(DEPTH / math.log(needed)) + 5, LONGEST))
    return int(min(spread, places))


def _least_share(kinds: Kinds) -> float:
    """Return the share of the servers that is busy if all jobs run with least server-time."""
    held = kinds.widths * kinds.times
    least = np.array([held[kinds.members(j)].min() for j in range(kinds.rates.size)])
    return float(kinds.rates @ least) / kinds.servers


def refuse_overload(scenario: Scenario) -> None:
    """Refuse an unlimited queue that would grow without limit under every policy."""
    kinds = Kinds.of(replace(scenario, waiting=0))
    needed = _least_share(kinds)
    if needed < 1.0 or math.isfinite(scenario.waiting):
        return
    arrivals, load = float(kinds.rates.sum()), scenario.load
    raise UnstableError(
        f"the queue grows without limit under every policy: jobs arrive at rate {arrivals:.6g}, "
        f"but the servers complete at most {arrivals / needed:.6g} per unit of time; load "
        f"{load:.3g} must be below {load / needed:.3g}: lower it, add servers, or limit the "
        f"waiting places"
    )


def _levels(kinds: Kinds, table: KindTable, longest: int, before: Levels | None) -> Levels:
    """Return the levels under a table, starting at the mix of those before."""
    if before is None:
        used = np.unique(table.first[table.first >= 0])
        running = np.bincount(used, minlength=kinds.widths.size).astype(np.float64)
        mix = running[:, None]
    else:
        mix, running = before.mix, before.mix @ before.law
    held = running * kinds.widths
    end, _ = cut_off(kinds, table.first, held / held.sum())
    end = min(max(end, most_free(kinds) + 1), kinds.servers + 1)
    if before is not None:
        mix = mix[:, np.clip(np.arange(-longest, end) + before.zero, 0, before.size - 1)]
    found = Levels(kinds, table, longest, end, mix)
    for _ in range(SWEEPS):
        found.iterate()
    return found


def _as_policy(found: QueueValue) -> QueueTable:
    """Return the table as a policy; its rows for rare queues repeat the last one before.

    There the equations end, and decisions would be those of a queue that cannot grow further.
    """
    levels, table = found.levels, found.table
    kinds, longer = levels.kinds, np.cumsum(levels.law[: levels.zero])[::-1]
    met = int(np.count_nonzero(longer > RARE))
    widths = np.append(kinds.widths * kinds.unit, 0)
    tables: dict[str, dict[int, dict[int, Choice]]] = {}
    for j, job_class in enumerate(kinds.scenario.workload.classes):
        rows: dict[int, dict[int, Choice]] = {}
        for behind, kinds_by_idle in enumerate((table.first[j], *table.later[j][:met])):
            row = widths[kinds_by_idle]
            changes = np.flatnonzero(np.diff(row, prepend=0)).tolist()
            own: dict[int, Choice] = {z * kinds.unit: int(row[z]) for z in changes}
            if not rows or own != rows[max(rows)]:
                rows[behind] = own
        tables[job_class.name] = rows
    return QueueTable(tables)
