"""Searches with few evaluations: along coordinates, and for a charge that uses a limit up."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

MOST_MOVES, HALVINGS = 6, 1
"""Moves of a search along coordinates, and how often its steps are halved."""
INTERPOLATIONS, NEARLY = 4, 0.95
"""Most steps to a charge that uses a limit up, and the share of the limit that is enough: the rest
is used up by drawing between two tables."""
CLOSEST: Final = 0.1
"""Least share of a bracket that such a step cuts off."""

Point = tuple[float, ...]


def nearly_used_up(excess: Callable[[float], float], high: float) -> float:
    """Return a charge between 0 and one that keeps a limit, which nearly uses it up.

    Args:
        excess: the limited figure as a share of the limit, at most 1 at `high` but not at 0.
        high: the charge that keeps the limit.
    """
    low, (over, under) = 0.0, (excess(0.0), excess(high))
    for _ in range(INTERPOLATIONS):
        if under > NEARLY:
            break
        # The logarithm of the figure is nearly linear in the logarithm of the charge.
        share = math.log(over) / math.log(over / under) if under > 0.0 and over < math.inf else 0.5
        share = min(max(share, CLOSEST), 1.0 - CLOSEST)
        middle = math.expm1((1.0 - share) * math.log1p(low) + share * math.log1p(high))
        found = excess(middle)
        if found <= 1.0:
            high, under = middle, found
        else:
            low, over = middle, found
    return high


def pattern_search(
    objective: Callable[[Point], float], start: Point, steps: Point, moves: int = MOST_MOVES
) -> Point:
    """Return a point of small objective, found by steps along each coordinate.

    Args:
        objective: to minimise; infinite where a point is not allowed.
        start: the first point.
        steps: first length of a step along each coordinate; halved when no step improves.
        moves: most moves.
    """
    best, least = start, objective(start)
    lengths, halvings = steps, 0
    for _ in range(moves):
        moved = False
        for k, length in enumerate(lengths):
            for step in (length, -length):
                point = (*best[:k], best[k] + step, *best[k + 1 :])
                value = objective(point)
                if value < least:
                    best, least, moved = point, value, True
                    break
        if moved:
            continue
        if halvings == HALVINGS:
            break
        halvings += 1
        lengths = tuple(length / 2.0 for length in lengths)
    return best
