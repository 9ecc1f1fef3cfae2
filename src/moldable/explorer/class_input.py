"""A class of jobs as a visitor of the explorer sets it, and the checks of what pages send."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

from moldable.checks import checked_int, positive
from moldable.errors import InputError, SizeLawError, WorkloadError, naming, shown
from moldable.files.notation import parse_arrivals, parse_speedup
from moldable.model.sizes import SizeLaw
from moldable.model.speedup import SpeedUp

MOST_WIDTHS: Final = 1024
LONGEST_NAME: Final = 80
LONGEST_TEXT: Final = 20_000
"""Limits, so that no input takes more than moments to check."""
CLASS_KEYS: Final = ("name", "speedup", "widths", "share", "mean_size", "size", "weight")


@final
@dataclass(frozen=True, slots=True)
class ClassInput:
    """A class of jobs as the visitor sets it.

    Attributes:
        name: of the class.
        speedup: speed-up of each allowed width.
        widths: the allowed widths; None: 1, 2, ..., d.
        share: of the arriving jobs, relative to the shares of the other classes.
        mean_size: mean time of a job on one server.
        size: size law of this class; None: that of the question.
        weight: of the execution times of this class.

    Examples:
        >>> ClassInput("jobs", (1.0, 1.8, 2.5)).curve[3]
        2.5
    """

    name: str
    speedup: tuple[float, ...]
    widths: tuple[int, ...] | None = None
    share: float = 1.0
    mean_size: float = 1.0
    size: str | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= LONGEST_NAME:
            raise WorkloadError(
                f"{shown(self.name)} is not a name of 1 to {LONGEST_NAME} characters; write one "
                f"such as 'training'",
                "name",
            )
        with naming(f"class {self.name!r}"):
            if len(self.speedup) > MOST_WIDTHS:
                raise WorkloadError(
                    f"{len(self.speedup)} widths; the explorer takes at most {MOST_WIDTHS}: leave "
                    f"some out",
                    "speedup",
                )
            if self.widths is not None and len(self.widths) != len(self.speedup):
                raise WorkloadError(
                    f"{len(self.widths)} widths for {len(self.speedup)} speed-ups; give one "
                    f"speed-up for each width",
                    "widths",
                )
            hint = "leave out classes without arrivals"
            for name in ("share", "mean_size", "weight"):
                value = positive(getattr(self, name), name, WorkloadError, hint)
                object.__setattr__(self, name, value)
            if self.size is not None:
                checked_size(self.size)
            curve = self.curve
        # The spelling with the fewest keys, so that equal classes compare equal.
        object.__setattr__(self, "speedup", tuple(curve.speedups.tolist()))
        object.__setattr__(self, "widths", unless_all(curve))

    @property
    def curve(self) -> SpeedUp:
        """The speed-up curve."""
        if self.widths is None:
            return SpeedUp(self.speedup)
        if len(set(self.widths)) < len(self.widths):
            raise WorkloadError(f"{list(self.widths)} has a width twice; keep one", "widths")
        return SpeedUp(dict(zip(self.widths, self.speedup, strict=True)))

    @classmethod
    def from_data(cls, data: object, number: int = 1) -> Self:
        """Check the data of a class; a curve may also be text such as "amdahl:0.95:64"."""
        given = checked_table(data, CLASS_KEYS, f"class {number}")
        name = given.pop("name", f"class {number}")
        with naming(f"class {shown(name)}"):
            if "speedup" not in given:
                raise WorkloadError("there is no speedup; give a list such as [1, 1.8, 2.5]")
            if isinstance(given["speedup"], str):
                given["speedup"], given["widths"] = written_curve(given["speedup"])
            else:
                given["speedup"] = _numbers(given["speedup"], "speedup")
            if given.get("widths") is not None:
                given["widths"] = tuple(
                    checked_int(width, "widths", WorkloadError)
                    for width in checked_items(given["widths"], "widths")
                )
        return cls(name, **given)

    def to_data(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        found: dict[str, Any] = {name: getattr(self, name) for name in CLASS_KEYS}
        found["speedup"] = list(self.speedup)
        found["widths"] = None if self.widths is None else list(self.widths)
        return found


def written_curve(text: str) -> tuple[tuple[float, ...], tuple[int, ...] | None]:
    """Read speed-ups and widths from text such as "1,1.8,2.5"; files are refused.

    Examples:
        >>> written_curve("1=1,4=3.5")
        ((1.0, 3.5), (1, 4))
    """
    curve = parse_speedup(without_files(text, "speedup", WorkloadError))
    if len(curve) > MOST_WIDTHS:
        raise WorkloadError(
            f"{shown(text)} has {len(curve)} widths; the explorer takes at most {MOST_WIDTHS}",
            "speedup",
        )
    return tuple(curve.speedups.tolist()), unless_all(curve)


def checked_size(text: object) -> str:
    """Return the spelling of a size law; files are refused."""
    SizeLaw.parse(found := without_files(text, "size", SizeLawError))
    return found


def checked_arrivals(text: object) -> str:
    """Return the spelling of an arrival process; files are refused."""
    parse_arrivals(found := without_files(text, "arrivals", WorkloadError))
    return found


def without_files(text: object, name: str, error: type[WorkloadError | SizeLawError]) -> str:
    """Return text that names no file: a web page must not read files by name."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise error(f"{shown(text)} is not text of at most {LONGEST_TEXT} characters", name)
    if text.strip() == "-" or ".csv" in text.lower():
        raise error(
            f"{shown(text)} names a file, which the explorer does not read; paste its numbers, or "
            f"start moldable explore with the file",
            name,
        )
    return text


def unless_all(curve: SpeedUp) -> tuple[int, ...] | None:
    """Return the widths of a curve; None if they are 1, 2, ..., d."""
    widths = tuple(curve.widths.tolist())
    return None if widths == tuple(range(1, len(widths) + 1)) else widths


def checked_table(data: object, known: Iterable[str], what: str) -> dict[str, Any]:
    """Return the names and values of a JSON object whose names are all known."""
    if not isinstance(data, Mapping):
        raise InputError(f"{shown(data)} is not {what}; it needs names and values")
    known = tuple(known)
    for key in data:
        if key not in known:
            raise InputError(f"{what}: unknown key {shown(key)}; known: {', '.join(known)}")
    return dict(data)


def checked_items(values: object, name: str, most: int = MOST_WIDTHS) -> list[Any]:
    """Return the entries of a JSON list that is not too long."""
    if not isinstance(values, list | tuple):
        raise InputError(f"{shown(values)} is not a list", name)
    if len(values) > most:
        raise InputError(f"{len(values)} entries; the explorer takes at most {most}", name)
    return list(values)


def _numbers(values: object, name: str) -> tuple[float, ...]:
    return tuple(positive(value, name, WorkloadError) for value in checked_items(values, name))
