"""How do many policies fare on the same random numbers? One lane for each, in lock step.

All lanes of a set read the same stream: they tick together, jobs arrive in all of them at once, and
what chance does to one it does to its neighbours. So a few replications rank policies that differ
by far less than the error of each.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import SimulationError
from moldable.model.scenario import Scenario
from moldable.policies.policy_table import Policy
from moldable.simulation.chain_run import LANE_SETS, SLICE, TICKS, kernel_arguments, start_lane
from moldable.simulation.estimates import around, errors_of
from moldable.simulation.plan import MAIN, TRIAL, Plan
from moldable.simulation.replications import CHAIN_SLOTS, count_workers, fits_chain
from moldable.simulation.ring_run import run_ring
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System, build_system, on_common_kinds
from moldable.system.performance import Estimate
from moldable.threads import on_threads

WARMUP: Final = 8.0
"""Mean execution times of the slowest kind that are not counted."""


@final
@dataclass(frozen=True, eq=False)
class Trials:
    """What came of policies, by policy and replication.

    Attributes:
        arrived: jobs.
        blocked: jobs among them that were blocked.
        time: mean execution times of the accepted ones, summed.
    """

    arrived: Floats
    blocked: Floats
    time: Floats

    def blocking(self, policy: int) -> Estimate:
        """Return the blocking of one policy."""
        return _ratio(self.blocked[policy], self.arrived[policy])

    def mean_time(self, policy: int) -> Estimate:
        """Return the mean execution time of one policy's accepted jobs."""
        return _ratio(self.time[policy], self.arrived[policy] - self.blocked[policy])

    @property
    def blockings(self) -> Floats:
        """The blocking of every policy."""
        return np.asarray(self.blocked.sum(axis=1) / self.arrived.sum(axis=1))

    @property
    def mean_times(self) -> Floats:
        """The mean execution time of every policy."""
        accepted = self.arrived.sum(axis=1) - self.blocked.sum(axis=1)
        return np.asarray(self.time.sum(axis=1) / accepted)


def _ratio(above: Floats, below: Floats) -> Estimate:
    return around(float(above.sum() / below.sum()), errors_of(above, below))


def try_policies(
    scenario: Scenario,
    policies: Sequence[Policy],
    *,
    jobs: int,
    replications: int,
    seed: int,
    threads: int | None = None,
) -> Trials:
    """Run every policy on the same replications.

    Args:
        scenario: the cluster and the classes, sharing one pool.
        policies: any number.
        jobs: arrivals to expect in each replication.
        replications: at least two.
        seed: of the random numbers.
        threads: how many; all cores by default.
    """
    systems = on_common_kinds([build_system(scenario, policy) for policy in policies])
    models = _models(systems)
    workers = count_workers(threads, None)
    if models is None:
        return _in_rings(systems, jobs, replications, seed, workers)
    most = LANE_SETS[-1]
    groups = [range(i, min(i + most, len(systems))) for i in range(0, len(systems), most)]
    tasks = [(group, r) for r in range(replications) for group in groups]
    shape = (len(systems), replications)
    found = Trials(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def run(task: tuple[range, int]) -> None:
        group, replication = task
        rows = slice(group.start, group.stop)
        streams = np.random.SeedSequence(seed, spawn_key=(TRIAL, replication))
        counted = _run_set(systems[rows], models[rows], jobs, streams)
        found.arrived[rows, replication], found.blocked[rows, replication] = counted[:2]
        found.time[rows, replication] = counted[2]

    list(on_threads(run, tasks, workers))
    return found


def in_lock_step(system: System) -> bool:
    """Can policies that use its widths be run in lanes? Else each costs five times as much."""
    return _models([system]) is not None


def _models(systems: Sequence[System]) -> list[ChainModel] | None:
    """Return the systems as chains of one shape, or None where the lanes do not apply."""
    if not systems[0].shared:
        raise SimulationError("policies are tried on one shared pool; classes here own servers")
    models = [chain_model(system) for system in systems]
    known = [model for model in models if model is not None]
    if len(known) < len(models) or not fits_chain(known[0], CHAIN_SLOTS):
        return None
    rows = max(model.outcomes.shape[0] for model in known)
    return [dataclasses.replace(model, outcomes=_longer(model, rows)) for model in known]


def _longer(model: ChainModel, rows: int) -> Floats:
    """Repeat the last row of a policy's table, which stands for all larger idle counts."""
    return np.asarray(model.outcomes[np.minimum(np.arange(rows), len(model.outcomes) - 1)])


def _run_set(
    systems: Sequence[System],
    models: Sequence[ChainModel],
    jobs: int,
    streams: np.random.SeedSequence,
) -> tuple[Floats, Floats, Floats]:
    """Run one replication of as many policies as there are lanes.

    Returns jobs that arrived, those blocked, and the time of the others, by policy.
    """
    from moldable.kernels import count_chain as kernel

    model, system, used = models[0], systems[0], len(models)
    lanes = next(size for size in LANE_SETS if size >= used)
    slots, classes = model.rates.size, len(system.workload.classes)
    buffer = np.zeros((kernel.JOBS + 2 * slots + classes, lanes))
    words = buffer.view(np.uint64)
    stream, begin = streams.spawn(2)
    words[:4] = stream.generate_state(4, np.uint64)[:, None]
    buffer[kernel.IDLE] = system.servers
    table, columns, *others = kernel_arguments(models, lanes, classes)
    buffer[kernel.ORIGIN, :used] = np.arange(used) * (table.size // used)
    for lane, pair in enumerate(zip(systems, models, strict=True)):
        rng = np.random.default_rng(begin)
        start_lane(buffer, lane, *pair, start="equilibrium", rng=rng)
    arguments = (words.ravel(), buffer.ravel(), table, columns, *others)
    counts = buffer[kernel.JOBS + slots :, :used]
    warm = WARMUP * float(system.kind_scale.max()) * model.total_rate
    for ticks in (warm, jobs * model.total_rate / model.arrival_rate):
        counts[:] = 0.0
        _run(kernel.count_chain, arguments, math.ceil(ticks / TICKS), np.zeros(slots * lanes))
    granted = counts[:slots].reshape(-1, model.phases, used).sum(axis=1)
    return counts.sum(axis=0), counts[slots:].sum(axis=0), system.kind_scale @ granted


def _run(kernel: Any, arguments: tuple[Any, ...], blocks: int, sums: Floats) -> None:
    """Run blocks of ticks, with a pause now and then in which an interruption is heard."""
    for begin in range(0, blocks, SLICE // TICKS):
        kernel(*arguments, min(SLICE // TICKS, blocks - begin), TICKS, sums)


def _in_rings(
    systems: Sequence[System], jobs: int, replications: int, seed: int, workers: int
) -> Trials:
    """Run sizes without phases, or many widths: one policy after the other, on common numbers."""
    shape = (len(systems), replications)
    found = Trials(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def run(task: tuple[int, int]) -> None:
        policy, replication = task
        system = systems[policy]
        warmup = WARMUP * float(system.kind_scale.max())
        plan = Plan(system, "equilibrium", warmup, jobs, 1, False, seed, MAIN, common=True)  # noqa: FBT003
        tallies = run_ring(plan, (replication,))
        found.arrived[policy, replication] = tallies.arrived.sum()
        found.blocked[policy, replication] = tallies.blocked.sum()
        found.time[policy, replication] = float((tallies.granted @ system.kind_scale).sum())

    tasks = [(policy, r) for r in range(replications) for policy in range(len(systems))]
    list(on_threads(run, tasks, workers))
    return found
