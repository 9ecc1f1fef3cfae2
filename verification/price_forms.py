"""Which form and which shape of the price serve best? The best of each family by exact chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from moldable import PricePolicy, Scenario, SpeedUp, stationary_law
from moldable.optimal.optimal_control import optimal_control
from verification.named_curves import AMDAHL, LINEAR, NEMO, SUBLINEAR
from verification.verdict import Verdict

SERVERS, LOAD = 30, 0.8
BLOCKED_JOB_PRICES = (2.0, 4.0, 8.0, 32.0)
# NEMO on Skylake nodes (UoB-HPC/benchmarks, ee6f6d55); BERT on AWS T4, four GPUs to a node
# (siasosp23/artifacts, aaf7a0de), whose fifth GPU is in another node.
LOSING_EFFICIENCY = {
    "sub-linear": SUBLINEAR,
    "Amdahl 0.95": AMDAHL,
    "BERT, dipping": SpeedUp([1, 1.975, 2.844, 3.797, 1.617, 1.779, 2.08, 2.221, 4.162, 4.608]),
}
KEEPING_EFFICIENCY = {
    "linear": LINEAR,
    "NEMO, super-linear": NEMO,
}
Build = Callable[[float, float], PricePolicy]


def exponential(form: str) -> Build:
    """Return the family of exponential prices, by q0 and the logarithm of ell."""
    return lambda q0, log_ell: PricePolicy.exponential(q0, math.exp(log_ell), form)


def power_law(log_scale: float, log_exponent: float) -> PricePolicy:
    """Return one of the power laws, by the logarithms of its two numbers."""
    return PricePolicy.power_law(math.exp(log_scale), math.exp(log_exponent))


EXPONENTIAL_START = [
    (float(q0), float(log_ell))
    for q0 in np.linspace(-2.0, 7.0, 121)
    for log_ell in np.linspace(math.log(0.8), math.log(16.0), 61)
]
POWER_LAW_START = [
    (float(log_scale), float(log_exponent))
    for log_scale in np.linspace(-1.0, 9.0, 121)
    for log_exponent in np.linspace(math.log(0.4), math.log(4.0), 61)
]
FAMILIES = {
    "stepwise": (exponential("stepwise"), EXPONENTIAL_START),
    "present": (exponential("present"), EXPONENTIAL_START),
    "power law": (power_law, POWER_LAW_START),
}


class Evaluator:
    """Exact blocking and mean time; many prices share a table, which is solved once."""

    def __init__(self, curve: SpeedUp) -> None:
        self.workload = Scenario.single(curve, LOAD, SERVERS).workload
        self.known: dict[str, tuple[float, float]] = {}

    def __call__(self, policy: PricePolicy) -> tuple[float, float]:
        """Return blocking and mean execution time."""
        table = policy.describe(self.workload, SERVERS)
        if table not in self.known:
            found = stationary_law(Scenario(self.workload, SERVERS), policy).performance()
            self.known[table] = (found.blocking.value, found.mean_execution_time.value)
        return self.known[table]


def best(evaluate: Evaluator, build: Build, start: list[tuple[float, float]]) -> list[float]:
    """Return a family's least cost per arrival at each price: of a grid, then of narrowing clouds.

    Many prices give one table, so the cost is flat in steps and has no slope to follow. What was
    tried for one price of a blocked job is known for all the others.
    """
    rng = np.random.default_rng(1)
    known = {at: evaluate(build(*at)) for at in start}

    def cost(at: tuple[float, float], price: float) -> float:
        blocking, time = known[at]
        return (1.0 - blocking) * time + price * blocking

    for reach in (1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1):
        for price in BLOCKED_JOB_PRICES:
            for step in rng.uniform(-reach, reach, (30, 2)):
                here = min(known, key=lambda at: cost(at, price))
                at = (here[0] + float(step[0]), here[1] + 0.5 * float(step[1]))
                known[at] = evaluate(build(*at))
    return [min(cost(at, price) for at in known) for price in BLOCKED_JOB_PRICES]


def costs(curve: SpeedUp) -> dict[str, list[float]]:
    """Return the least costs of every family, price by price."""
    evaluate = Evaluator(curve)
    return {name: best(evaluate, *family) for name, family in FAMILIES.items()}


def _above(one: list[float], two: list[float]) -> list[float]:
    return [a / b - 1.0 for a, b in zip(one, two, strict=True)]


def experiments() -> Iterator[Verdict]:
    """Compare the forms and shapes curve by curve; rows are per cent above the optimum."""
    for name, curve in (LOSING_EFFICIENCY | KEEPING_EFFICIENCY).items():
        found = costs(curve)
        scenario = Scenario.single(curve, LOAD, SERVERS)
        least = [optimal_control(scenario, price).cost for price in BLOCKED_JOB_PRICES]
        listed = (
            " / ".join(f"{100 * gap:.3f}" for gap in _above(each, least)) for each in found.values()
        )
        print(f"  | {name} | {' | '.join(listed)} |", flush=True)
        gaps = _above(found["stepwise"], found["present"])
        if name in LOSING_EFFICIENCY:
            yield Verdict(f"{name}: most that stepwise costs above present", max(gaps), 3e-3)
        else:
            what = "stepwise against present, at prices from 4"
            yield Verdict(f"{name}: {what}", max(gaps[1:]), -0.05)
        below = -min(min(_above(each, least)) for each in found.values())
        yield Verdict(f"{name}: most that any family costs below the optimum", below, 1e-6)
        shapes = _above(found["power law"], found["stepwise"])
        yield Verdict(f"{name}: most that a power law costs above exponential", max(shapes), 3e-3)
