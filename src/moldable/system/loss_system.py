"""A scenario under a policy as arrays, for the solvers and kernels.

A *kind* is a class of jobs at one width. Kinds that can never occur are left out: if a policy has
one width that divides the servers, for instance, nothing narrower is ever granted.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.allocation.whole_servers import reserve_whole
from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError
from moldable.files.policy_file import Rule, as_policy
from moldable.model.arrivals import Arrivals, Poisson
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.workload import Workload
from moldable.policies.equi import Equi
from moldable.policies.even_price import even_price
from moldable.policies.greedy import GreedyP, greedy_p, shares_of
from moldable.policies.policy import Policy
from moldable.policies.policy_table import PolicyTable, refuse_large_table
from moldable.policies.registry import data_from_policy
from moldable.system.queue_rows import tabulate_waiting

MOST_SERVERS: Final = 20_000_000


@final
@dataclass(frozen=True, eq=False)
class System:
    """A scenario under a policy, as arrays.

    Attributes:
        scenario: the classes, the cluster and the arrivals.
        policy_name: name of the policy in reports.
        pools: servers that each class may use; with `shared`, the same servers.
        shared: whether all classes use one pool.
        kind_class: the class of each kind.
        kind_width: its width.
        kind_scale: its mean execution time.
        wishes: for each class, the probability of each kind (column) by idle servers (row); the
            rest to 1 is blocked.
        policy_data: the policy as data, as in its file; only its name if it is code.
        queue_rows: for each class, `wishes` while 1, 2, ... jobs wait behind the job that may start
            (first axis; the last stands for all larger numbers); empty without waiting places, and
            without rows if waiting jobs do not matter.
    """

    scenario: Scenario
    policy_name: str
    pools: tuple[int, ...]
    shared: bool
    kind_class: Ints
    kind_width: Ints
    kind_scale: Floats
    wishes: tuple[Floats, ...]
    policy_data: Mapping[str, Any]
    queue_rows: tuple[Floats, ...] = ()

    @property
    def places(self) -> float:
        """The waiting places."""
        return self.scenario.waiting

    @property
    def workload(self) -> Workload:
        """The classes."""
        return self.scenario.workload

    @property
    def servers(self) -> int:
        """The size of the cluster."""
        return self.scenario.servers

    @property
    def arrivals(self) -> Arrivals:
        """The arrival process."""
        return self.scenario.arrivals

    @property
    def poisson(self) -> bool:
        """Whether arrivals are Poisson."""
        return isinstance(self.arrivals, Poisson)


def build_system(scenario: ScenarioOrFile, policy: Rule) -> System:
    """Tabulate the policy and keep the kinds that can occur."""
    scenario = checked_scenario(scenario)
    if scenario.servers > MOST_SERVERS:
        raise SimulationError(
            f"{scenario.servers} is beyond the {MOST_SERVERS:,} that fit in memory; for the limit "
            f"of large clusters use moldable optimum",
            "servers",
        )
    workload = scenario.workload
    shared = workload.sharing == "pool"
    pools, policy = pools_and_policy(scenario, policy)
    table = policy.tabulate(workload, pools)
    waiting = tabulate_waiting(scenario, policy, table) if scenario.waiting else ()
    kept = _occurring(table, waiting, pools, shared=shared)
    _refuse_never_granted(workload, policy, pools, kept)
    kinds = [(j, int(k)) for j, positions in enumerate(kept) for k in positions]
    curves = [job_class.speedup for job_class in workload.classes]
    kind_class = np.array([j for j, _ in kinds], dtype=np.int64)
    refuse_large_table(policy.name, sum(map(len, table.rows)), kind_class.size)

    def by_kind(j: int, rows: Floats) -> Floats:
        spread = np.zeros((*rows.shape[:-1], kind_class.size))
        spread[..., kind_class == j] = rows[..., kept[j]]
        return spread

    return System(
        scenario,
        policy.name,
        pools,
        shared,
        kind_class,
        np.array([curves[j].widths[k] for j, k in kinds], dtype=np.int64),
        np.array([workload.classes[j].mean_size / curves[j].speedups[k] for j, k in kinds]),
        tuple(itertools.starmap(by_kind, enumerate(table.rows))),
        data_from_policy(policy) or {"policy": policy.name},
        tuple(itertools.starmap(by_kind, enumerate(waiting))),
    )


def _refuse_never_granted(
    workload: Workload, policy: Policy, pools: tuple[int, ...], kept: list[Ints]
) -> None:
    if not any(kinds.size for kinds in kept):
        raise SimulationError(
            f"policy {policy.name} never grants any job a server: its widths are below the "
            f"narrowest one allowed, or it refuses jobs while all servers are idle; choose wider "
            f"ones"
        )
    for job_class, own, kinds in zip(workload.classes, pools, kept, strict=True):
        if workload.sharing == "reserved" and kinds.size == 0:
            raise SimulationError(
                f"class {job_class.name!r} owns {own} servers, and policy {policy.name} never "
                f"grants it any of them: choose a width of at most {own}"
            )


def pools_and_policy(scenario: Scenario, rule: Rule) -> tuple[tuple[int, ...], Policy]:
    """Return the servers that each class may use, and the policy; by default the usual one."""
    policy = as_policy(rule, scenario)
    if isinstance(policy, Equi):
        raise SimulationError(
            "equi is preemptive: its jobs keep no width, so it is known in closed form only; use "
            "evaluate(...)",
            "policy",
        )
    if scenario.workload.sharing == "pool":
        pools = (scenario.servers,) * len(scenario.workload.classes)
        default = even_price if scenario.waiting else greedy_p
        return pools, policy if policy is not None else default(scenario)
    division = reserve_whole(scenario)
    pools = tuple(int(part.servers) for part in division.classes)
    return pools, policy if policy is not None else GreedyP(shares_of(division), "greedy(p*)")


def _occurring(
    table: PolicyTable, waiting: tuple[Floats, ...], pools: tuple[int, ...], *, shared: bool
) -> list[Ints]:
    """Return the positions of the widths of each class that can be granted.

    Idle counts are multiples of the greatest common divisor g of the servers and the granted
    widths, so only these rows are read; g is reduced by what they grant until it does not change.
    """
    count = len(table.rows)
    groups = [list(range(count))] if shared else [[j] for j in range(count)]
    kept: list[Ints] = [np.zeros(0, dtype=np.int64)] * count
    for group in groups:
        g = pools[group[0]]
        while True:
            for j in group:
                rows = table.rows[j]
                reached = np.minimum(np.arange(0, rows.shape[0] - 1 + g, g), rows.shape[0] - 1)
                granted = rows[reached].sum(axis=0)
                if waiting:
                    granted = granted + waiting[j][:, ::g].sum(axis=(0, 1))
                kept[j] = np.flatnonzero(granted > 0.0)
            widths = [w for j in group for w in table.classes[j].speedup.widths[kept[j]].tolist()]
            smaller = math.gcd(g, *widths)
            if smaller == g:
                break
            g = smaller
    return kept


def by_pool(system: System) -> list[System]:
    """Return the parts that share no servers; with Poisson arrivals they are independent."""
    if system.shared or len(system.pools) == 1:
        return [system]
    parts = []
    for j, (job_class, servers) in enumerate(
        zip(system.workload.classes, system.pools, strict=True)
    ):
        kinds = system.kind_class == j
        parts.append(
            dataclasses.replace(
                system,
                scenario=dataclasses.replace(
                    system.scenario, workload=Workload((job_class,)), servers=servers
                ),
                pools=(servers,),
                shared=True,
                kind_class=np.zeros(int(kinds.sum()), dtype=np.int64),
                kind_width=system.kind_width[kinds],
                kind_scale=system.kind_scale[kinds],
                wishes=(system.wishes[j][:, kinds],),
                queue_rows=tuple(rows[:, :, kinds] for rows in system.queue_rows[j : j + 1]),
            )
        )
    return parts
