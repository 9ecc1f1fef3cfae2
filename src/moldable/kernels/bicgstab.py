"""Solve linear equations by BiCGSTAB (van der Vorst 1992), preconditioned from the right.

Plain loops rather than a library's: on vectors of ten thousand to a million numbers, threaded dot
products wait for one another longer than they work.
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
def _turn(way, rest, image, beta, omega):
    """Change the direction of the search."""
    for i in range(way.size):
        way[i] = rest[i] + beta * (way[i] - omega * image[i])


@njit(nogil=True, cache=True)
def _move(found, rest, length, solved, image):
    """Move along a direction, and return the square of what is left."""
    left = 0.0
    for i in range(found.size):
        found[i] += length * solved[i]
        rest[i] -= length * image[i]
        left += rest[i] * rest[i]
    return left


def bicgstab(
    apply: Callable[[Floats, Floats, Floats], None],
    found: Floats,
    rest: Floats,
    accuracy: float,
    steps: int,
) -> tuple[int, float]:
    """Improve a solution in place until its residual has fallen by `accuracy`.

    The solution of the smallest residual is kept.

    Args:
        apply: called with (vector, solved, image), it writes what the preconditioner makes of the
            vector into `solved`, and the image of that under the matrix into `image`.
        found: the solution to improve.
        rest: its residual; overwritten.
        accuracy: share of the residual that may be left.
        steps: at most so many.

    Returns:
        The steps done, and the share of the residual that is left.
    """
    way, image = np.zeros(rest.size), np.zeros(rest.size)
    solved, turned = np.empty(rest.size), np.empty(rest.size)
    shadow, kept = rest.copy(), found.copy()
    begun = lowest = math.sqrt(_dot(rest, rest))
    rho = alpha = omega = 1.0
    done = 0
    while done < steps and lowest > accuracy * begun:
        last, rho = rho, _dot(shadow, rest)
        if rho == 0.0 or omega == 0.0:
            break
        _turn(way, rest, image, rho / last * (alpha / omega), omega)
        apply(way, solved, image)
        lean = _dot(shadow, image)
        if lean == 0.0:
            break
        alpha = rho / lean
        _move(found, rest, alpha, solved, image)
        apply(rest, solved, turned)
        weight = _dot(turned, turned)
        # Without a residual left to smooth, the half step was the whole answer.
        omega = _dot(turned, rest) / weight if weight > 0.0 else 0.0
        left = math.sqrt(_move(found, rest, omega, solved, turned))
        done += 1
        if left < lowest:
            lowest = left
            kept[:] = found
    found[:] = kept
    return done, lowest / begun if begun > 0.0 else 0.0
