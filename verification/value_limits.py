"""Tuned policies under a limit, against the optimum over all policies under the same limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from moldable import Scenario, tune
from moldable.errors import ControlError
from moldable.optimal import least_time
from moldable.results import Performance
from verification.best_table import best_time_within
from verification.named_curves import SUBLINEAR
from verification.value_systems import System, few_servers, named, not_concave, random_systems
from verification.verdict import Verdict

SEED = 1
COSTS = (4.0, 16.0)
MEDIAN, P90, WORST = 2e-3, 8e-3, 1.5e-2
ROUNDING = 1e-9
# n, limit on blocking, and the mean time that the tuned policy must reach on the sub-linear curve
# at load 0.8, where the limit is used up exactly.
USED_UP = ((40, 0.0318877, 0.7335), (64, 0.0325238, 0.5985))
MOST_UNUSED = 5e-3
Excess = dict[str, float]


def experiments() -> Iterator[Verdict]:
    """Test limits on blocking and on time, few servers, and curves that are not concave."""
    yield from _used_up()
    # The bounds are meant for the random systems, so these come first.
    with ProcessPoolExecutor() as pool:
        for what, systems in (("random", random_systems()), ("named", named(COSTS))):
            times, blockings = _excesses(pool, systems)
            yield from _verdicts(f"{what}: excess time at equal blocking", times)
            _print_excess(f"{what}: excess blocking at equal time", blockings)
        yield from _few_servers(pool)
        times, blockings = _excesses(pool, not_concave(COSTS))
        _print_excess("not concave: excess time at equal blocking", times)
        _print_excess("not concave: excess blocking at equal time", blockings)


def _used_up() -> Iterator[Verdict]:
    """Test that exact answers leave at most 0.5 % of the limit unused."""
    for servers, limit, most in USED_UP:
        answer = _tuned(Scenario.single(SUBLINEAR, 0.8, servers), max_blocking=limit)
        if answer is None:
            raise AssertionError(f"n = {servers}: the limit was not reached")
        unused = 1.0 - answer.blocking.value / limit
        what = f"n = {servers}, blocking <= {limit:g}"
        yield Verdict(f"{what}: unused share of the limit", unused, MOST_UNUSED)
        yield Verdict(f"{what}: mean time", answer.mean_execution_time.value, most)


def _excesses(pool: ProcessPoolExecutor, systems: Iterable[System]) -> tuple[Excess, Excess]:
    """Return the excess time at equal blocking and the excess blocking at equal time."""
    listed = list(systems)
    found = list(pool.map(_both, listed))
    names = [system.name for system in listed]
    times, blockings, simulated = (
        dict(zip(names, part, strict=True)) for part in zip(*found, strict=True)
    )
    apart = {name: times.pop(name) for name in names if simulated[name]}
    if apart:
        # Their limit holds at the upper end of an interval, so a part of it is unused.
        _print_excess("simulated, because their chains are large: excess time", apart)
    return times, {name: blockings[name] for name in times}


def _both(system: System) -> tuple[float, float, bool]:
    """Return the excess time and blocking, and whether they come from simulations."""
    best = system.optimum
    answer = _tuned(system.scenario, max_blocking=best.blocking)
    faster = _tuned(system.scenario, max_time=best.mean_execution_time)
    return (
        answer.mean_execution_time.value / system.least_time - 1.0 if answer else math.inf,
        faster.blocking.value / best.blocking - 1.0 if faster else math.inf,
        any(found is not None and found.method == "simulate" for found in (answer, faster)),
    )


def _tuned(scenario: Scenario, **target: float) -> Performance | None:
    """Return the performance of the tuned policy; None if no table by idle servers meets it."""
    try:
        answer = tune(scenario, **target, seed=SEED, threads=1).performance
    except ControlError:
        return None
    limited = answer.blocking if "max_blocking" in target else answer.mean_execution_time
    _check_limit(limited.value, next(iter(target.values())))
    return answer


def _few_servers(pool: ProcessPoolExecutor) -> Iterator[Verdict]:
    """Test one class on 10 to 30 servers, with limits just below greedy's blocking."""
    cases = list(few_servers())
    found, best = {}, {}
    for (scenario, limit), (own, table) in zip(cases, pool.map(_on_few, cases), strict=True):
        name = f"n = {scenario.servers}, {_curve(scenario)}, limit {limit:.3g}"
        found[name], best[name] = own, table
    _print_excess("few servers, the best mixture found of tables by idle servers", best)
    _print_excess("few servers, limits just below greedy's blocking", found)
    above = {name: excess - best[name] for name, excess in found.items()}
    yield from _verdicts("few servers: above the best mixture of tables", above)


def _on_few(case: tuple[Scenario, float]) -> tuple[float, float]:
    """Return the relative excess over the least time of the tuned policy and the best tables."""
    scenario, limit = case
    answer = tune(scenario, max_blocking=limit, seed=SEED, threads=1).performance
    _check_limit(answer.blocking.value, limit)
    least = least_time(scenario, limit, tolerance=1e-6).lower_bound
    own = answer.mean_execution_time.value / least - 1.0
    return own, best_time_within(scenario, limit) / least - 1.0


def _verdicts(what: str, found: Excess) -> Iterator[Verdict]:
    _print_excess(what, found)
    values = np.array(list(found.values()))
    yield Verdict(f"{what}, {values.size} systems: median", float(np.median(values)), MEDIAN)
    tenth = float(np.quantile(values, 0.9))
    yield Verdict(f"{what}: 90 % quantile", tenth, P90)
    yield Verdict(f"{what}: worst", float(values.max()), WORST)


def _print_excess(what: str, found: Excess) -> None:
    values = np.array([excess for excess in found.values() if math.isfinite(excess)])
    median, tenth, worst = 100.0 * np.quantile(values, (0.5, 0.9, 1.0))
    if values.size < len(found):
        missed = len(found) - values.size
        print(f"  {what}: {missed} of {len(found)} limits cannot be met by a table by idle servers")
    print(f"  {what}: median {median:.3f} %, p90 {tenth:.3f} %, worst {worst:.3f} %")
    for name in sorted(found, key=lambda name: -found[name])[:5]:
        print(f"    {100.0 * found[name]:.3f} %  {name}", flush=True)


def _check_limit(figure: float, limit: float) -> None:
    if figure > limit * (1.0 + ROUNDING):
        raise AssertionError(f"{figure} is above the limit {limit}")


def _curve(scenario: Scenario) -> str:
    (job_class,) = scenario.workload.classes
    return ", ".join(f"{s:.3g}" for s in job_class.speedup.speedups)
