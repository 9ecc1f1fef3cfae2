"""The optimum over all policies against HiGHS, and its figures for the sub-linear curve."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from moldable import Scenario, Workload, evaluate, greedy_p
from moldable.optimal.constrained import least_blocking
from moldable.optimal.control import OptimalControl, optimal_control
from moldable.optimal.curve import tradeoff
from naive.optimal_control import NaiveControl
from naive.random_systems import random_workload
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

SYSTEMS = 60
PUBLISHED = {4.0: (0.0325, 0.595), 8.0: (0.0161, 0.673)}
"""Blocking and time at n = 64, load 0.8, by blocking cost; known to the digits given."""
STATIC_EXCESS = {2.0: 0.031, 4.0: 0.127, 8.0: 0.235, 16.0: 0.185}
"""Cost of the best static shares above the optimum at n = 40, load 0.8, by blocking cost.

Design loads in steps of 0.02; smaller steps reduce it slightly.
"""
FINER = 10
"""Subdivisions of each of these steps in the finer scan."""


def experiments() -> Iterator[Verdict]:
    """Compare the optimum with a linear program, then with figures from other programs."""
    yield _against_highs()
    yield _least_blocking_against_highs()
    for servers in (30, 40, 64):
        yield from _curves(servers)
    yield from _static_family()


def _against_highs() -> Verdict:
    worst = 0.0
    for seed in range(SYSTEMS):
        rng = np.random.default_rng(seed)
        workload, servers = _random_system(rng, seed)
        cost = float(rng.uniform(0.1, 50.0))
        found = optimal_control(Scenario(workload, servers), cost, tolerance=1e-9)
        exact = NaiveControl(workload, servers).least_cost(cost)
        worst = max(worst, abs(found.cost / exact - 1.0))
    what = f"least cost of {SYSTEMS} random systems of 1 to 3 classes, n <= 10, against HiGHS"
    return Verdict(what, worst, 1e-7)


def _least_blocking_against_highs() -> Verdict:
    worst = 0.0
    for seed in range(SYSTEMS // 2):
        rng = np.random.default_rng(1000 + seed)
        workload, servers = _random_system(rng, seed)
        found = least_blocking(Scenario(workload, servers), tolerance=1e-8)
        exact = NaiveControl(workload, servers).least_cost(np.inf, only_blocking=True)
        worst = max(worst, abs(found.blocking - exact))
    return Verdict(f"least blocking of {SYSTEMS // 2} random systems against HiGHS", worst, 1e-7)


def _random_system(rng: np.random.Generator, seed: int) -> tuple[Workload, int]:
    servers = int(rng.integers(4, 11))
    classes = 1 + seed % 3
    most_widths = (5, 3, 2)[classes - 1]
    return random_workload(rng, servers, classes=classes, most_widths=most_widths), servers


def _curves(servers: int) -> Iterator[Verdict]:
    for load in (0.7, 0.8, 0.9):
        begun = time.perf_counter()
        curve = tradeoff(Scenario.single(SUBLINEAR, load, servers))
        seconds = time.perf_counter() - begun
        gap = max(control.gap for control in curve.controls)
        what = (
            f"largest gap over {len(curve.controls)} costs, n = {servers}, load {load}, "
            f"{curve.controls[0].states:,} states, {seconds:.1f} s"
        )
        yield Verdict(what, gap, 1e-3)
        if (servers, load) == (64, 0.8):
            known = [control for control in curve.controls if control.blocking_cost in PUBLISHED]
            yield from map(_as_published, known)


def _as_published(control: OptimalControl) -> Verdict:
    blocking, mean = PUBLISHED[control.blocking_cost]
    # In units of the last digit given.
    off_blocking = abs(control.blocking - blocking) / 1e-4
    off_mean = abs(control.mean_execution_time - mean) / 1e-3
    what = (
        f"n = 64, cost {control.blocking_cost:g}: blocking {control.blocking:.5f}, time "
        f"{control.mean_execution_time:.4f}; units of the last known digit off {blocking}, {mean}"
    )
    return Verdict(what, max(off_blocking, off_mean), 0.5)


def _static_family() -> Iterator[Verdict]:
    """Compare the best static shares, found by a scan of design loads, with the optimum."""
    servers = 40
    scenario = Scenario.single(SUBLINEAR, 0.8, servers)
    points = []
    for design_load in np.linspace(0.7, 1.0, 15 * FINER + 1).tolist():
        policy = greedy_p(scenario, design_load)
        result = evaluate(scenario, policy, method="chain")
        blocking = result.blocking.value
        points.append((blocking, (1.0 - blocking) * result.mean_execution_time.value))
    lost, spent = np.array(points).T
    for control in tradeoff(scenario, STATIC_EXCESS).controls:
        costs = spent + control.blocking_cost * lost
        excess = float(costs[::FINER].min()) / control.cost - 1.0
        best = float(costs.min()) / control.cost - 1.0
        expected = STATIC_EXCESS[control.blocking_cost]
        what = (
            f"n = 40, cost {control.blocking_cost:g}: static shares cost {100 * excess:.1f} % more "
            f"than the optimum, on a finer scan {100 * best:.1f} %; difference from "
            f"{100 * expected:.1f} %"
        )
        yield Verdict(what, abs(excess - expected), 0.0006)
