"""Is this value a number that can be computed with?

Values beyond SMALLEST and LARGEST are refused: no cluster needs them, and products of a few of them
would leave the range of double precision.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

from moldable.errors import InputError, MoldableError, shown

SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
MOST_SERVERS: Final = 10**15

Kind = type[MoldableError]
T = TypeVar("T")


def number(value: object, name: str, error: Kind) -> float:
    """Return the value as a float, or say that it is none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise error(f"{name}={shown(value)} is not a number; write it like 2 or 0.5")
    try:
        return float(value)
    except OverflowError:
        raise error(f"{name} is far too large; it must be at most {LARGEST:g}") from None


def positive(value: object, name: str, error: Kind, hint: str = "correct it") -> float:
    """Return a finite number above 0."""
    found = number(value, name, error)
    if not SMALLEST <= found <= LARGEST:
        raise error(
            f"{name}={found:g} must be finite and above 0 (between {SMALLEST:g} and {LARGEST:g}); "
            f"{hint}"
        )
    return found


def whole(value: object, name: str, error: Kind) -> int:
    """Return a whole number of servers from 1 on."""
    found = number(value, name, error)
    if not found.is_integer():
        raise error(f"{name} {value} is not a whole number; servers cannot be split: round it")
    if found < 1:
        raise error(f"{name} {value} must be at least 1: a job needs a server")
    if found > MOST_SERVERS:
        raise error(f"{name} is far too large; it must be at most {MOST_SERVERS:g}")
    return int(value) if isinstance(value, numbers.Integral) else int(found)


def check_type(value: object, wanted: type, name: str, error: Kind, example: str) -> None:
    """Refuse a value that is not of the wanted type; the example shows how to make one."""
    if not isinstance(value, wanted):
        raise error(
            f"{name} is of type {type(value).__name__}, not {wanted.__name__}; pass {example}"
        )


def listed(values: Iterable[T], name: str, error: Kind, example: str) -> list[T]:
    """Return the values as a list, or refuse what is none."""
    try:
        return list(values)
    except TypeError:
        raise error(
            f"{name} is of type {type(values).__name__}, which is not a list; pass {example}"
        ) from None


def checked_path(path: object) -> Path:
    """Return the path of a file, or refuse what is no name."""
    if not isinstance(path, str | Path):
        raise InputError(f"{path!r} is no name of a file; write one, such as 'policy.json'")
    return Path(path)
