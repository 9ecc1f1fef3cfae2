"""The paper's linear programs solved by HiGHS, for comparison."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def solve_p(widths, speedups, load: float) -> float:
    """Return the optimal value of (P) in the paper's variables y."""
    result = linprog(
        np.full(len(widths), 1 / load),
        A_ub=[np.asarray(widths, float)],
        b_ub=[1.0],
        A_eq=[np.asarray(speedups, float)],
        b_eq=[load],
        method="highs",
        options=TIGHT,
    )
    assert result.status == 0, result.message
    return float(result.fun)


def solve_q(classes, servers: int, method: str = "highs", options: dict | None = None) -> float:
    """Return the optimal value of (Q) with weights; classes are JobClass values.

    The variables are the jobs in the system of each class and width.
    """
    rate = sum(c.arrival_rate for c in classes)
    cost = np.concatenate([np.full(len(c.speedup), c.weight / rate) for c in classes])
    widths = np.concatenate([c.speedup.widths for c in classes]).astype(float)
    serve = sp.block_diag([c.speedup.speedups[None, :] for c in classes], format="csr")
    result = linprog(
        cost,
        A_ub=sp.csr_matrix(widths[None, :]),
        b_ub=[servers],
        A_eq=serve,
        b_eq=[c.arrival_rate * c.mean_size for c in classes],
        method=method,
        options=TIGHT if options is None else options,
    )
    assert result.status == 0, result.message
    return float(result.fun)
