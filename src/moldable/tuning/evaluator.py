"""Evaluate policies, each once: exactly where possible, else by simulation or splitting."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Final, final

from moldable.errors import ChainError, ControlError, InfeasibleError, UnstableError
from moldable.evaluation.evaluate import INSTANT_QUEUE, Unsolved, check_request, solve_exactly
from moldable.exact.queue_size import predicted_queue_states
from moldable.files.policy_file import to_json
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.policies.even_price import even_price
from moldable.policies.policy import Policy
from moldable.simulation.plan import CERTIFY, SEARCH, child_seed
from moldable.simulation.run import run_until_precise
from moldable.simulation.simulate import (
    RunOptions,
    fresh_seed,
    prepare_run,
    simulate_system,
)
from moldable.simulation.splitting import rare_blocking_interval
from moldable.simulation.warmup import queue_warmup, refuse_nearly_saturated
from moldable.system.loss_system import System, build_system
from moldable.system.performance import Performance
from moldable.tuning.targets import Target

REPLICATIONS, QUEUE_REPLICATIONS = 64, 32
TRIED, CERTIFIED = 90_000, 500_000
QUEUE_TRIED, QUEUE_CERTIFIED = 40_000, 200_000
"""Arrivals of a replication while searching, and to certify the chosen policy."""
COARSEST: Final = 0.99
MOST_TIMES, QUEUE_MOST_TIMES = 2, 4
"""Largest factor by which a run grows to reach the precision; heavy tails never reach it."""
RARE: Final = 1e-4
"""Limits on blocking below which importance splitting replaces counting."""
MOST_LEFT: Final = 1000.0
"""Largest mean residual size that is simulated, in lengths of a replication."""
QUEUE_KERNEL: Final = "queue-ring"
ROOM: Final = 2
"""Largest number of states of a policy with a queue, relative to the even price."""


class Evaluator(ABC):
    """Evaluates policies in one scenario, each once.

    Attributes:
        seed: of the simulations.
        simulated: whether any policy was simulated.
        evaluations: number of policies evaluated while searching.
    """

    def __init__(
        self, scenario: Scenario, *, precision: float, seed: int | None, threads: int | None
    ) -> None:
        check_request("auto", precision, seed, threads)
        self.scenario, self.precision, self.threads = scenario, precision, threads
        self.seed = fresh_seed() if seed is None else seed
        self.simulated = False
        self.evaluations = 0
        self._known: dict[tuple[str, int], Performance | UnstableError] = {}

    def __call__(self, policy: Policy, attempt: int = 0) -> Performance:
        """Return a policy's performance.

        Args:
            policy: the policy.
            attempt: 0 while searching; each attempt to certify a policy has random numbers of its
                own, which did not affect its choice.

        Raises:
            UnstableError: if the queue grows without limit.
        """
        name = to_json(policy)
        known = self._known.get((name, 0))
        if not isinstance(known, Performance) or known.method == "simulate":
            known = self._known.get((name, attempt))
        if known is None:
            self.evaluations += attempt == 0
            try:
                known = self._evaluated(policy, attempt)
            except UnstableError as error:
                known = error
            self._known[name, attempt] = known
        if isinstance(known, UnstableError):
            raise known
        return known

    def certified(self, policy: Policy) -> Performance | None:
        """Return the performance of a policy for comparison; None if its queue would grow."""
        try:
            return self(policy, 1)
        except UnstableError:
            return None

    def _evaluated(self, policy: Policy, attempt: int) -> Performance:
        system = build_system(self.scenario, policy)
        exact = solve_exactly(system, "auto", self._states(attempt))
        if isinstance(exact, Performance):
            return exact
        self.simulated = True
        return self._simulated(system, policy, attempt, exact)

    def _seed(self, attempt: int) -> int:
        return child_seed(self.seed, CERTIFY if attempt else SEARCH, attempt)

    def _states(self, attempt: int) -> int | None:  # noqa: ARG002 - searches may solve fewer
        """Return the most states of a chain that is solved; None for the usual number."""
        return None

    @abstractmethod
    def _simulated(
        self, system: System, policy: Policy, attempt: int, unsolved: Unsolved
    ) -> Performance:
        """Simulate a policy."""


@final
class LossEvaluator(Evaluator):
    """Evaluates policies of a cluster without waiting places.

    Attributes:
        can_split: whether importance splitting applies.
        jobs: arrivals of a replication while searching, and of the chosen policy; the argument
            `effort` scales both.
        warmup: of every simulation, in mean sizes; None: chosen by pilot runs.
    """

    def __init__(
        self,
        scenario: Scenario,
        target: Target,
        *,
        precision: float,
        seed: int | None,
        threads: int | None,
        effort: float = 1.0,
        warmup: float | None = None,
    ) -> None:
        super().__init__(scenario, precision=precision, seed=seed, threads=threads)
        self.target, self.warmup = target, warmup
        self.jobs = int(TRIED * effort), int(CERTIFIED * effort)
        memoryless = all(c.size.phases is not None for c in scenario.workload.classes)
        self.can_split = memoryless and isinstance(scenario.arrivals, Poisson)

    @property
    def rare(self) -> bool:
        """Whether the limit on blocking is too low to be estimated by counting."""
        return self.target.name == "max_blocking" and self.target.value < RARE

    def _simulated(
        self, system: System, policy: Policy, attempt: int, unsolved: Unsolved
    ) -> Performance:
        self._refuse_endless_sizes()
        jobs, seed = self.jobs[attempt > 0], self._seed(attempt)
        options = RunOptions(
            jobs=jobs,
            replications=REPLICATIONS,
            warmup=self.warmup,
            precision=self.precision if attempt else min(2.0 * self.precision, COARSEST),
            max_jobs=MOST_TIMES * jobs * REPLICATIONS,
            seed=seed,
            threads=self.threads,
        )
        answer = unsolved.warn(simulate_system(system, options, unsolved.reason).whole())
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
        lasts = self.jobs[1] / workload.arrival_rate
        for job_class in workload.classes:
            left = 0.5 * (1.0 + job_class.size.variance) * job_class.mean_size
            # Without a variance the mean residual is infinite, but most jobs end within a run.
            if math.isfinite(left) and left > MOST_LEFT * lasts:
                raise ControlError(
                    f"class {job_class.name!r}: running jobs of size law {job_class.size} have "
                    f"{left:.2g} left on average, but a simulation lasts {lasts:.2g}, so it would "
                    f"not come near equilibrium; take a law with a smaller coefficient of variation"
                )


@final
class QueueEvaluator(Evaluator):
    """Evaluates policies of a cluster with a queue, simulated with common random numbers.

    Attributes:
        jobs: arrivals of a replication while searching, and of the chosen policies; the argument
            `effort` scales the arrivals of all replications.
        replications: of each simulation.
        states: most states of a chain that is solved rather than simulated, while searching those
            of the even price; None for the usual numbers, which take up to a second while searching
            and a few for the chosen policies.
        most_warmup: most arrivals in a warm-up; policies under which the queue needs more are
            refused as nearly saturated. None: no such bound.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        precision: float,
        seed: int | None,
        threads: int | None,
        effort: float = 1.0,
        replications: int = QUEUE_REPLICATIONS,
        states: int | None = None,
        most_warmup: float | None = None,
    ) -> None:
        super().__init__(scenario, precision=precision, seed=seed, threads=threads)
        scale = effort * QUEUE_REPLICATIONS / replications
        self.jobs = int(QUEUE_TRIED * scale), int(QUEUE_CERTIFIED * scale)
        self.replications, self.states, self.most_warmup = replications, states, most_warmup

    def _states(self, attempt: int) -> int | None:
        return self.states if attempt else self._searched_states

    @cached_property
    def _searched_states(self) -> int:
        """Most states of a chain that is solved while searching.

        The policies of a scenario have chains of similar sizes: all of them are solved, or none.
        Simulations share their error, so they can be compared, but not with exact figures.
        """
        most = self.states or INSTANT_QUEUE
        try:
            usual = predicted_queue_states(build_system(self.scenario, even_price(self.scenario)))
        except (ChainError, InfeasibleError):
            return most
        return ROOM * most if usual <= most else 0

    def _simulated(
        self,
        system: System,
        policy: Policy,  # noqa: ARG002 - the system is enough
        attempt: int,
        unsolved: Unsolved,
    ) -> Performance:
        if self.most_warmup is not None:
            refuse_nearly_saturated(system, self.most_warmup)
        jobs = self.jobs[attempt > 0]
        options = RunOptions(
            jobs=jobs,
            replications=self.replications,
            warmup=queue_warmup(system) / system.workload.mean_size,
            precision=self.precision if attempt else None,
            max_jobs=QUEUE_MOST_TIMES * jobs * self.replications,
            seed=self._seed(attempt),
            threads=self.threads,
        )
        run = prepare_run(system, options, QUEUE_KERNEL, common=True)
        converged = run_until_precise([run], self.replications, self.replications)
        return unsolved.warn(run.performance(unsolved.reason, converged=converged).whole())
