"""The optimal division among a thousand classes of 64 widths, compared with HiGHS."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.table import Row, best_seconds
from moldable import JobClass, Scenario, SpeedUp, Workload, reserve

CLASSES, WIDTHS = 1000, 64


def workload() -> tuple[Workload, int]:
    """Return classes with Amdahl curves and 1 % noise, as in measurements."""
    rng = np.random.default_rng(1)
    i = np.arange(1, WIDTHS + 1)
    classes = []
    for j in range(CLASSES):
        fraction = rng.uniform(0.5, 0.999)
        speedups = 1 / ((1 - fraction) + fraction / i)
        speedups[1:] *= rng.normal(1, 0.01, WIDTHS - 1)
        classes.append(JobClass(f"class {j}", float(rng.uniform(0.5, 2)), SpeedUp(speedups)))
    return Workload(tuple(classes)), int(2 * sum(c.arrival_rate for c in classes))


def program(classes: Workload, servers: int) -> dict:
    """Build the same problem for HiGHS; this is not timed."""
    parts = classes.classes
    widths = np.concatenate([c.speedup.widths for c in parts]).astype(float)
    return {
        "c": np.full(widths.size, 1 / classes.arrival_rate),
        "A_ub": sp.csr_matrix(widths[None, :]),
        "b_ub": [servers],
        "A_eq": sp.block_diag([c.speedup.speedups[None, :] for c in parts], format="csr"),
        "b_eq": [c.offered for c in parts],
    }


def rows() -> list[Row]:
    """Time all three methods on one problem, in turn."""
    classes, servers = workload()
    problem = program(classes, servers)
    scenario = Scenario(classes, servers)
    values = {"hull": reserve(scenario).objective}
    seconds = dict.fromkeys(("hull", "highs", "highs-ipm"), float("inf"))
    for _ in range(3):
        hull = best_seconds(lambda: reserve(scenario), 5)
        seconds["hull"] = min(seconds["hull"], hull)
        for method in ("highs", "highs-ipm"):
            found: list[float] = []
            spent = best_seconds(
                lambda m=method, f=found: f.append(linprog(**problem, method=m).fun), 1
            )
            seconds[method] = min(seconds[method], spent)
            values[method] = found[0]
    default, interior = (seconds[m] / seconds["hull"] for m in ("highs", "highs-ipm"))
    apart = max(abs(values[m] / values["hull"] - 1) for m in ("highs", "highs-ipm"))
    return [
        Row("hull edges, whole answer", f"{1e3 * seconds['hull']:.1f} ms", ""),
        Row("HiGHS, default method", f"{seconds['highs']:.2f} s", ""),
        Row("HiGHS, interior point", f"{seconds['highs-ipm']:.2f} s", ""),
        Row("times faster than the default", f"{default:.0f}", "at least 100", default >= 100),
        Row("times faster than interior point", f"{interior:.0f}", "at least 10", interior >= 10),
        Row("largest relative difference", f"{apart:.1e}", "below 1e-6", apart < 1e-6),
    ]
