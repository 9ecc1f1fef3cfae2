"""How are many policies measured? Exactly one by one, or together on common random numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import Final, final

from moldable.errors import ControlError, NearlyDecomposableError
from moldable.evaluation.evaluate import QUICK
from moldable.exact.exact import stationary_law
from moldable.exact.pool import predicted_states
from moldable.model.scenario import Scenario
from moldable.model.workload import Workload, checked_workload
from moldable.policies.greedy import GreedyP
from moldable.policies.policy_table import Policy
from moldable.simulation.candidates import in_lock_step, try_policies
from moldable.simulation.plan import TRIAL, child_seed
from moldable.system.loss_system import build_system, mean_size
from moldable.tuning.shapes import EXPONENTIAL, priced

Pair = tuple[float, float]

FEW_SERVERS: Final = 500
"""Servers up to which neighbouring prices are few different tables, all of them worth a look."""
EXACT_STATES: Final = 1_500
"""States up to which every trial is exact: beyond, hundreds of chains would take long."""
JOBS_PER_SERVER: Final = 25
FEWEST_JOBS, MOST_JOBS = 12_000, 1_000_000
REPLICATIONS: Final = 4


@final
class Trials:
    """Measures policies on one system.

    Attributes:
        exact: whether every figure is exact.
        solvable: whether single policies can be judged exactly.
        in_lock_step: whether many policies are simulated at little cost.
        jobs: in each replication of the first round; the noise of n servers lasts n times as long.
        unit: the mean size.
        memoryless: whether counts of running jobs form a chain that can be followed.
    """

    def __init__(self, workload: Workload, servers: int, seed: int, threads: int | None) -> None:
        system = build_system(Scenario(workload, servers), _every_width(workload))
        self.workload, self.servers = workload, system.servers
        self.seed, self.threads = seed, threads
        self.unit = mean_size(system)
        self.memoryless = all(c.size.phases is not None for c in workload.classes)
        states = predicted_states(system)
        self.exact = states is not None and states <= EXACT_STATES
        self.solvable = states is not None and states <= QUICK
        self.in_lock_step = in_lock_step(system)
        self.jobs = min(max(JOBS_PER_SERVER * self.servers, FEWEST_JOBS), MOST_JOBS)

    def measure(self, policies: Sequence[Policy], number: int) -> list[Pair]:
        """Return blocking and mean time of each policy; later rounds count more jobs."""
        if self.exact:
            return [self._solved(policy) for policy in policies]
        found = try_policies(
            Scenario(self.workload, self.servers),
            policies,
            jobs=self.jobs * 2 ** max(number - 1, 0),
            replications=REPLICATIONS,
            seed=child_seed(self.seed, TRIAL, number),
            threads=self.threads,
        )
        return list(zip(found.blockings.tolist(), found.mean_times.tolist(), strict=True))

    def _solved(self, policy: Policy) -> Pair:
        """Return the exact figures; a policy whose figures cannot be bounded is no candidate."""
        try:
            answer = stationary_law(Scenario(self.workload, self.servers), policy).performance()
        except NearlyDecomposableError:
            return 1.0, math.inf
        return answer.blocking.value, answer.mean_execution_time.value

    def prices(self, pairs: list[Pair], number: int, tail: float = EXPONENTIAL) -> list[Pair]:
        """Measure prices with a tail."""
        return self.measure([priced(*pair, tail) for pair in pairs], number)

    def table(self, policy: Policy) -> Hashable:
        """Return what policies with the same decisions share."""
        pools = (self.servers,) * len(self.workload.classes)
        rows = policy.tabulate(self.workload, pools).rows
        return tuple(row.tobytes() for row in rows)

    def price_table(self, pair: Pair, tail: float = EXPONENTIAL) -> Hashable:
        """Return what prices with the same decisions share; thousands are told apart by it."""
        policy = priced(*pair, tail)
        return tuple(policy.positions(c, self.servers).tobytes() for c in self.workload.classes)


def one_pool(workload: Workload) -> Workload:
    """Return the workload on one pool, as a single class always is; refuse classes that own it."""
    if len(checked_workload(workload).classes) == 1:
        return dataclasses.replace(workload, sharing="pool")
    if workload.sharing != "pool":
        raise ControlError(
            f"these {len(workload.classes)} classes own their servers, but one price serves a "
            f"pool: take each class with its own servers, or let them share (sharing='pool')"
        )
    return workload


def weights_do_not_count(workload: Workload) -> list[str]:
    """Say so where classes have weights: they change decisions, but no figure that is tuned."""
    weights = {job_class.name: job_class.weight for job_class in workload.classes}
    if len(set(weights.values())) == 1:
        return []
    told = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    doubt = (
        f"weights ({told}) make prices and greedy(p*) favour classes, but limits, costs and the "
        f"true optimum count the time of all jobs alike; leave them out to come closest to it"
    )
    return [doubt]


def _every_width(workload: Workload) -> GreedyP:
    """Return a policy with as many states as any can have."""
    return GreedyP(
        {
            job_class.name: {
                int(width): 1.0 / len(job_class.speedup) for width in job_class.speedup.widths
            }
            for job_class in workload.classes
        }
    )
