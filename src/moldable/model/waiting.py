"""Waiting places: how many jobs may wait for servers."""

from __future__ import annotations

import math
from typing import Final

from moldable.checks import number
from moldable.errors import WorkloadError, shown

UNLIMITED: Final = "unlimited"
MOST_PLACES: Final = 10**9
RULE: Final = f"must be a whole number from 0 to {MOST_PLACES:g}, or 'unlimited'"


def checked_waiting(waiting: object) -> float:
    """Return the number of waiting places, an integer or infinity.

    Text is read as in files and on the command line: "unlimited" or a whole number.
    """
    places = _parsed(waiting) if isinstance(waiting, str) else waiting
    found = number(places, "waiting", WorkloadError)
    if found == math.inf:
        return found
    if not (found.is_integer() and 0 <= found <= MOST_PLACES):
        raise WorkloadError(f"{shown(waiting)} {RULE}", "waiting")
    return int(found)


def written_waiting(waiting: float) -> int | str:
    """Return the number of waiting places as files have it."""
    return UNLIMITED if math.isinf(waiting) else int(waiting)


def refuse_waiting(waiting: float, what: str, fix: str = "take waiting=0") -> None:
    """Refuse waiting places where only jobs that are lost are handled."""
    if waiting:
        raise WorkloadError(
            f"{written_waiting(waiting)}: {what} is defined for jobs that are lost "
            f"if they find no server; {fix}",
            "waiting",
        )


def _parsed(text: str) -> float:
    word = text.strip().lower()
    if word in {UNLIMITED, "inf"}:
        return math.inf
    try:
        return float(word)
    except ValueError:
        raise WorkloadError(f"{shown(text)} {RULE}", "waiting") from None
