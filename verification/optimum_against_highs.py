"""The optimum on thousands of random curves of every shape against HiGHS."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from moldable import SpeedUp, optimum
from naive.highs import solve_p
from naive.random_curves import SHAPES, random_speedups
from verification.verdict import Verdict

CURVES = 500


def experiments() -> Iterator[Verdict]:
    """Compare objectives and recheck certificates, shape by shape."""
    for number, shape in enumerate(SHAPES):
        rng = np.random.default_rng([2024, number])
        apart = violation = 0.0
        for _ in range(CURVES):
            curve = SpeedUp(random_speedups(shape, int(rng.integers(1, 201)), rng))
            load = float(rng.uniform(0.001, 1) * np.max(curve.speedups / curve.widths))
            solution = optimum(curve, load)
            highs = solve_p(curve.widths, curve.speedups, load)
            apart = max(apart, abs(solution.mean_execution_time - highs))
            violation = max(violation, solution.certificate.max_violation)
        yield Verdict(f"{CURVES} {shape} curves: largest difference from HiGHS", apart, 1e-9)
        yield Verdict(f"{CURVES} {shape} curves: largest KKT violation", violation, 1e-9)
