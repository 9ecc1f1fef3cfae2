"""Evaluate policies: exactly where possible, else by simulation or importance splitting."""

from __future__ import annotations

import dataclasses
import math
from typing import Final, final

from moldable.errors import ControlError
from moldable.evaluation.evaluate import check_request, solve_exactly
from moldable.files.policy_file import to_json
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.policies.policy import Policy
from moldable.simulation.plan import CERTIFY, SEARCH, child_seed
from moldable.simulation.simulate import (
    RunOptions,
    check_seed_and_threads,
    fresh_seed,
    simulate_system,
)
from moldable.simulation.splitting import rare_blocking_interval
from moldable.system.loss_system import build_system
from moldable.system.performance import Performance
from moldable.tuning.targets import Target

REPLICATIONS: Final = 64
TRIED, CERTIFIED = 90_000, 500_000
"""Arrivals of a replication while searching, and to certify the chosen policy."""
COARSEST: Final = 0.99
MOST_TIMES: Final = 2
"""A run may double until the precision is reached; heavy tails never reach it."""
RARE: Final = 1e-4
"""Limits on blocking below which importance splitting replaces counting."""
MOST_LEFT: Final = 1000.0
"""Largest mean residual size that is simulated, in lengths of a replication."""


@final
class Evaluator:
    """Evaluates policies in one scenario, each once.

    Attributes:
        simulated: whether any policy was simulated.
        can_split: whether importance splitting applies.
    """

    def __init__(
        self,
        scenario: Scenario,
        target: Target,
        *,
        precision: float,
        seed: int | None,
        threads: int | None,
    ) -> None:
        check_request("auto", precision)
        check_seed_and_threads(seed, threads)
        self.scenario, self.target = scenario, target
        self.precision, self.threads = precision, threads
        self.seed = fresh_seed() if seed is None else seed
        self.simulated = False
        memoryless = all(c.size.phases is not None for c in scenario.workload.classes)
        self.can_split = memoryless and isinstance(scenario.arrivals, Poisson)
        self._known: dict[tuple[str, int], Performance] = {}

    @property
    def rare(self) -> bool:
        """Whether the limit on blocking is too low to be estimated by counting."""
        return self.target.name == "max_blocking" and self.target.value < RARE

    def __call__(self, policy: Policy, attempt: int = 0) -> Performance:
        """Return a policy's performance.

        Args:
            policy: the policy.
            attempt: 0 while searching; each attempt to certify a policy has random numbers of its
                own, which did not affect its choice.
        """
        key = to_json(policy)
        exact = self._known.get((key, 0))
        if exact is not None and exact.method != "simulate":
            return exact
        if (key, attempt) not in self._known:
            self._known[key, attempt] = self._evaluated(policy, attempt)
        return self._known[key, attempt]

    def _evaluated(self, policy: Policy, attempt: int) -> Performance:
        system = build_system(self.scenario, policy)
        exact = solve_exactly(system, "auto")
        if isinstance(exact, Performance):
            return exact
        self._refuse_endless_sizes()
        self.simulated = True
        jobs = CERTIFIED if attempt else TRIED
        seed = child_seed(self.seed, CERTIFY if attempt else SEARCH, attempt)
        options = RunOptions(
            jobs=jobs,
            replications=REPLICATIONS,
            precision=self.precision if attempt else min(2.0 * self.precision, COARSEST),
            max_jobs=MOST_TIMES * jobs * REPLICATIONS,
            seed=seed,
            threads=self.threads,
        )
        answer = simulate_system(system, options, exact.reason)
        if answer.interrupted:
            raise KeyboardInterrupt  # a partial run is too short to continue with
        answer = exact.warn(answer)
        if not (self.rare and self.can_split and answer.blocking.value < RARE):
            return answer
        blocking = rare_blocking_interval(self.scenario, policy, seed=seed, threads=self.threads)
        if blocking is None:
            return answer
        reason = f"{answer.reason}; blocking was found by importance splitting"
        return dataclasses.replace(answer, blocking=blocking, reason=reason)

    def _refuse_endless_sizes(self) -> None:
        """Refuse sizes so variable that no simulation comes near equilibrium."""
        workload = self.scenario.workload
        lasts = CERTIFIED / workload.arrival_rate
        for job_class in workload.classes:
            left = 0.5 * (1.0 + job_class.size.variance) * job_class.mean_size
            # Without a variance the mean residual is infinite, but most jobs end within a run.
            if math.isfinite(left) and left > MOST_LEFT * lasts:
                raise ControlError(
                    f"class {job_class.name!r}: running jobs of size law {job_class.size} have "
                    f"{left:.2g} left on average, but a simulation lasts {lasts:.2g}, so it would "
                    f"not come near equilibrium; take a law with a smaller coefficient of variation"
                )
