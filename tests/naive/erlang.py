"""Erlang's loss formula by its recursion, the exact answer for systems with one width."""

from __future__ import annotations


def erlang_b(offered: float, slots: int) -> float:
    """Return the blocking probability of M/G/c/c."""
    inverse = 1.0
    for k in range(1, slots + 1):
        inverse = 1.0 + inverse * k / offered
    return 1.0 / inverse
