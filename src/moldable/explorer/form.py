"""The form of the explorer as data: what its fields hold, and the question that they ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.errors import InputError, MoldableError, shown
from moldable.explorer.class_input import (
    LONGEST_TEXT,
    ClassInput,
    checked_arrivals,
    checked_size,
    written_curve,
)
from moldable.explorer.question import MOST_SERVERS, TARGETS, TIMES, Question
from moldable.model.waiting import checked_waiting, written_waiting

COMMON: Final = ("load", "servers", "waiting", "size", "arrivals", "target", "limit", "seed")
"""Fields that the classes share. `target` names a target, `limit` is its value."""
OWN: Final = ("speedup", "share", "mean_size")
"""Fields of each class, with its number: `speedup-0`."""
NO_TARGET: Final = ""
LARGEST_SEED: Final = 2**32


@final
@dataclass(frozen=True)
class Form:
    """What was found in the fields.

    Attributes:
        question: the question; None if a field is wrong.
        problems: the message for each wrong field.
    """

    question: Question | None
    problems: dict[str, str]


def field_names(classes: int) -> list[str]:
    """Return the names of all fields."""
    return [*(f"{name}-{k}" for k in range(classes) for name in OWN), *COMMON]


def field_values(question: Question) -> dict[str, str]:
    """Return what the fields hold for a question."""
    target, limit = question.target or (NO_TARGET, None)
    values = {
        "load": f"{question.load:.6g}",
        "servers": str(question.servers),
        "waiting": str(written_waiting(question.waiting)),
        "size": question.size,
        "arrivals": question.arrivals,
        "target": target,
        "limit": "" if limit is None else f"{limit:.6g}",
        "seed": str(question.seed),
    }
    for k, part in enumerate(question.classes):
        values[f"speedup-{k}"] = curve_text(part)
        values[f"share-{k}"] = f"{part.share:.6g}"
        values[f"mean_size-{k}"] = f"{part.mean_size:.6g}"
    return values


def curve_text(part: ClassInput) -> str:
    """Return a curve as it is written on the command line."""
    if part.widths is None:
        return ",".join(f"{speed:.6g}" for speed in part.speedup)
    pairs = zip(part.widths, part.speedup, strict=True)
    return ",".join(f"{width}={speed:.6g}" for width, speed in pairs)


def read_form(given: Mapping[str, object], start: Question) -> Form:
    """Read the fields.

    Args:
        given: what each field holds; whatever a browser sent.
        start: the question at the start, which has the names and size laws of the classes. What
            was not edited keeps its digits, of which fields show six.
    """
    fields = _Fields(given, field_values(start))
    data: dict[str, Any] = {
        "time_unit": start.time_unit,
        "classes": [
            {
                "name": part.name,
                "size": part.size,
                "weight": part.weight,
                "mean_size": fields.read(f"mean_size-{k}", _positive, part.mean_size),
                "share": fields.read(f"share-{k}", _positive, part.share),
                **fields.read(f"speedup-{k}", _curve, _curve_data(part)),
            }
            for k, part in enumerate(start.classes)
        ],
        "load": fields.read("load", _positive, start.load),
        "servers": fields.read("servers", _servers, start.servers),
        "waiting": fields.read("waiting", checked_waiting, start.waiting),
        "size": fields.read("size", checked_size, start.size),
        "arrivals": fields.read("arrivals", checked_arrivals, start.arrivals),
        "seed": fields.read("seed", _seed, start.seed),
        "target": _target(fields, start),
    }
    if fields.problems:
        return Form(None, fields.problems)
    try:
        return Form(Question.from_data(data), {})
    except MoldableError as error:
        # Each field is right alone. A target does not fit, or a curve is too wide.
        name = "limit" if error.parameter in TARGETS else error.parameter
        return Form(None, {name if name in COMMON else "servers": error.message})


class _Fields:
    """The texts of the fields, and the messages about those that are wrong."""

    def __init__(self, given: Mapping[str, object], first: Mapping[str, str]) -> None:
        self.given, self.first = given, first
        self.problems: dict[str, str] = {}

    def text(self, name: str) -> str:
        value = self.given.get(name)
        found = str(value).strip() if isinstance(value, str | int | float) else ""
        return found[: LONGEST_TEXT + 1]

    def read(self, name: str, read: Callable[[str], Any], start: Any) -> Any:
        """Return the value of a field; that of the start if it is the same or wrong."""
        text = self.text(name)
        if text == self.first[name]:
            return start
        try:
            return read(text)
        except MoldableError as error:
            self.problems[name] = error.message
            return start


def _target(fields: _Fields, start: Question) -> list[object] | None:
    name, limit = fields.text("target"), fields.text("limit")
    if name == NO_TARGET:
        return None
    if start.target is not None and name == start.target[0] and limit == fields.first["limit"]:
        return list(start.target)
    if not limit:
        fields.problems["limit"] = "the target needs a value, such as 0.05"
    if name in TIMES:
        return [name, limit]  # perhaps with a unit, which the scenario converts
    return [name, fields.read("limit", _positive, 1.0)]


def _positive(text: str) -> float:
    """Read a number or a percentage."""
    try:
        value = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        raise InputError(f"{shown(text)} is not a number; write one like 0.8 or 80%") from None
    if not 0.0 < value < math.inf:
        raise InputError(f"{text} must be above 0; write a number like 0.8 or 80%")
    return value


def _servers(text: str) -> int:
    return _whole(text, 1, MOST_SERVERS)


def _seed(text: str) -> int:
    return _whole(text, 0, LARGEST_SEED)


def _whole(text: str, least: int, most: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"{shown(text)} is not a whole number; write one like 16") from None
    if not least <= value <= most:
        raise InputError(f"{text} must be from {least} to {most}")
    return value


def _curve(text: str) -> dict[str, Any]:
    speedup, widths = written_curve(text)
    return {"speedup": list(speedup), "widths": widths}


def _curve_data(part: ClassInput) -> dict[str, Any]:
    return {"speedup": list(part.speedup), "widths": part.widths}
