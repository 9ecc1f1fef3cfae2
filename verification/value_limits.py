"""Tuned policies under a limit, against the least that any policy reaches under it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from moldable import Scenario, least_time, tune
from verification.best_table import best_time_within
from verification.value_systems import System, few_servers, named, not_concave, random_systems
from verification.verdict import Verdict

SEED = 1
MEDIAN, NINE_TENTHS, WORST = 2e-3, 8e-3, 1.5e-2
ROUNDING = 1e-9
Excess = dict[str, float]


def experiments() -> Iterator[Verdict]:
    """Limits on blocking and on time; few servers; curves that are not concave."""
    for what, systems in (("named", list(named())), ("random", list(random_systems()))):
        yield from _judged(f"{what}: excess time at equal blocking", _excess_time(systems))
        _told(f"{what}: excess blocking at equal time", _excess_blocking(systems))
    _told("not concave: excess time at equal blocking", _excess_time(not_concave()))
    yield from _few_servers()


def _excess_time(systems: Iterable[System]) -> Excess:
    found = {}
    for system in systems:
        limit = system.optimum.blocking
        answer = tune(system.scenario, max_blocking=limit, seed=SEED).performance
        _keep(answer.blocking.value, limit)
        found[system.name] = answer.mean_execution_time.value / system.least_time - 1.0
    return found


def _excess_blocking(systems: Iterable[System]) -> Excess:
    found = {}
    for system in systems:
        limit = system.optimum.mean_execution_time
        answer = tune(system.scenario, max_time=limit, seed=SEED).performance
        _keep(answer.mean_execution_time.value, limit)
        found[system.name] = answer.blocking.value / system.optimum.blocking - 1.0
    return found


def _few_servers() -> Iterator[Verdict]:
    """One class on 10 to 30 servers, limits just below what greedy blocks."""
    found, best = {}, {}
    for scenario, limit in few_servers():
        answer = tune(scenario, max_blocking=limit, seed=SEED).performance
        _keep(answer.blocking.value, limit)
        least = least_time(scenario, limit, tolerance=1e-6).lower_bound
        name = f"n = {scenario.servers}, {_curve(scenario)}, limit {limit:.3g}"
        found[name] = answer.mean_execution_time.value / least - 1.0
        best[name] = best_time_within(scenario, limit) / least - 1.0
    _told("few servers, the best mixture of tables by idle servers that was found", best)
    _told("few servers, limits just below greedy's blocking", found)
    above = {name: excess - best[name] for name, excess in found.items()}
    yield from _judged("few servers: above the best mixture of tables", above)


def _judged(what: str, found: Excess) -> Iterator[Verdict]:
    _told(what, found)
    values = np.array(list(found.values()))
    yield Verdict(f"{what}, {values.size} systems: median", float(np.median(values)), MEDIAN)
    tenth = float(np.quantile(values, 0.9))
    yield Verdict(f"{what}: nine tenths are below", tenth, NINE_TENTHS)
    yield Verdict(f"{what}: worst", float(values.max()), WORST)


def _told(what: str, found: Excess) -> None:
    values = np.array(list(found.values()))
    median, tenth, worst = 100.0 * np.quantile(values, (0.5, 0.9, 1.0))
    print(f"  {what}: median {median:.3f} %, nine tenths {tenth:.3f} %, worst {worst:.3f} %")
    for name in sorted(found, key=lambda name: -found[name])[:5]:
        print(f"    {100.0 * found[name]:.3f} %  {name}", flush=True)


def _keep(figure: float, limit: float) -> None:
    if figure > limit * (1.0 + ROUNDING):
        raise AssertionError(f"{figure} is above the limit {limit}")


def _curve(scenario: Scenario) -> str:
    (job_class,) = scenario.workload.classes
    return ", ".join(f"{s:.3g}" for s in job_class.speedup.speedups)
