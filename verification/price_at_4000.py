"""What does the price policy reach at n = 4000, against known points and the paper's scheme?"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from scipy.special import stdtrit

from moldable import (
    Estimate,
    Greedy,
    Performance,
    Policy,
    PricePolicy,
    Scenario,
    SpeedUp,
    Tuned,
    simulate,
    tune,
)
from verification.named_curves import LINEAR, SUBLINEAR
from verification.verdict import Verdict

N, LOAD, NEAR_ONE = 4000, 0.8, 1 - 0.1 * 4000**-0.5
SEED, RUNS, JOBS, ROUNDING = 1, 64, 1_000_000, 5e-5
ASSUMED_ARRIVALS = 5_000_000
"""The known points came without errors; theirs are taken to be those of one run of this length."""
LIMITS = (0.01, 0.001, 0.0001)
FASTER_AND_BLOCKS_LESS = 0.0115
"""A limit on blocking at which the tuned policy is still faster than greedy(p*)."""


@dataclass(frozen=True)
class Point:
    """Known blocking and mean time of a policy, rounded to four digits."""

    name: str
    curve: SpeedUp
    load: float
    policy: Policy | None
    blocking: float
    time: float


def _present(q0: float, ell: float, blocking: float, time: float) -> Point:
    policy = PricePolicy.exponential(q0, ell, "present")
    name = f"sub-linear, load 0.8, q0 = {q0:g}, ell = {ell:g}, present"
    return Point(name, SUBLINEAR, LOAD, policy, blocking, time)


def _stepwise(curve: SpeedUp, q0: float, ell: float, blocking: float, time: float) -> Point:
    policy = PricePolicy.exponential(q0, ell)
    name = f"{'linear' if curve is LINEAR else 'sub-linear'}, load 0.9984"
    return Point(f"{name}, q0 = {q0:g}, ell = {ell:g}", curve, NEAR_ONE, policy, blocking, time)


PRICES = (
    _present(0.56, 32, 0.0179, 0.3747),
    _present(0.56, 64, 0.0070, 0.3823),
    _present(1.0, 32, 0.0022, 0.3905),
    _present(1.0, 64, 0.0001, 0.3928),
    _stepwise(SUBLINEAR, 3, 16, 0.0126, 0.9645),
    _stepwise(LINEAR, 1, 4, 0.0166, 0.2199),
    _stepwise(LINEAR, 2, 8, 0.0083, 0.2621),
)
RIVALS = (
    Point("sub-linear, load 0.8, greedy(p*)", SUBLINEAR, LOAD, None, 0.0203, 0.3782),
    Point("sub-linear, load 0.9984, greedy(p*)", SUBLINEAR, NEAR_ONE, None, 0.0126, 0.9937),
    Point("linear, load 0.9984, greedy", LINEAR, NEAR_ONE, Greedy(), 0.0267, 0.2000),
)


def experiments() -> Iterator[Verdict]:
    """Reproduce the known points, better them, and tune to limits on blocking."""
    for point in PRICES + RIVALS:
        yield from _reproduced(point)
    for point in PRICES:
        yield from _bettered(point)
    for limit in LIMITS:
        yield from _against_static(limit)
    yield from _against_greedy_p()


@functools.cache
def _tuned(curve: SpeedUp, load: float, limit: float) -> Tuned:
    return tune(Scenario.single(curve, load, N).workload, N, max_blocking=limit, seed=SEED)


def _reproduced(point: Point) -> Iterator[Verdict]:
    scenario = Scenario.single(point.curve, point.load, N)
    answer = simulate(scenario, point.policy, jobs=JOBS, replications=RUNS, seed=SEED)
    _row(point.name, f"{point.blocking:.4f}, {point.time:.4f}", *_two(answer))
    off = max(abs(beyond) for beyond in _beyond(point, answer))
    yield Verdict(f"{point.name}: combined standard errors off, beyond rounding", off, 4)


def _bettered(point: Point) -> Iterator[Verdict]:
    answer = _tuned(point.curve, point.load, point.blocking).performance
    _row(f"tuned: {point.name}", f"{point.blocking:.4f}, {point.time:.4f}", *_two(answer))
    yield _kept(answer, point.blocking)
    later = _beyond(point, answer)[1]
    what = f"{point.name}: standard errors beyond rounding by which the tuned policy is slower"
    yield Verdict(what, later, 4)


def _against_static(limit: float) -> Iterator[Verdict]:
    tuned = _tuned(SUBLINEAR, LOAD, limit)
    yield _kept(tuned.performance, limit)
    if tuned.static is None:
        raise AssertionError(limit)
    static = tuned.static.performance
    _row(f"blocking <= {limit:g}", f"q0 = {tuned.q0:.3f}, ell = {tuned.ell:.1f}", tuned.thresholds)
    _row(f"design load {tuned.static.design_load:.4f}", *_two(static), *_two(tuned.performance))
    what = f"blocking <= {limit:g}: longest time of the tuned over shortest of the best static"
    yield Verdict(what, _ratio(tuned.performance.mean_execution_time, static), 1)


def _against_greedy_p() -> Iterator[Verdict]:
    tuned = _tuned(SUBLINEAR, LOAD, FASTER_AND_BLOCKS_LESS)
    own, rival = tuned.performance, tuned.greedy_p
    _row("greedy(p*), tuned", *_two(rival), *_two(own))
    yield Verdict("longest time over greedy(p*)'s", _ratio(own.mean_execution_time, rival), 1)
    most = _ends(own.blocking)[1] / _ends(rival.blocking)[0]
    yield Verdict("and the most blocking over greedy(p*)'s", most, 0.6)


def _kept(answer: Performance, limit: float) -> Verdict:
    far_end = _ends(answer.blocking)[1]
    return Verdict(f"blocking's upper end over its limit {limit:g}", far_end / limit, 1)


def _beyond(point: Point, answer: Performance) -> tuple[float, float]:
    """Return how far both figures are above the known ones beyond rounding, in standard errors."""
    pairs = ((answer.blocking, point.blocking), (answer.mean_execution_time, point.time))
    found = []
    for estimate, known in pairs:
        own = estimate.half_width / float(stdtrit(RUNS - 1, 0.975))
        error = own * math.sqrt(1.0 + (answer.to_dict()["arrivals"] or 0) / ASSUMED_ARRIVALS)
        gap = estimate.value - known
        beyond = math.copysign(max(abs(gap) - ROUNDING, 0.0), gap)
        found.append(beyond / error if error > 0.0 else beyond)
    return found[0], found[1]


def _ratio(own: Estimate, rival: Performance) -> float:
    return _ends(own)[1] / _ends(rival.mean_execution_time)[0]


def _ends(estimate: Estimate) -> tuple[float, float]:
    if estimate.interval is None:
        raise AssertionError(estimate)
    return estimate.interval


def _two(answer: Performance) -> tuple[str, str]:
    return str(answer.blocking), str(answer.mean_execution_time)


def _row(*cells: str) -> None:
    print(f"  | {' | '.join(cells)} |", flush=True)
