"""Tuned policies on 400 to 20,000 servers, against known figures and tables tuned by search.

The tables came from a search over prices of a server exp(q0 - idle/ell), each tuned for its curve,
number of servers and blocking cost at load 0.8.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from moldable import Scenario, Thresholds, Workload, compare, tune
from moldable.results import Compared, Estimate
from moldable.sizes import Deterministic
from verification.named_curves import AMDAHL, CIFAR, LINEAR, SUBLINEAR
from verification.verdict import Verdict

CURVES = {"sub-linear": SUBLINEAR, "Amdahl 0.95": AMDAHL, "linear": LINEAR, "CIFAR-10": CIFAR}
SEARCHED = Path(__file__).with_name("searched_tables.json")
LOAD, N, SEED = 0.8, 4000, 1
KNOWN_TIMES = {0.01: 0.3786, 0.001: 0.3895, 0.0001: 0.3927}
"""Mean execution times of tables tuned by search, by the limit on blocking."""
EQUAL_SIZES_LIMIT, EQUAL_SIZES_TIME = 0.001, 0.42
LARGEST_EXCESS = 1e-3
PRECISION = 0.01


def experiments() -> Iterator[Verdict]:
    """Test limits on 4,000 servers, also with deterministic sizes, and costs of known tables."""
    for limit, known in KNOWN_TIMES.items():
        yield from _within(Scenario.single(SUBLINEAR, LOAD, N), limit, known, "exponential")
    equal = _deterministic(Scenario.single(SUBLINEAR, LOAD, N))
    yield from _within(equal, EQUAL_SIZES_LIMIT, EQUAL_SIZES_TIME, "deterministic")
    for row in json.loads(SEARCHED.read_text(encoding="utf-8")):
        yield from _compared_with_table(row["curve"], row["servers"], row["cost"], row["table"])


def _within(scenario: Scenario, limit: float, known: float, sizes: str) -> Iterator[Verdict]:
    tuned = tune(scenario, max_blocking=limit, seed=SEED)
    answer = tuned.performance
    what = f"n = {N}, {sizes} sizes, blocking <= {limit:g}"
    print(f"  {what}: {answer.blocking}, {answer.mean_execution_time}: {tuned.thresholds}")
    yield Verdict(
        f"{what}: upper end of blocking over the limit", _ends(answer.blocking)[1] / limit, 1
    )
    yield Verdict(f"{what}: mean time", answer.mean_execution_time.value, known)


def _compared_with_table(
    curve: str, servers: int, cost: float, table: dict[str, int]
) -> Iterator[Verdict]:
    scenario = Scenario.single(CURVES[curve], LOAD, servers)
    policies = {
        "searched": Thresholds({"jobs": {int(idle): width for idle, width in table.items()}}),
        "tuned": tune(scenario, blocking_cost=cost, seed=SEED).policy,
    }
    searched, tuned = compare(scenario, policies, precision=PRECISION, seed=SEED).policies
    excess, half_width = _difference(searched, tuned, cost)
    print(f"  {curve}, n = {servers}, cost {cost:g}: {excess:+.2e} ± {half_width:.1e}")
    what = f"{curve}, n = {servers}, cost {cost:g}: cost above the searched table, upper end"
    yield Verdict(what, excess + half_width, LARGEST_EXCESS)


def _difference(first: Compared, second: Compared, cost: float) -> tuple[float, float]:
    """Return the relative excess cost per arrival of the second policy, and its half-width.

    With B blocking and T times, the difference of (1 - B) T + cost B is
    (1 - B_2) (T_2 - T_1) + (cost - T_1) (B_2 - B_1).
    """
    one, two = first.performance, second.performance
    time = one.mean_execution_time.value
    weights = 1.0 - two.blocking.value, cost - time
    differences = second.mean_execution_time_difference, second.blocking_difference
    total = (1.0 - one.blocking.value) * time + cost * one.blocking.value
    value = sum(w * _known(d).value for w, d in zip(weights, differences, strict=True))
    # The two differences are negatively correlated, so the sum of their half-widths is a bound.
    half = sum(abs(w) * _known(d).half_width for w, d in zip(weights, differences, strict=True))
    return value / total, half / total


def _known(estimate: Estimate | None) -> Estimate:
    if estimate is None:
        raise AssertionError
    return estimate


def _deterministic(scenario: Scenario) -> Scenario:
    classes = (dataclasses.replace(c, size=Deterministic()) for c in scenario.workload.classes)
    return Scenario(Workload(tuple(classes)), scenario.servers)


def _ends(estimate: Estimate) -> tuple[float, float]:
    if estimate.interval is None:
        raise AssertionError(estimate)
    return estimate.interval
