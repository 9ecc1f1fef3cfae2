"""Solve linear equations by BiCGSTAB (van der Vorst 1992) with right preconditioning.

Plain loops are faster than a library here: on vectors of ten thousand to a million numbers,
threaded dot products spend more time waiting for one another than computing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from moldable.arrays import Floats


@njit(nogil=True, cache=True)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True)
def _update_direction(direction, residual, image, beta, omega):
    for i in range(direction.size):
        direction[i] = residual[i] + beta * (direction[i] - omega * image[i])


@njit(nogil=True, cache=True)
def _move(solution, residual, length, step, image):
    """Move along a step, and return the squared norm of the new residual."""
    left = 0.0
    for i in range(solution.size):
        solution[i] += length * step[i]
        residual[i] -= length * image[i]
        left += residual[i] * residual[i]
    return left


def bicgstab(
    apply: Callable[[Floats, Floats, Floats], None],
    solution: Floats,
    residual: Floats,
    accuracy: float,
    steps: int,
) -> tuple[int, float]:
    """Improve a solution in place until its residual has decreased by the factor `accuracy`.

    The solution with the smallest residual is kept.

    Args:
        apply: called with (vector, solved, image); writes the preconditioned vector into `solved`,
            and the product of the matrix with it into `image`.
        solution: to improve.
        residual: of the solution; overwritten.
        accuracy: factor by which the residual must decrease.
        steps: largest number of steps.

    Returns:
        The number of steps, and the factor by which the residual has decreased.
    """
    direction, image = np.zeros(residual.size), np.zeros(residual.size)
    solved, smoothed = np.empty(residual.size), np.empty(residual.size)
    shadow, kept = residual.copy(), solution.copy()
    first = lowest = math.sqrt(_dot(residual, residual))
    rho = alpha = omega = 1.0
    done = 0
    while done < steps and lowest > accuracy * first:
        last, rho = rho, _dot(shadow, residual)
        if rho == 0.0 or omega == 0.0:
            break
        _update_direction(direction, residual, image, rho / last * (alpha / omega), omega)
        apply(direction, solved, image)
        product = _dot(shadow, image)
        if product == 0.0:
            break
        alpha = rho / product
        _move(solution, residual, alpha, solved, image)
        apply(residual, solved, smoothed)
        weight = _dot(smoothed, smoothed)
        # If no residual is left to smooth, the half step was the whole solution.
        omega = _dot(smoothed, residual) / weight if weight > 0.0 else 0.0
        left = math.sqrt(_move(solution, residual, omega, solved, smoothed))
        done += 1
        if left < lowest:
            lowest = left
            kept[:] = solution
    solution[:] = kept
    return done, lowest / first if first > 0.0 else 0.0
