"""Errors of the library, and helpers for their messages.

Every exception raised on purpose descends from one class::

    MoldableError (ValueError)
    |-- SpeedUpError, RegimeError, SizeLawError, WorkloadError, PolicyError, SimulationError
    |-- ChainError
    |   `-- NearlyDecomposableError
    |-- UnstableError
    |   `-- NearlySaturatedError
    `-- ControlError, InfeasibleError, LimitError, ResultsError, InputError, SlurmError

A message states the value, the rule it violates and a way to correct it. An
error about one argument carries its name in `parameter`, which the command line replaces by the
name of the option. Messages may quote text from files, so long ones are shortened and control
characters, which a terminal would obey, are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = [
    "ChainError",
    "ControlError",
    "InfeasibleError",
    "InputError",
    "LimitError",
    "MoldableError",
    "NearlyDecomposableError",
    "NearlySaturatedError",
    "PolicyError",
    "RegimeError",
    "ResultsError",
    "SimulationError",
    "SizeLawError",
    "SlurmError",
    "SpeedUpError",
    "UnstableError",
    "WorkloadError",
]

LONGEST: Final = 1000
"""Maximum length of a message; the beginning and the end of a longer one are kept."""
_BEGINNING, _END = 600, 390


def printable(text: str) -> str:
    """Escape control and other invisible characters, as in `repr`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def cut(text: str) -> str:
    """Shorten a message in the middle: it begins with the value and ends with the correction."""
    return text if len(text) <= LONGEST else f"{text[:_BEGINNING]} [...] {text[-_END:]}"


def shown(value: object, most: int = 80) -> str:
    """Return the beginning of a value's `repr`, or its type if `repr` fails."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= most else f"{text[: most - 3]}..."


class MoldableError(ValueError):
    """Base class of all errors raised on purpose.

    Args:
        message: the value, the rule it violates and a way to correct it.
        parameter: name of the argument; the error then reads `parameter=message`.

    Examples:
        >>> try:
        ...     SpeedUp([2.0])
        ... except MoldableError as error:
        ...     print(str(error)[:34])
        s(1)=2, but speed-ups are relative
    """

    def __init__(self, message: str = "", parameter: str | None = None) -> None:
        self.parameter = parameter
        self.message = cut(printable(message))
        super().__init__(
            self.message if parameter is None else cut(printable(f"{parameter}={message}"))
        )


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Begin the messages of errors with the place that they are about."""
    try:
        yield
    except MoldableError as error:
        raise type(error)(f"{where}: {error}") from None


class SpeedUpError(MoldableError):
    """An invalid speed-up curve: empty, not finite, repeated widths."""


class RegimeError(MoldableError):
    """A regime whose load is outside (0, 1)."""


class SizeLawError(MoldableError):
    """An unknown distribution of job sizes, or invalid parameters of one."""


class WorkloadError(MoldableError):
    """An invalid workload, class, arrival process or scenario."""


class PolicyError(MoldableError):
    """An invalid policy, or a policy that returned an invalid decision."""


class SimulationError(MoldableError):
    """Invalid options of a simulation, or a run that failed its own checks."""


class ChainError(MoldableError):
    """An exact solution that is too large to compute, or that failed its own checks."""


class NearlyDecomposableError(ChainError):
    """A nearly decomposable chain, whose error cannot be bounded."""


class UnstableError(MoldableError):
    """A queue that grows without limit: jobs arrive as fast as the policy can serve them."""


class NearlySaturatedError(UnstableError):
    """A queue that changes so slowly that a short simulation does not show how long jobs wait."""


class ControlError(MoldableError):
    """An invalid target, or one that no policy of the family reaches."""


class InfeasibleError(MoldableError):
    """A load too high for any choice of widths."""


class LimitError(MoldableError):
    """A limit or bound outside the assumptions of its theorem."""


class ResultsError(MoldableError):
    """A results folder that belongs to another run, is damaged or cannot be written."""


class InputError(MoldableError):
    """A file or a command-line value that cannot be read."""


class SlurmError(MoldableError):
    """A program of Slurm that failed, or whose output cannot be read."""


def shortened(items: Iterable[object], most: int = 12) -> str:
    """Join items with commas; a long list is abbreviated."""
    words = [str(item) for item in items]
    if len(words) > most:
        words = [*words[: most - 2], "...", words[-1]]
    return ", ".join(words)


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a hint for the end of a message: the most similar known word, then all of them."""
    import difflib  # noqa: PLC0415 - slow to import, and most commands meet no error

    names = sorted(known)
    written = dict.fromkeys((str(word), str(word).lower()))
    close = [n for w in written for n in difflib.get_close_matches(w, names, n=1, cutoff=0.5)]
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(names)}"
