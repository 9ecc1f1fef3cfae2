"""Increasing concave least squares by two slow routes, for comparison."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import minimize


def by_quadratic_program(widths, target, weights) -> np.ndarray:
    """Return the fitted values of the quadratic program in the values themselves.

    The values v minimise sum weights (v / target - 1)^2 subject to slopes that do not increase,
    from the origin on, and a last slope that is not negative.
    """
    widths, target = np.asarray(widths, float), np.asarray(target, float)
    size = widths.size
    # Slopes between neighbours as a matrix applied to v / target; the origin is the first point.
    slopes = np.zeros((size, size))
    for k in range(size):
        run = widths[k] - (widths[k - 1] if k else 0.0)
        slopes[k, k] = target[k] / run
        if k:
            slopes[k, k - 1] = -target[k - 1] / run
    rows = np.vstack((slopes[:-1] - slopes[1:], slopes[-1:]))
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    share = np.asarray(weights, float) / np.max(weights)
    result = minimize(
        lambda x: np.sum(share * (x - 1.0) ** 2),
        np.ones(size),
        jac=lambda x: 2.0 * share * (x - 1.0),
        constraints={"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda _: rows},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return result.x * target


def by_enumeration(widths, target, weights) -> np.ndarray:
    """Return the fitted values of the best subset of the functions min(w, k), all tried in turn."""
    widths, target = np.asarray(widths, float), np.asarray(target, float)
    scale = np.sqrt(np.asarray(weights, float))
    basis = scale[:, None] * np.minimum.outer(widths, widths) / target[:, None]
    best, least = None, np.inf
    for count in range(1, widths.size + 1):
        for subset in map(list, combinations(range(widths.size), count)):
            found = np.linalg.lstsq(basis[:, subset], scale, rcond=None)[0]
            square = np.sum((basis[:, subset] @ found - scale) ** 2)
            if (found >= 0.0).all() and square < least:
                best, least = (subset, found), square
    subset, found = best
    return np.minimum.outer(widths, widths)[:, subset] @ found
