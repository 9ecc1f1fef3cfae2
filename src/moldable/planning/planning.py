"""Plan a cluster: choose the policy, size the cluster, and assess the uncertainty."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from moldable.checks import positive
from moldable.errors import ControlError, NearlySaturatedError, UnstableError, WorkloadError
from moldable.evaluation.evaluate import check_request
from moldable.model.arrivals import ArrivalTimes
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.planning.actions import actions
from moldable.planning.alternatives import alternatives, optimum_of, value_of_one_server
from moldable.planning.choice import Choice, Options, ProgressCallback, choose
from moldable.planning.curve_noise import curve_noise
from moldable.planning.from_log import Drafted, drafted
from moldable.planning.goal import Goal
from moldable.planning.least_figures import least_busy
from moldable.planning.predictor import COARSE
from moldable.planning.result import Plan
from moldable.planning.sensitivity import sensitivity
from moldable.planning.series import both_series
from moldable.planning.sizing import ClusterSize, refuse_unreachable, smallest_cluster
from moldable.simulation.simulate import fresh_seed
from moldable.traces.read import read_trace
from moldable.traces.trace import Trace

PRECISION: Final = 0.02
MOST_GROWTH: Final = 1000.0
POOLED: Final = (
    "the file reserves servers for each class; the plan lets all classes share one pool, and "
    "shows reserved servers for comparison"
)


def plan(
    scenario: ScenarioOrFile | Trace | Drafted,
    *,
    max_blocking: float | None = None,
    max_wait: float | str | None = None,
    max_response: float | str | None = None,
    max_wait_probability: float | None = None,
    blocking_cost: float | None = None,
    growth: float = 1.0,
    burstiness: float | None = None,
    precision: float = PRECISION,
    seed: int | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Plan:
    """Recommend a policy, predict its performance, and size the cluster.

    Give at most one limit: `max_blocking` where jobs are lost or waiting places are limited, the
    other three with unlimited waiting places. Without a limit the mean response time is minimised,
    or the cost per arrival where jobs are lost.

    Args:
        scenario: the classes, the cluster and the arrivals, or a log, from which they are drafted;
            files that do not end in .toml are read as logs.
        max_blocking: largest blocking.
        max_wait: largest mean wait: a number in the scenario's unit of time, or text such as
            "10 min".
        max_response: largest mean response time, waiting plus execution.
        max_wait_probability: largest share of jobs that wait.
        blocking_cost: cost of a blocked job in mean sizes where there is no limit; 10 by default.
        growth: also find the smallest cluster for arrival rates multiplied by this.
        burstiness: coefficient of variation of interarrival times in the sensitivity analysis; by
            default that of the log, or 3.
        precision: target relative half-width of simulated 95 % confidence intervals; from 0.1 on
            the search for policies is also shorter.
        seed: random seed of simulations; a fresh one if not given.
        threads: threads of simulations; all cores by default.
        progress: called with a description of each step when it begins.

    Examples:
        >>> found = plan(Scenario.single([1], 0.8, 10, waiting="unlimited"), max_wait=0.2, seed=1)
        >>> found.choice.kept, found.sizes[0].servers
        (False, 11)
    """
    check_request("auto", precision, seed, threads)
    if isinstance(scenario, (str, Path)) and Path(scenario).suffix.lower() != ".toml":
        scenario = read_trace(scenario)
    if isinstance(scenario, Trace):
        scenario = drafted(scenario)
    assumed: tuple[str, ...] = ()
    if isinstance(scenario, Drafted):
        assumed, burstiness = scenario.notes, burstiness or scenario.burstiness
        scenario = scenario.scenario
    scenario, several, notes = _prepared(checked_scenario(scenario))
    growth = _checked_growth(growth)
    if burstiness is not None:
        burstiness = positive(burstiness, "burstiness", ControlError)
    limits = {
        "max_blocking": max_blocking,
        "max_wait": max_wait,
        "max_response": max_response,
        "max_wait_probability": max_wait_probability,
    }
    goal = Goal.of(scenario, blocking_cost, **limits)
    if not goal.limited and growth != 1.0:
        raise ControlError(
            f"{growth:g} has no effect without a limit to keep; give max_blocking, max_wait, "
            f"max_response or max_wait_probability",
            "growth",
        )
    seed = fresh_seed() if seed is None else seed
    tell = progress or (lambda _: None)
    options = Options(precision, seed, threads, tell, thorough=precision < COARSE)
    refuse_unreachable(scenario, goal, options)
    options.report("searching the best policy for the present cluster")
    choice = _chosen(scenario, goal, options)
    sizes = _sizes(scenario, goal, options, growth, choice)
    options.report("predicting other policies")
    others = alternatives(scenario, goal, choice.policy, options.predict, reserved=several)
    options.report("computing the optimum over all policies")
    best = optimum_of(scenario, goal)
    value = value_of_one_server(scenario, goal, choice, options)
    tested = sensitivity(scenario, goal, choice, options, burstiness)
    noise = curve_noise(scenario, goal, choice, options)
    options.report("predicting other sizes and loads")
    by_servers, by_load = both_series(scenario, choice, others, options.predict)
    return Plan(
        scenario=scenario,
        goal=goal,
        growth=growth,
        choice=choice,
        actions=actions(scenario, choice.policy),
        alternatives=others,
        optimum=best,
        server_value=value,
        sizes=sizes,
        sensitivity=tested,
        curve_noise=noise,
        by_servers=by_servers,
        by_load=by_load,
        notes=(*assumed, *notes),
        precision=precision,
        seed=seed,
    )


def _prepared(scenario: Scenario) -> tuple[Scenario, bool, tuple[str, ...]]:
    """Return the scenario with one pool, whether it has several classes, and notes."""
    if isinstance(scenario.arrivals, ArrivalTimes):
        raise WorkloadError(
            f"{scenario.arrivals} has its own rate, but a plan compares loads; use a process "
            f"such as poisson or renewal:3, and give the rates of the classes",
            "arrivals",
        )
    several = len(scenario.workload.classes) > 1
    notes: tuple[str, ...] = ()
    if scenario.workload.sharing != "pool":
        notes = (POOLED,) if several else ()
        scenario = replace(scenario, workload=replace(scenario.workload, sharing="pool"))
    return scenario, several, notes


def _checked_growth(growth: float) -> float:
    found = positive(growth, "growth", ControlError, "such as 1.2 for 20 % more jobs")
    if found > MOST_GROWTH:
        raise ControlError(f"{found:g} must be at most {MOST_GROWTH:g}, such as 1.2", "growth")
    return found


def _chosen(scenario: Scenario, goal: Goal, options: Options) -> Choice:
    """Return the best policy on the present cluster; refuse a cluster that is too small.

    The error names the smallest cluster that keeps the limit, or that can carry the load.
    """
    try:
        return choose(scenario, goal, options)
    except UnstableError as error:
        if goal.limited:
            servers = smallest_cluster(scenario, goal, options).servers
            fix = f"the smallest cluster that meets the target has {servers}: plan with that many"
        else:
            least = max(scenario.servers, int(least_busy(scenario)))
            fix = f"plan with more than {least}"
        if isinstance(error, NearlySaturatedError):
            raise NearlySaturatedError(
                f"{scenario.servers} are nearly saturated: simulations of a plan are too short to "
                f"show how long jobs wait; {fix}, or lower the arrival rates",
                "servers",
            ) from None
        raise UnstableError(
            f"{scenario.servers} cannot carry the load: the queue grows without limit under every "
            f"policy; {fix}, or lower the arrival rates",
            "servers",
        ) from None


def _sizes(
    scenario: Scenario, goal: Goal, options: Options, growth: float, present: Choice
) -> tuple[ClusterSize, ...]:
    """Return the smallest clusters now and after the growth."""
    if not goal.limited:
        return ()
    known = {scenario.servers: present}
    found = [smallest_cluster(scenario, goal, options, known=known)]
    if growth != 1.0:
        found.append(smallest_cluster(scenario, goal, options, growth))
    return tuple(found)
