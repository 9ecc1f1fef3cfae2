"""Numbers and recommendations in sentences."""

from __future__ import annotations

from moldable.allocation.frontier import Mix


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.4g} %"


def count(servers: int) -> str:
    """Return a number of servers with its noun."""
    return "1 server" if servers == 1 else f"{servers} servers"


def advice(mix: Mix, jobs: str = "job") -> str:
    """Return the recommendation for arriving jobs."""
    if len(mix.support) == 1:
        return f"give every {jobs} {count(mix.support[0])}"
    (narrow, wide), (share, rest) = mix.support, mix.shares
    return f"give {percent(share)} of the {jobs}s {count(narrow)} and {percent(rest)} {count(wide)}"
