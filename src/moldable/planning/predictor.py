"""Predict the performance of policies with bounded effort and common random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from moldable.errors import NearlySaturatedError, UnstableError
from moldable.evaluation.evaluate import Unsolved, solve_exactly
from moldable.files.policy_file import Rule
from moldable.model.scenario import Scenario
from moldable.simulation.paired import Paired, simulate_together
from moldable.simulation.plan import SEARCH, child_seed
from moldable.simulation.warmup import queue_warmup, refuse_nearly_saturated
from moldable.system.loss_system import System, build_system
from moldable.system.performance import Performance

STATES: Final = 4_000
"""Chains up to this size are solved in a few hundredths of a second."""
CHOSEN_STATES: Final = 6_000
"""The same for policies that are searched, and where no simulation is long enough."""
REPLICATIONS, JOBS = 8, 32_000
"""Replications, and arrivals of each: starting a replication takes as long as 30,000 arrivals."""
COARSE: Final = 0.1
"""Precision from which predictions are coarse, and have a quarter of the arrivals."""
MOST_JOBS: Final = 1_500_000
MOST_WARMUP: Final = 640_000.0
"""Most arrivals in the warm-up of a queue, which is five relaxation times: with more, the longest
simulations of a plan have fewer than 50 of them, too few to tell how long jobs wait."""
COARSEST: Final = 0.5
RESIDUALS, MOST_VARIABLE = 3.0, 16.0
"""Warm-up without waiting places, in mean residual sizes, and the largest squared coefficient of
variation for which it grows: simulations start in an equilibrium of independent jobs."""


@final
@dataclass(frozen=True, eq=False)
class Predictor:
    """Predicts performance; the same seed gives all simulations the same arrivals and sizes.

    Attributes:
        precision: target relative half-width of simulated 95 % intervals.
        seed: random seed.
        threads: of simulations; all cores by default.
        most_jobs: arrivals after which a simulation stops even if it is not precise enough.
    """

    precision: float
    seed: int
    threads: int | None
    most_jobs: int = MOST_JOBS

    def together(
        self, systems: Mapping[str, tuple[Scenario, Rule]], *, precise: float = 1.0
    ) -> dict[str, Paired | str]:
        """Predict several systems; a queue without figures gives the reason as text.

        Args:
            systems: scenarios and policies, by name.
            precise: the precision is multiplied by this.
        """
        found: dict[str, Paired | str] = {}
        simulated: dict[str, tuple[System, str]] = {}
        unsolved: dict[str, Unsolved] = {}
        for name, (scenario, policy) in systems.items():
            try:
                system = build_system(scenario, policy)
                answer = _solved(system)
            except UnstableError as error:
                found[name] = str(error)
                continue
            if isinstance(answer, Unsolved):
                simulated[name], unsolved[name] = (system, answer.reason), answer
            else:
                found[name] = Paired.exact(answer)
        precision = min(self.precision * precise, COARSEST)
        try:
            found |= self._simulated(simulated, precision)
        except UnstableError:  # one of them grows; find out which
            for name, one in simulated.items():
                try:
                    found |= self._simulated({name: one}, precision)
                except UnstableError as error:
                    found[name] = str(error)
        for name, answer in unsolved.items():
            paired = found[name]
            if answer.warning and isinstance(paired, Paired):
                found[name] = replace(paired, performance=answer.warn(paired.performance))
        return {name: found[name] for name in systems}

    def _simulated(
        self, systems: Mapping[str, tuple[System, str]], precision: float
    ) -> dict[str, Paired]:
        found = simulate_together(
            systems,
            precision=precision,
            seed=child_seed(self.seed, SEARCH, 0),
            threads=self.threads,
            progress=None,
            jobs=JOBS if precision < COARSE else JOBS // 4,
            replications=REPLICATIONS,
            max_jobs=self.most_jobs,
            warmup=max((warmup_of(system) for system, _ in systems.values()), default=None),
        )
        for each in found.values():
            each.performance.whole()
        return found

    def __call__(
        self, scenario: Scenario, policy: Rule, *, precise: float = 1.0
    ) -> Performance | str:
        """Predict one system; a queue without figures gives the reason as text."""
        found = self.together({"": (scenario, policy)}, precise=precise)[""]
        return found if isinstance(found, str) else found.performance


def _solved(system: System) -> Performance | Unsolved:
    """Solve a system exactly if that is quick, or refuse it if it is nearly saturated."""
    answer = solve_exactly(system, "auto", STATES)
    if isinstance(answer, Performance):
        return answer
    try:
        refuse_nearly_saturated(system, MOST_WARMUP)
    except NearlySaturatedError:
        answer = solve_exactly(system, "auto", CHOSEN_STATES)
        if isinstance(answer, Unsolved):
            raise
    return answer


def warmup_of(system: System) -> float:
    """Return a warm-up in mean sizes, without a pilot run."""
    if system.places:
        return queue_warmup(system) / system.workload.mean_size
    return loss_warmup(system.scenario)


def loss_warmup(scenario: Scenario) -> float:
    """Return a warm-up in mean sizes where jobs are lost: a few residual sizes on one server."""
    classes = scenario.workload.classes
    longest = max(0.5 * (1.0 + min(c.size.variance, MOST_VARIABLE)) * c.mean_size for c in classes)
    return RESIDUALS * longest / scenario.workload.mean_size
