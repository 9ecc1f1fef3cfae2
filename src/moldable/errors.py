"""Which mistakes can the library tell apart?

Every exception raised on purpose descends from one root, so that a caller may catch as
widely or as narrowly as it likes::

    MoldableError (ValueError)
    |-- SpeedUpError        a curve that is not a curve: empty, NaN, repeated widths ...
    |-- RegimeError         alpha, beta and n that give no load in (0, 1)
    |-- SizeLawError        an unknown law of job sizes, or parameters it cannot have
    |-- WorkloadError       classes that cannot be: negative rates, no class at all ...
    |-- PolicyError         a policy whose decisions are not decisions
    |-- SimulationError     a run that was asked for in an impossible way, or failed its own checks
    |-- ChainError          an exact answer too large to have, or one that failed its own checks
    |   `-- NearlyDecomposableError   a chain whose error cannot be bounded
    |-- ControlError        a target that no policy of a family reaches, or that is no target
    |-- InfeasibleError     more work than the servers can do, whatever the widths
    |-- LimitError          a bound or fluid path asked where the theory does not reach
    |-- ResultsError        a folder of results that is another run's, or cannot be written
    `-- InputError          a file or a command-line value that cannot be read

Messages name the value, the rule it breaks and a way to mend it. An error about one argument
carries its name in `parameter`, so that the command line can name the option instead. Messages may
quote names and values from files, so they are cut where they are long, and control characters,
which a terminal would obey, are escaped.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

LONGEST: Final = 1000
"""Characters of a message; of a longer one the beginning and the end are kept."""
_BEGINNING, _END = 600, 390


def printable(text: str) -> str:
    """Escape control and other invisible characters, as in `repr`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def cut(text: str) -> str:
    """Shorten a message: the value stands at its beginning, the way to mend it at its end."""
    return text if len(text) <= LONGEST else f"{text[:_BEGINNING]} [...] {text[-_END:]}"


def shown(value: object, most: int = 80) -> str:
    """Return the beginning of a value's `repr`, or its type: an integer may be too long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= most else f"{text[: most - 3]}..."


class MoldableError(ValueError):
    """The root of every error raised on purpose.

    Args:
        message: the value, the rule it breaks and a way to mend it.
        parameter: the argument that has the value. The error then reads `parameter=message`.
    """

    def __init__(self, message: str = "", parameter: str | None = None) -> None:
        self.parameter = parameter
        self.message = cut(printable(message))
        super().__init__(
            self.message if parameter is None else cut(printable(f"{parameter}={message}"))
        )


class SpeedUpError(MoldableError):
    """A speed-up curve that cannot be one."""


class RegimeError(MoldableError):
    """A traffic regime whose load leaves (0, 1)."""


class SizeLawError(MoldableError):
    """A law of job sizes that is unknown or has impossible parameters."""


class WorkloadError(MoldableError):
    """A workload that cannot exist."""


class PolicyError(MoldableError):
    """A policy whose decisions are not decisions."""


class SimulationError(MoldableError):
    """A run that was asked for in an impossible way, or that failed its own checks."""


class ChainError(MoldableError):
    """An exact answer that is too large to be had, or that failed its own checks."""


class NearlyDecomposableError(ChainError):
    """A chain that moves between parts of its states too rarely for an error bound."""


class ControlError(MoldableError):
    """A target that was asked for in an impossible way, or that cannot be reached."""


class InfeasibleError(MoldableError):
    """A load that no choice of widths can carry."""


class LimitError(MoldableError):
    """A limit or bound asked for outside the reach of its theory."""


class ResultsError(MoldableError):
    """A folder of results that belongs to another run, is damaged or cannot be written."""


class InputError(MoldableError):
    """A file or a command-line value that cannot be read."""


def shortened(items: Iterable[object], most: int = 12) -> str:
    """Join a list, cut in the middle when it is long."""
    words = [str(item) for item in items]
    if len(words) > most:
        words = [*words[: most - 2], "...", words[-1]]
    return ", ".join(words)


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known words there are, the likely one first: the end of many messages."""
    names = sorted(known)
    close = difflib.get_close_matches(str(word), names, n=1, cutoff=0.5)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(names)}"
