"""Arrivals per second on one cluster that queues jobs, compared with three programs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

from benchmarks.peers import queue_ciw, queue_heap, queue_model, queue_simpy
from benchmarks.peers.queue_model import LAWS, LOADS, QueueResult
from benchmarks.table import Row
from moldable import Scenario, SizeLaw
from moldable.optimal import optimal_queueing
from moldable.simulation.plan import MAIN, Plan
from moldable.simulation.queue_run import run_queue
from moldable.sizes import Exponential, Lognormal, Pareto
from moldable.system.loss_system import System, build_system

ROUNDS = 3
SIZES: dict[str, SizeLaw] = {
    "exponential": Exponential(),
    "lognormal": Lognormal(1.0),
    "pareto": Pareto(queue_model.PARETO_SHAPE),
}
OPTIMA = ((40, 10.0), (64, 60.0))
"""Servers and target seconds of the optimum over all policies."""
# Target ratios of speeds.
TIMES_HEAP, TIMES_SIMPY = 2.0, 100.0
MOST_COST = 6.0


def system_of(law: str, load: float, servers: int) -> System:
    """Return the even price with its default parameters on a number of servers."""
    curve = queue_model.SPEED_UPS
    scenario = Scenario.single(curve, load, servers, size=SIZES[law], waiting=math.inf)
    return build_system(scenario, "even-price")


def ours(
    law: str, load: float, arrivals: int, seed: int, *, servers: int = queue_model.SERVERS
) -> QueueResult:
    """Run one replication with all its results, on one thread, after a warm-up."""
    warmup = 60.0 if servers <= queue_model.SERVERS else 4.0
    plan = Plan(
        system_of(law, load, servers),
        "equilibrium",
        warmup,
        jobs=arrivals,
        batches=1,
        finished=False,
        seed=seed,
        stream=MAIN,
    )
    found = run_queue(plan, (0,))
    response = (found.queue.wait.sum() + found.booked.sum()) / found.granted.sum()
    run_arrivals = arrivals + warmup * servers * load
    return QueueResult("moldable", run_arrivals / found.seconds, response, arrivals)


PEERS: dict[str, tuple[Callable[..., QueueResult], tuple[str, ...], int]] = {
    "moldable": (ours, LAWS, 8_000_000),
    "C++": (queue_heap.run, queue_heap.LAWS, 4_000_000),
    "SimPy": (queue_simpy.run, ("exponential",), 100_000),
    "SimPy with callbacks": (queue_simpy.run_callbacks, ("exponential",), 200_000),
    "Ciw": (queue_ciw.run, queue_ciw.LAWS, 10_000),
}


def rows() -> list[Row]:
    """Run all programs in turn, several times, and keep the best time of each."""
    best: dict[tuple[str, str, float], QueueResult] = {}
    for _ in range(ROUNDS):
        for load in LOADS:
            for law in LAWS:
                for peer, (run, laws, arrivals) in PEERS.items():
                    if law in laws:
                        _keep(best, (peer, law, load), partial(run, law, load, arrivals, 7))
    return [*map(_speed, best, best.values()), *_ratios(best), *_scaling(), *_optima()]


def _keep(
    best: dict[tuple[str, str, float], QueueResult],
    key: tuple[str, str, float],
    run: Callable[[], QueueResult],
) -> None:
    found = run()
    if key not in best or found.arrivals_per_second > best[key].arrivals_per_second:
        best[key] = found


def _speed(key: tuple[str, str, float], result: QueueResult) -> Row:
    _, law, load = key
    speed = f"{result.arrivals_per_second / 1e6:.3g} M arrivals/s"
    response = "" if math.isnan(result.response) else f", mean response {result.response:.4f}"
    return Row(f"{result.name}, {law}, load {load:g}", speed + response, "")


def _ratios(best: dict[tuple[str, str, float], QueueResult]) -> list[Row]:
    found = []
    for (peer, law, load), result in best.items():
        if peer == "moldable":
            continue
        times = best["moldable", law, load].arrivals_per_second / result.arrivals_per_second
        target = {"C++": TIMES_HEAP, "SimPy": TIMES_SIMPY}.get(peer)
        what = f"{law}, load {load:g}: times {peer}"
        if target is None:
            found.append(Row(what, f"{times:.3g}", ""))
        else:
            found.append(Row(what, f"{times:.3g}", f"{target:g}", times >= target))
    return found


def _scaling() -> list[Row]:
    """Compare the cost of an arrival on few and on many servers."""
    found = []
    for law in LAWS:
        for load in LOADS:
            costs = [
                min(
                    1 / ours(law, load, 4_000_000, 7, servers=servers).arrivals_per_second
                    for _ in range(2)
                )
                for servers in (1000, 1_000_000)
            ]
            ratio = costs[1] / costs[0]
            found.append(
                Row(
                    f"cost of an arrival at n = 1,000,000 against 1,000, {law}, load {load:g}",
                    f"{ratio:.2f}",
                    f"at most {MOST_COST:g}",
                    ratio <= MOST_COST,
                )
            )
    return found


def _optima() -> list[Row]:
    """Time the optimum over all policies at load 0.8, once its kernels are compiled."""
    curve = queue_model.SPEED_UPS
    optimal_queueing(Scenario.single(curve, 0.8, 10, waiting=math.inf))
    found = []
    for servers, longest in OPTIMA:
        started = time.perf_counter()
        best = optimal_queueing(Scenario.single(curve, 0.8, servers, waiting=math.inf))
        seconds = time.perf_counter() - started
        found.append(
            Row(
                f"optimum of all policies, n = {servers}, load 0.8, {best.states:,} states",
                f"{seconds:.1f} s, mean response {best.mean_response_time:.6f}",
                f"below {longest:g} s",
                seconds < longest,
            )
        )
    return found
