"""A kernel that shows whether numba compiles on this machine."""

from __future__ import annotations

from numba import njit


def compiled_total(count: int) -> int:
    """Compile a loop, which is not cached, and return its sum of the integers below `count`."""
    return int(njit(_total)(count))


def _total(count):
    total = 0
    for i in range(count):
        total += i
    return total
