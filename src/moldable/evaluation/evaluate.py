"""One door: how does this policy perform here, by the best method there is?

A formula where one is known, else the chain where it solves in seconds, else simulation to the
asked precision. The answer says which, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from moldable.checks import choice, fraction
from moldable.errors import ChainError, NearlyDecomposableError, SimulationError
from moldable.exact.closed_forms import closed_form
from moldable.exact.equi import equi_performance
from moldable.exact.exact import solve_system
from moldable.exact.pool import predicted_states
from moldable.exact.states import MOST_STATES
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario, checked_scenario
from moldable.policies.equi import Equi
from moldable.policies.policy_table import Policy
from moldable.simulation.simulate import Progress, RunOptions, simulate_system
from moldable.system.loss_system import System, build_system, by_pool
from moldable.system.performance import Performance
from moldable.threads import interruptible

METHODS: Final = ("auto", "closed-form", "chain", "simulate")
QUICK: Final = 250_000
"""States that are solved in a few seconds."""
MISSED: Final = (
    "the chain is nearly decomposable: a simulation may never meet states that matter, so no "
    "intervals are given"
)


def evaluate(
    scenario: Scenario,
    policy: Policy | Equi | None = None,
    *,
    method: str = "auto",
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Performance:
    """Return how a policy performs.

    Args:
        scenario: the classes, the cluster and the arrivals.
        policy: who gets how many servers; greedy(p*) by default. `Equi()` is the preemptive
            yardstick.
        method: "closed-form", "chain", "simulate", or "auto": the first of these that fits.
        precision: of a simulation: half-widths of both intervals relative to their values, or
            absolute 1e-4 where that is reached first.
        seed: of a simulation.
        threads: of a simulation; all cores by default.
        progress: called with (finished, planned) replications of a simulation.
    """
    check_request(method, precision)
    if isinstance(policy, Equi):
        return solve_equi(scenario, method)
    system = build_system(scenario, policy)
    exact = solve_exactly(system, method)
    if isinstance(exact, Performance):
        return exact
    options = RunOptions(precision=precision, seed=seed, threads=threads, progress=progress)
    return exact.warn(simulate_system(system, options, exact.reason))


@final
@dataclass(frozen=True)
class Unsolved:
    """A system that has to be simulated.

    Attributes:
        reason: why it has no exact answer.
        warning: what its simulation may miss.
    """

    reason: str
    warning: str = ""

    def warn(self, simulated: Performance) -> Performance:
        """Add the warning to the simulated answer, and take its intervals away."""
        return simulated.without_intervals(self.warning) if self.warning else simulated


def solve_exactly(system: System, method: str) -> Performance | Unsolved:
    """Return the exact performance of a system, or why it has to be simulated."""
    chosen, reason = choose_method(system) if method == "auto" else (method, "asked for")
    if chosen == "simulate":
        return Unsolved(reason)
    try:
        most = 2 * QUICK if method == "auto" else MOST_STATES
        return interruptible(solve_system, system, chosen, most).performance(reason)
    except ChainError as error:
        if method != "auto":
            raise
        slow = isinstance(error, NearlyDecomposableError)
        return Unsolved(f"the chain could not be solved ({error})", MISSED if slow else "")


def check_request(method: str, precision: float) -> None:
    """Refuse unknown methods and impossible precisions, whichever method will be used."""
    choice(method, METHODS, "method", ChainError)
    fraction(precision, "precision", SimulationError)


def choose_method(system: System) -> tuple[str, str]:
    """Return the best method for a system, and why."""
    pools = by_pool(system)
    open_pools = [pool for pool in pools if closed_form(pool) is None]
    if not open_pools:
        return "closed-form", "a formula is known"
    if not system.poisson:
        return "simulate", "exact answers are known for Poisson arrivals only"
    counts = [predicted_states(pool) for pool in open_pools]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return "simulate", "sizes without phases have no chain"
    states = sum(known)
    if states <= QUICK:
        return "auto", "no formula is known, but the chain can be solved"
    many = f"{states:,}" if states < 1e15 else f"{states:.0e}"  # noqa: PLR2004 - unreadable
    return "simulate", f"no formula is known, and the chain would have {many} states"


def solve_equi(scenario: Scenario, method: str) -> Performance:
    """Return the performance of EQUI, or refuse methods and arrivals without a formula."""
    poisson = isinstance(checked_scenario(scenario).arrivals, Poisson)
    if method not in {"auto", "closed-form"} or not poisson:
        raise ChainError(
            f"equi is preemptive and known in closed form only, with Poisson arrivals; "
            f"method {method!r} does not apply: use 'auto'"
        )
    reason = "a formula is known" if method == "auto" else "asked for"
    return equi_performance(scenario, reason)
