"""Random systems simulated by both kernels, compared in standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from moldable import JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.sizes import MixedErlang
from naive.random_curves import random_speedups
from verification.verdict import Verdict

SYSTEMS, RUNS = 12, 64


def experiments() -> Iterator[Verdict]:
    """Compare blocking and mean execution time on random systems."""
    rng = np.random.default_rng(12)
    for number in range(SYSTEMS):
        n = int(rng.integers(8, 120))
        curve = SpeedUp(random_speedups("concave", int(rng.integers(2, 7)), rng))
        load = float(rng.uniform(0.5, 0.99))
        size = MixedErlang() if len(curve) < 3 and number % 3 == 0 else None
        job_class = JobClass("jobs", n * load, curve, **({"size": size} if size else {}))
        workload = Workload((job_class,))
        options = {"jobs": 200_000, "replications": RUNS, "warmup": 10.0, "seed": number}
        chain = simulate(Scenario(workload, n), **options)
        ring = simulate(Scenario(workload, n), estimator="realised", **options)
        worst = 0.0
        for name in ("blocking", "mean_execution_time"):
            a, b = getattr(chain, name), getattr(ring, name)
            error = math.hypot(a.half_width, b.half_width) / stdtrit(RUNS - 1, 0.975)
            worst = max(worst, abs(a.value - b.value) / error)
        names = f"{chain.detail.kernel} and {ring.detail.kernel}"
        what = f"n = {n}, d = {len(curve)}, load {load:.3f}, {names}"
        yield Verdict(f"{what}: standard errors apart", worst, 4)
