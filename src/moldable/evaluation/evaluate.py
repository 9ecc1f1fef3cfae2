"""Evaluate a policy by the best available method.

That is a formula where one is known, else the chain if it can be solved in seconds, else simulation
to the requested precision. The answer says which, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from moldable.checks import choice, fraction
from moldable.errors import ChainError, NearlyDecomposableError, SimulationError
from moldable.evaluation.queueing import queue_performance
from moldable.exact.closed_forms import closed_form
from moldable.exact.equi import equi_performance
from moldable.exact.erlang_c import queue_closed_form
from moldable.exact.exact import solve_system
from moldable.exact.pool import predicted_states
from moldable.exact.queue_law import solve_queue
from moldable.exact.queue_size import predicted_queue_states
from moldable.exact.states import MOST_STATES, format_states
from moldable.files.policy_file import Rule, as_policy
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.policies.equi import Equi
from moldable.simulation.replications import Progress
from moldable.simulation.simulate import RunOptions, check_seed_and_threads, simulate_system
from moldable.system.loss_system import System, build_system, by_pool
from moldable.system.performance import Performance
from moldable.system.saturation import refuse_unstable
from moldable.threads import interruptible, refuse_interrupted

METHODS: Final = ("auto", "closed-form", "chain", "simulate")
QUICK, QUICK_QUEUE, INSTANT_QUEUE = 250_000, 150_000, 50_000
"""Numbers of states that are solved in a few seconds, without and with a queue, and at once with a
queue."""
INSTANT: Final = 10_000
"""States of a chain that is solved within a moment, so that an interrupt can wait for its end."""
MISSED: Final = (
    "the chain is nearly decomposable: a simulation may never reach states that matter, so no "
    "intervals are given"
)


def evaluate(
    scenario: ScenarioOrFile,
    policy: Rule = None,
    *,
    method: str = "auto",
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    slowdown_threshold: float | str | None = None,
) -> Performance:
    """Return the performance of a policy.

    Args:
        scenario: the classes, the cluster and the arrivals.
        policy: a policy or its spelling, such as "fixed:3"; by default greedy(p*), or the even
            price with waiting places. `Equi()` is the preemptive reference.
        method: "closed-form", "chain", "simulate", or "auto": the first of these that applies.
        precision: target relative half-width of both 95 % confidence intervals of a simulation; an
            absolute half-width of 1e-4 also suffices.
        seed: random seed of a simulation.
        threads: of a simulation; all cores by default.
        progress: called with (finished, planned) replications of a simulation.
        slowdown_threshold: of the bounded slowdown in a simulation with waiting places, see
            `simulate`.

    Examples:
        >>> answer = evaluate(Scenario.single([1, 1.8, 2.5], 0.8, 8), "greedy")
        >>> f"{answer.blocking:.4f}", answer.method
        ('0.3215', 'closed-form')
    """
    check_request(method, precision, seed, threads)
    scenario = checked_scenario(scenario)
    policy = as_policy(policy, scenario)
    if isinstance(policy, Equi):
        return solve_equi(scenario, method)
    system = build_system(scenario, policy)
    exact = solve_exactly(system, method)
    if isinstance(exact, Performance):
        return exact
    options = RunOptions(
        precision=precision,
        seed=seed,
        threads=threads,
        progress=progress,
        slowdown_threshold=slowdown_threshold,
    )
    return exact.warn(simulate_system(system, options, exact.reason))


@final
@dataclass(frozen=True)
class Unsolved:
    """A system that has to be simulated.

    Attributes:
        reason: why it has no exact answer.
        warning: why intervals of its simulation would be invalid; empty if they are valid.
    """

    reason: str
    warning: str = ""

    def warn(self, simulated: Performance) -> Performance:
        """Return the simulated answer, with the warning instead of intervals if there is one."""
        return simulated.without_intervals(self.warning) if self.warning else simulated


def solve_exactly(system: System, method: str, quick: int | None = None) -> Performance | Unsolved:
    """Return the exact performance of a system, or why it has to be simulated.

    Args:
        system: the system.
        method: as in `evaluate`.
        quick: most states that "auto" solves; by default those that take a few seconds.
    """
    if system.places:
        return _solve_queue(system, method, QUICK_QUEUE if quick is None else quick)
    quick = QUICK if quick is None else quick
    chosen, reason, states = method, "asked for", MOST_STATES
    if method == "auto":
        chosen, reason, states = choose_method(system, quick)
    if chosen == "simulate":
        return Unsolved(reason)
    try:
        most = 2 * quick if method == "auto" else MOST_STATES
        if states <= INSTANT:
            refuse_interrupted()
            return solve_system(system, chosen, most).performance(reason)
        return interruptible(solve_system, system, chosen, most).performance(reason)
    except ChainError as error:
        if method != "auto":
            raise
        slow = isinstance(error, NearlyDecomposableError)
        return Unsolved(f"the chain could not be solved ({error})", MISSED if slow else "")


def _solve_queue(system: System, method: str, quick: int) -> Performance | Unsolved:
    """Return the exact performance of a system with waiting places, or why there is none."""
    refuse_unstable(system)
    law = None if method in {"chain", "simulate"} else queue_closed_form(system)
    if law is not None:
        reason = "a formula is known" if method == "auto" else "asked for"
        return queue_performance(law, reason)
    if method == "closed-form":
        raise ChainError(
            f"no closed form is known for {system.policy_name} on {system.servers} servers with "
            f"waiting places; use the method 'chain' or 'simulate'"
        )
    if method == "simulate":
        return Unsolved("asked for")
    reason = "no formula is known, but the chain can be solved" if method == "auto" else "asked for"
    try:
        states, most = predicted_queue_states(system), MOST_STATES
        if method == "auto" and states > quick:
            many = format_states(states)
            return Unsolved(f"no formula is known, and the chain would have {many} states")
        if method == "auto":
            most = 2 * quick
        return queue_performance(interruptible(solve_queue, system, most), reason)
    except ChainError as error:
        if method != "auto":
            raise
        slow = isinstance(error, NearlyDecomposableError)
        return Unsolved(f"the chain could not be solved ({error})", MISSED if slow else "")


def check_request(method: str, precision: float, seed: int | None, threads: int | None) -> None:
    """Check the method, and the options of a simulation even if nothing is simulated."""
    choice(method, METHODS, "method", ChainError)
    fraction(precision, "precision", SimulationError)
    check_seed_and_threads(seed, threads)


def choose_method(system: System, quick: int = QUICK) -> tuple[str, str, int]:
    """Return the best method for a system, why, and the states of its chains."""
    pools = [pool for pool in by_pool(system) if closed_form(pool) is None]
    if not pools:
        return "closed-form", "a formula is known", 0
    if not system.poisson:
        return "simulate", "chains are solved for Poisson arrivals only", 0
    states = 0
    for pool in pools:
        count = predicted_states(pool)
        if count is None:
            return "simulate", "sizes without phases have no chain", 0
        states += count
    if states <= quick:
        return "auto", "no formula is known, but the chain can be solved", states
    many = format_states(states)
    return "simulate", f"no formula is known, and the chain would have {many} states", states


def solve_equi(scenario: Scenario, method: str) -> Performance:
    """Return the performance of EQUI, which is known in closed form only."""
    poisson = isinstance(scenario.arrivals, Poisson)
    if method not in {"auto", "closed-form"} or not poisson:
        raise ChainError(
            f"equi is preemptive and known in closed form only, with Poisson arrivals; "
            f"method {method!r} does not apply: use 'auto'"
        )
    reason = "a formula is known" if method == "auto" else "asked for"
    return equi_performance(scenario, reason)
