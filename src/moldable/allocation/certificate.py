"""Multipliers that prove an allocation optimal, independently of how it was found.

The Karush-Kuhn-Tucker conditions of the paper's linear programs (P) and (Q) are necessary and
sufficient, so multipliers that satisfy them prove optimality. For every class, with cost the
objective's coefficient 1/lambda (times the class's weight)::

    cost + nu*s_i + theta0*i - theta_i = 0        theta0 >= 0, theta_i >= 0
    theta_i * y_i = 0                             theta0 * (busy - 1) = 0
    sum s_i*y_i = offered load                    busy = sum i*y_i over all classes <= 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from moldable.arrays import Floats, Ints


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Certificate:
    """Multipliers that prove an allocation optimal.

    Attributes:
        nu: multiplier of the rate constraint.
        theta0: multiplier of the capacity constraint, shared by all classes.
        theta: multipliers of y_i >= 0, one for each allowed width.
        max_violation: the largest violation of any condition, each relative to the size of its
            terms: costs against 1/lambda, rates against the offered load, servers against n.

    Examples:
        >>> optimum([1, 1.8, 2.5], 0.9).certificate.max_violation < 1e-12
        True
    """

    nu: float
    theta0: float
    theta: Floats
    max_violation: float

    def __repr__(self) -> str:
        return (
            f"Certificate(nu={self.nu:.6g}, theta0={self.theta0:.6g}, "
            f"max_violation={self.max_violation:.1e})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists."""
        return {
            "nu": self.nu,
            "theta0": self.theta0,
            "theta": self.theta.tolist(),
            "max_violation": self.max_violation,
        }


def certify(
    widths: Ints,
    speedups: Floats,
    scaled_jobs: Floats,
    *,
    offered: float,
    cost: float,
    theta0: float,
    busy: float,
) -> Certificate:
    """Find the multipliers of one class and measure how well they satisfy the conditions.

    Args:
        widths: allowed widths.
        speedups: their speed-ups.
        scaled_jobs: y, jobs of each width per server of the cluster.
        offered: the class's offered load per server of the cluster.
        cost: the objective's coefficient of y.
        theta0: the capacity multiplier to test.
        busy: the fraction of the cluster that all classes together keep busy.
    """
    used = scaled_jobs > 0.0
    widest = int(np.flatnonzero(used)[-1])
    nu = -(cost + theta0 * float(widths[widest])) / float(speedups[widest])
    gradient = cost + nu * speedups + theta0 * widths
    theta = np.where(used, 0.0, np.maximum(gradient, 0.0))
    violations = (
        float(np.max(np.abs(gradient - theta))) / cost,
        max(0.0, -theta0) / cost,
        theta0 * abs(1.0 - busy) / cost,
        abs(float(speedups @ scaled_jobs) / offered - 1.0),
        max(0.0, busy - 1.0),
        max(0.0, -float(scaled_jobs.min())),
    )
    return Certificate(nu, theta0, theta, max(violations))
