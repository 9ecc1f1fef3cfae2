"""Evaluate policies of a cluster that queues, with common random numbers where simulated."""

from __future__ import annotations

import math
from typing import Final, final

from moldable.errors import UnstableError
from moldable.evaluation.evaluate import check_request, solve_exactly, solve_quickly
from moldable.files.policy_file import to_json
from moldable.model.scenario import Scenario
from moldable.policies.policy import Policy
from moldable.simulation.plan import CERTIFY, SEARCH, child_seed
from moldable.simulation.run import run_until_precise
from moldable.simulation.simulate import (
    RunOptions,
    check_seed_and_threads,
    fresh_seed,
    prepare_run,
)
from moldable.simulation.warmup import queue_warmup
from moldable.system.loss_system import System, build_system, mean_size
from moldable.system.performance import Performance

REPLICATIONS: Final = 32
TRIED, CERTIFIED = 40_000, 200_000
"""Arrivals of a replication while searching, and for the chosen policies."""
LONGER: Final = 4
"""How many times as long a certifying run may become to reach the precision."""
KERNEL: Final = "queue-ring"


@final
class QueueEvaluator:
    """Evaluates policies in one scenario, each once.

    Attributes:
        simulated: whether any policy was simulated.
        seed: of the simulations.
        evaluations: number of policies evaluated while searching.
    """

    def __init__(
        self, scenario: Scenario, *, precision: float, seed: int | None, threads: int | None
    ) -> None:
        check_request("auto", precision)
        check_seed_and_threads(seed, threads)
        self.scenario, self.precision, self.threads = scenario, precision, threads
        self.seed = fresh_seed() if seed is None else seed
        self.simulated = False
        self.evaluations = 0
        self._known: dict[str, Performance | None] = {}

    def __call__(self, policy: Policy) -> Performance | None:
        """Return the performance of a policy while searching; None if its queue would grow."""
        key = to_json(policy)
        if key not in self._known:
            self.evaluations += 1
            self._known[key] = self._tried(policy)
        return self._known[key]

    def certify(self, policy: Policy, attempt: int) -> Performance:
        """Return the performance of a chosen policy, on random numbers of its own."""
        system = build_system(self.scenario, policy)
        exact = solve_exactly(system, "auto")
        if isinstance(exact, Performance):
            return exact
        return exact.warn(self._simulated(system, CERTIFIED, attempt, exact.reason))

    def certified(self, policy: Policy) -> Performance | None:
        """Return the performance of a policy for comparison; None if its queue would grow."""
        try:
            return self.certify(policy, 1)
        except UnstableError:
            return None

    def _tried(self, policy: Policy) -> Performance | None:
        system = build_system(self.scenario, policy)
        try:
            return solve_quickly(system) or self._simulated(system, TRIED, 0, "while searching")
        except UnstableError:
            return None

    def _simulated(self, system: System, jobs: int, attempt: int, reason: str) -> Performance:
        self.simulated = True
        certify = attempt > 0
        options = RunOptions(
            jobs=jobs,
            replications=REPLICATIONS,
            warmup=queue_warmup(system) / mean_size(system),
            precision=self.precision if certify else None,
            max_jobs=LONGER * jobs * REPLICATIONS,
            seed=child_seed(self.seed, CERTIFY if certify else SEARCH, attempt),
            threads=self.threads,
        )
        run = prepare_run(system, options, KERNEL, common=True)
        converged = run_until_precise([run], REPLICATIONS)
        if run.interrupted:
            raise KeyboardInterrupt
        return run.performance(reason, converged=converged or math.isinf(self.precision))
