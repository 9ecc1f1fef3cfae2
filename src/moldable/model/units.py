"""Units of time: reading and writing durations such as "6h" and rates such as "5/h"."""

from __future__ import annotations

import re
from typing import Final

from moldable.checks import Kind, number
from moldable.errors import WorkloadError, shown, suggest

SECONDS: Final = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
"""The units and their lengths in seconds."""
SYMBOLS: Final = {"seconds": "s", "minutes": "min", "hours": "h", "days": "d"}
SPELLINGS: Final = {
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("m", "min", "mins", "minute"),
    "hours": ("h", "hr", "hrs", "hour"),
    "days": ("d", "day"),
}
_UNIT_OF: Final = {name: name for name in SECONDS} | {
    spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings
}
# Nothing is given back to an earlier part of a pattern, so that matching takes linear time.
_FIGURE: Final = r"\s*+([-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[-+]?\d++)?+)\s*+"
_DURATION: Final = re.compile(rf"{_FIGURE}([a-z]*+)\s*+", re.ASCII | re.IGNORECASE)
_RATE: Final = re.compile(
    rf"{_FIGURE}(?:(?:jobs?\s*+)?+(?:/|per\b)\s*+([a-z]++)\s*+)?+", re.ASCII | re.IGNORECASE
)


def checked_unit(unit: object) -> str | None:
    """Return the full name of a unit of time; None stays None."""
    if unit is None:
        return None
    known = _UNIT_OF.get(unit.strip().lower()) if isinstance(unit, str) else None
    if known is None:
        raise WorkloadError(
            f"{shown(unit)} is not a unit of time; {suggest(str(unit), SECONDS)}", "time_unit"
        )
    return known


def parse_duration(value: object, own: str | None, name: str, error: Kind) -> float:
    """Return a duration in the scenario's own unit.

    Args:
        value: text with a unit, such as "6h" or "90 min"; without one it is in the own unit.
        own: the scenario's unit; None if it has none.
        name: of the parameter, for errors.
        error: the class of errors.
    """
    example = 'a duration such as "6h" or "90 min"'
    found, given, wanted = _parts(value, own, name, error, _DURATION, example)
    return found * given / wanted


def parse_rate(value: object, own: str | None, name: str, error: Kind) -> float:
    """Return a rate per unit of time of the scenario.

    Args:
        value: text with a unit, such as "5/h" or "120 per day"; without one it is per own unit.
        own: the scenario's unit; None if it has none.
        name: of the parameter, for errors.
        error: the class of errors.
    """
    example = 'a rate such as "5/h" or "120/day"'
    found, given, wanted = _parts(value, own, name, error, _RATE, example)
    return found * wanted / given


def unit_in(*texts: object) -> str | None:
    """Return the unit of the first duration or rate that is text with a known unit."""
    for text in texts:
        match = isinstance(text, str) and (_RATE.fullmatch(text) or _DURATION.fullmatch(text))
        if match and (unit := _UNIT_OF.get((match[2] or "").lower())):
            return unit
    return None


def duration(figure: object, unit: str | None) -> str:
    """Write a time that is already rounded, with its unit if it has one."""
    return f"{figure}" if unit is None else f"{figure} {SYMBOLS[unit]}"


def rate(figure: object, unit: str | None) -> str:
    """Write a number of jobs per unit of time."""
    return f"{figure} jobs per unit of time" if unit is None else f"{figure} jobs/{SYMBOLS[unit]}"


def unit_name(unit: str | None) -> str:
    """Write the unit of time after "per"."""
    return "unit of time" if unit is None else SYMBOLS[unit]


def unit_in_heading(unit: str | None) -> str:
    """Write the unit in brackets, for headings and labels of axes; nothing without a unit."""
    return "" if unit is None else f" ({SYMBOLS[unit]})"


def _parts(  # noqa: PLR0917 - a value, its place and its form
    value: object, own: str | None, name: str, error: Kind, form: re.Pattern[str], example: str
) -> tuple[float, float, float]:
    """Return the number, and the lengths of its unit and of the own one."""
    if not isinstance(value, str):
        return number(value, name, error), 1.0, 1.0
    match = form.fullmatch(value)
    if match is None:
        raise error(f"{shown(value)} is not {example}; write that, or a number", name)
    figure, word = float(match[1]), match[2]
    if not word:
        return figure, 1.0, 1.0
    unit = _UNIT_OF.get(word.lower())
    if unit is None:
        raise error(f"{shown(value)} has an unknown unit; {suggest(word, SECONDS)}", name)
    if own is None:
        raise error(
            f'{shown(value)} has a unit, but the scenario has none; add time_unit = "{unit}" to '
            f"the workload file, or write a number without a unit",
            name,
        )
    if unit == own:  # multiplying and dividing by its length would not be exact
        return figure, 1.0, 1.0
    return figure, SECONDS[unit], SECONDS[own]
