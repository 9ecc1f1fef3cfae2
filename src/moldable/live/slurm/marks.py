"""Marks in the comments of jobs, in which Slurm keeps the decisions.

A mark is `moldable:CLASS`, followed by fields such as `;shape=threads;width=4;idle=9`:

- no width: the job has not been granted servers;
- `granting=4`: its width is being set; Slurm may have released it or not;
- `width=4`: it was granted 4 servers and released;
- `advice=4`: in the mode advise, what it would have been granted;
- `passed=1`: job_submit.lua had put it on hold, and it was released as it was submitted;
- `seq`: the number of the grant, where job_submit.lua has made it;
- `shape`: how its width is set; `idle`, `waiting`: what the policy saw; `plan`: the plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self, final

from moldable.errors import InputError, shown

PREFIX: Final = "moldable:"
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MARK: Final = re.compile(
    r"moldable:([A-Za-z0-9_.-]{1,64})((?:;[a-z]{1,16}=[A-Za-z0-9_.-]{0,64})*)"
)
_DIGITS: Final = 9
_STATES: Final = ("granting", "width", "advice", "passed")


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a job: its class and the other fields as text."""

    job_class: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, comment: str) -> Self | None:
        """Read a comment; None if it is not a mark in every character."""
        found = _MARK.fullmatch(comment)
        if found is None:
            return None
        pairs = (part.split("=") for part in found[2].split(";")[1:])
        return cls(found[1], {key: value for key, value in pairs})  # noqa: C416 - pairs are lists

    def number(self, key: str) -> int | None:
        """Return the value of a field if it is a number."""
        text = self.fields.get(key, "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None

    def stated(self, state: str, width: int, **others: object) -> Self:
        """Return the mark with a width in one of the states, and with other fields."""
        kept = {key: value for key, value in self.fields.items() if key not in _STATES}
        told = {key: str(value) for key, value in others.items() if value is not None}
        shape = {"shape": kept.pop("shape")} if "shape" in kept else {}
        return type(self)(self.job_class, {**shape, state: str(width), **kept, **told})

    def __str__(self) -> str:
        fields = "".join(f";{key}={value}" for key, value in self.fields.items())
        return f"{PREFIX}{self.job_class}{fields}"


def checked_class(name: str) -> str:
    """Return the name of a class if it can be part of a mark."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"class {shown(name)} cannot be written into comments of Slurm; a name has at most 64 "
            f"letters A to Z, digits, '_', '-' and '.': rename the class in the workload file"
        )
    return name
