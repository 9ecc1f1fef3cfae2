"""The servers that a job may get, from which one number is drawn."""

from __future__ import annotations

from bisect import bisect_right

from moldable.checks import number
from moldable.errors import PolicyError, shortened

Outcomes = tuple[tuple[float, int], ...]
"""Pairs of an end and of granted servers: those of the first end above u. The last end is 1."""


def drawn(outcomes: Outcomes, u: float | None, where: str) -> int:
    """Return the servers granted with the uniform number u; errors begin with `where`."""
    if u is None and len(outcomes) > 1:
        raise PolicyError(
            f"{where}: a width is drawn among {shortened([width for _, width in outcomes])}; pass "
            f"u, a number drawn uniformly from [0, 1), such as u=random.random()"
        )
    u = 0.0 if u is None else number(u, "u", PolicyError)
    if not 0.0 <= u < 1.0:
        raise PolicyError(f"u={u:g} must be at least 0 and below 1; draw it uniformly")
    # The sum may differ from 1 by rounding, which must not leave a gap at the end.
    reached = bisect_right(outcomes, u, key=_end)
    return outcomes[min(reached, len(outcomes) - 1)][1]


def _end(outcome: tuple[float, int]) -> float:
    return outcome[0]
