"""Checks of arguments: numbers, choices, types, lists and paths.

Numbers beyond SMALLEST and LARGEST are refused, so that products of a few of them stay within the
range of double precision.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from moldable.errors import InputError, MoldableError, shown, suggest
from moldable.text_files import STANDARD_INPUT

SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
MOST_SERVERS: Final = 10**15

Kind = type[MoldableError]
T = TypeVar("T")


def number(value: object, name: str, error: Kind) -> float:
    """Return the value as a float."""
    if type(value) is float:  # the usual case; the abstract class takes ten times as long
        return value
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        quotes = " without quotes" if isinstance(value, str) else ""
        raise error(f"{shown(value)} is not a number; write it{quotes} like 2 or 0.5", name)
    try:
        return float(value)
    except OverflowError:
        raise error(f"{shown(value)} is too large; it must be at most {LARGEST:g}", name) from None


def within(  # noqa: PLR0917 - a range and its explanation
    value: object, name: str, error: Kind, low: float, high: float, hint: str = "correct it"
) -> float:
    """Return a number from `low` to `high`."""
    found = number(value, name, error)
    if not low <= found <= high:
        raise error(f"{found:g} must be from {low:g} to {high:g}; {hint}", name)
    return found


def fraction(value: object, name: str, error: Kind) -> float:
    """Return a number between 0 and 1, both excluded."""
    found = number(value, name, error)
    if not 0.0 < found < 1.0:
        raise error(f"{found:g} must lie between 0 and 1, such as 0.01", name)
    return found


def positive(value: object, name: str, error: Kind, hint: str = "correct it") -> float:
    """Return a finite number above 0."""
    found = number(value, name, error)
    if not SMALLEST <= found <= LARGEST:
        raise error(
            f"{found:g} must be finite and above 0 (between {SMALLEST:g} and {LARGEST:g}); {hint}",
            name,
        )
    return found


def checked_int(
    value: object, name: str, error: Kind, least: int = 1, most: float = MOST_SERVERS
) -> int:
    """Return an integer from `least` to `most`; the default range is that of server counts."""
    if type(value) is int and least <= value <= most:
        return value
    found = number(value, name, error)
    if not (found.is_integer() and least <= found <= most):
        given = shown(value) if isinstance(value, numbers.Integral) else f"{found:.12g}"
        raise error(f"{given} must be a whole number from {least} to {most:g}", name)
    return int(value) if isinstance(value, numbers.Integral) else int(found)


def choice(value: object, known: Collection[str], name: str, error: Kind) -> str:
    """Return the value if it is one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise error(f"{shown(value)} is unknown; {suggest(str(value), known)}", name)
    return value


def check_type(value: object, wanted: type, name: str, error: Kind, example: str) -> None:
    """Raise if the value does not have the wanted type; the example shows how to make one."""
    if not isinstance(value, wanted):
        raise error(
            f"{shown(value)} is of type {type(value).__name__}, not {wanted.__name__}; "
            f"pass {example}",
            name,
        )


def as_list(values: Iterable[T], name: str, error: Kind, example: str) -> list[T]:
    """Return the values as a list; text is refused."""
    with suppress(TypeError):
        if not isinstance(values, str):
            return list(values)
    raise error(f"{name} is of type {type(values).__name__}, which is not a list; pass {example}")


def as_pairs(values: Iterable[Any], name: str, error: Kind, example: str) -> list[tuple[Any, Any]]:
    """Return the values, which must be pairs, as a list of tuples."""
    found = []
    for pair in as_list(values, name, error, example):
        with suppress(TypeError, ValueError):
            first, second = pair
            found.append((first, second))
            continue
        raise error(f"{name}: {shown(pair)} is not a pair; pass {example}")
    return found


def checked_path(path: object) -> Path:
    """Return the path as a `Path`; "-" is standard input."""
    if not isinstance(path, str | Path):
        raise InputError(f"{path!r} is not a file name; write one, as text or as a Path")
    return STANDARD_INPUT if str(path) == "-" else Path(path)
