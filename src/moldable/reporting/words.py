"""How are numbers said in a sentence?"""

from __future__ import annotations

from collections.abc import Iterable

from moldable.frontier import Mix


def percent(share: float) -> str:
    """Write a share the way people say it."""
    return f"{100 * share:.4g} %"


def listing(items: Iterable[object], most: int = 12) -> str:
    """Join a list, shortened when it is long."""
    words = [str(item) for item in items]
    if len(words) > most:
        words = [*words[: most - 2], "...", words[-1]]
    return ", ".join(words)


def count(servers: int) -> str:
    """Write a number of servers."""
    return "1 server" if servers == 1 else f"{servers} servers"


def advice(mix: Mix, jobs: str = "job") -> str:
    """Say what to do with arriving jobs."""
    if len(mix.support) == 1:
        return f"give every {jobs} {count(mix.support[0])}"
    (narrow, wide), (share, rest) = mix.support, mix.shares
    return f"give {percent(share)} of the {jobs}s {count(narrow)} and {percent(rest)} {count(wide)}"
