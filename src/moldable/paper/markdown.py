"""How do results read in Markdown?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from moldable.paper.experiment import Result
from moldable.system.performance import Estimate


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; every row has as many entries as the header."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def estimate(part: Result, name: str) -> str:
    """Return a value with no more digits than its interval supports."""
    interval = part[f"{name}_interval"]
    if interval is None:
        return str(Estimate(part[name], None))
    low, high = interval
    return str(Estimate(part[name], (low, high)))
