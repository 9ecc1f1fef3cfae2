"""How do greedy(p*) and greedy do as the cluster grows?

The cells behind the paper's two figures, blocking and mean execution time against n, and behind
most of the rates of convergence: one cell for each curve, regime and number of servers, with both
schemes in it. Every cell is exact except where greedy(p*) mixes two widths of which the narrower
is above 1: its chain has as many dimensions as widths, and is solved up to a few dozen servers.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from moldable.allocation.optimum import Optimum, optimum
from moldable.exact.exact import stationary_law
from moldable.model.scenario import Scenario
from moldable.model.workload import Workload
from moldable.paper.experiment import Cell, Effort, Result, Results, Row, Scale
from moldable.paper.settings import CURVES, REGIMES, SETTINGS, Setting
from moldable.policies.greedy import Greedy
from moldable.policies.policy_table import Policy
from moldable.system.performance import Performance

FAMILY: Final = "sweep"
GREEDY_P, GREEDY = "greedy(p*)", "greedy"
POLICIES: Final = (GREEDY_P, GREEDY)

# Most sizes are multiples of the widest width, 5; 33, 72, 333 and 7003 are not, so that a narrower
# job now and then fills what is left over.
_SIZES: Final = (20, 33, 50, 72, 100, 200, 333, 500, 1000, 2000, 4000, 7003, 10_000, 20_000)
SIZES: Final = {Scale.TINY: (20, 33, 200), Scale.QUICK: _SIZES, Scale.FULL: _SIZES}
PRECISION: Final = {Scale.TINY: 0.05, Scale.QUICK: 0.02, Scale.FULL: 0.003}
WHOLE_CHAIN: Final = {Scale.TINY: 33, Scale.QUICK: 50, Scale.FULL: 100}
"""Servers up to which a chain in more than two dimensions is solved."""


def cells(scale: Scale) -> list[Cell]:
    """Return a cell for each setting and size."""
    return [
        Cell(key(setting, servers), partial(_compute, setting, servers, scale))
        for setting in SETTINGS
        for servers in SIZES[scale]
    ]


def key(setting: Setting, servers: int) -> str:
    """Return the key of a cell."""
    return f"{FAMILY}/{setting.key}-n={servers}"


def along(results: Results, setting: Setting, policy: str) -> list[Result]:
    """Return what was found for a setting and a policy, by growing n."""
    return [results[key(setting, n)][policy] for n in SIZES[results.scale]]


def rows(results: Results, quantity: str) -> list[Row]:
    """Return all values of "blocking" or "mean_execution_time" with intervals and limits."""
    return [
        _row(setting, part, quantity)
        for setting in SETTINGS
        for policy in POLICIES
        for part in along(results, setting, policy)
    ]


def needs_whole_chain(solution: Optimum) -> bool:
    """Does greedy(p*) keep jobs of more than two widths?"""
    return len(solution.support) > 1 and solution.i1 > 1


def limit(setting: Setting, policy: str, servers: int) -> tuple[float, float]:
    """Return what theory says of (blocking, mean execution time) at the load of this many servers.

    Greedy fills the cluster with jobs of the widest width once the load passes s_d/d.
    """
    load, curve = setting.load(servers), CURVES[setting.curve]
    if policy == GREEDY_P:
        return 0.0, optimum(curve, load).mean_execution_time
    widest = int(curve.widths[-1])
    fastest = curve[widest]
    return max(0.0, 1.0 - fastest / widest / load), 1.0 / fastest


def exact_or_simulated(
    workload: Workload, servers: int, policy: Policy, scale: Scale, effort: Effort
) -> tuple[Performance, float | None]:
    """Return a performance, and E||x - y*|| where the law is known."""
    load = workload.arrival_rate / servers
    solution = optimum(workload.classes[0].speedup, load, servers=servers)
    mixes = policy.name != GREEDY and needs_whole_chain(solution)
    if mixes and servers > WHOLE_CHAIN[scale]:
        return effort.simulate(workload, servers, policy, precision=PRECISION[scale]), None
    law = stationary_law(Scenario(workload, servers), policy)
    return law.performance(), law.theory.distance


def _compute(setting: Setting, servers: int, scale: Scale, effort: Effort) -> Result:
    workload = setting.workload(servers)
    policies: dict[str, Policy] = {GREEDY_P: setting.policy(servers), GREEDY: Greedy()}
    return {
        name: summary(
            setting, servers, name, *exact_or_simulated(workload, servers, policy, scale, effort)
        )
        for name, policy in policies.items()
    }


def summary(
    setting: Setting, servers: int, policy: str, found: Performance, distance: float | None
) -> Result:
    """Return a performance as plain JSON, with its limits."""
    blocking_limit, time_limit = limit(setting, policy, servers)
    whole = found.to_dict()
    return {
        "servers": servers,
        "load": setting.load(servers),
        "policy": policy,
        "method": found.method,
        **{name: whole[name] for name in _ESTIMATES},
        "blocking_limit": blocking_limit,
        "mean_execution_time_limit": time_limit,
        "distance": distance,
        "arrivals": whole["arrivals"],
        "seed": whole["seed"],
    }


_ESTIMATES: Final = (
    "blocking",
    "blocking_interval",
    "mean_execution_time",
    "mean_execution_time_interval",
)


def _row(setting: Setting, part: Result, quantity: str) -> Row:
    regime = REGIMES[setting.regime]
    low, high = part[f"{quantity}_interval"]
    return {
        "curve": setting.curve,
        "regime": setting.regime,
        "alpha": regime.alpha,
        "beta": regime.beta,
        "policy": part["policy"],
        "servers": part["servers"],
        "load": part["load"],
        "method": part["method"],
        quantity: part[quantity],
        "low": low,
        "high": high,
        "limit": part[f"{quantity}_limit"],
    }
