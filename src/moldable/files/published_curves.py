"""Published measured curves, with their sources.

The numbers are quoted from public repositories. Some break the paper's assumptions: they dip, grow
super-linearly or have gaps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, final

from moldable.checks import check_type
from moldable.errors import InputError, suggest
from moldable.model.speedup import SpeedUp

TOLERANCE: Final = 0.05
"""Relative violation of an assumption that is within the spread of measurements."""


@final
@dataclass(frozen=True, slots=True)
class PublishedCurve:
    """A measured curve and its source.

    Attributes:
        name: the name for `curve:NAME`.
        application: the program.
        machine: where it ran.
        unit: what a server is, such as "GPU".
        configuration: how it ran, and what the values are.
        kind: "time", "throughput" or "speedup".
        values: {width: value} as published.
        repository: the public repository, `owner/name` on GitHub.
        commit: its commit.
        path: file or folder in the repository.
        terms: terms of the source.

    Examples:
        >>> published_curve("vasp-skylake").speedup.is_concave()
        True
    """

    name: str
    application: str
    machine: str
    unit: str
    configuration: str
    kind: str
    values: dict[int, float]
    repository: str
    commit: str
    path: str
    terms: str

    @property
    def speedup(self) -> SpeedUp:
        """The curve."""
        if self.kind == "speedup":
            return SpeedUp(self.values)
        if self.kind == "throughput":
            return SpeedUp.from_times({w: 1.0 / value for w, value in self.values.items()})
        return SpeedUp.from_times(self.values)

    @property
    def source(self) -> str:
        """The source in one line."""
        path = f", {self.path}" if self.path else ""
        return f"github.com/{self.repository} at {self.commit[:8]}{path}"

    @property
    def within_assumptions(self) -> bool:
        """Whether the paper's assumptions hold within 5 %."""
        return not self.speedup.violations(TOLERANCE)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        curve = self.speedup
        return {
            "name": self.name,
            "application": self.application,
            "machine": self.machine,
            "unit": self.unit,
            "configuration": self.configuration,
            "kind": self.kind,
            "values": {str(width): value for width, value in self.values.items()},
            "speedup": dict(
                zip(map(str, curve.widths.tolist()), curve.speedups.tolist(), strict=True)
            ),
            "increasing": curve.is_increasing(),
            "concave": curve.is_concave(),
            "within_5_percent": self.within_assumptions,
            "repository": self.repository,
            "commit": self.commit,
            "path": self.path,
            "terms": self.terms,
        }


def published_curves() -> tuple[PublishedCurve, ...]:
    """Return all published curves, by name.

    Examples:
        >>> len(published_curves())
        12
    """
    return _loaded()


@cache
def _loaded() -> tuple[PublishedCurve, ...]:
    data = json.loads(files("moldable.files").joinpath("published_curves.json").read_text("utf-8"))
    found = []
    for entry in data:
        values = dict(zip(entry.pop("widths"), entry.pop("values"), strict=True))
        found.append(PublishedCurve(values=values, **entry))
    return tuple(sorted(found, key=lambda curve: curve.name))


def published_curve(name: str) -> PublishedCurve:
    """Return the published curve of this name.

    Examples:
        >>> published_curve("bert-aws-t4").machine
        'AWS, 4 T4 GPUs per node'
    """
    check_type(name, str, "name", InputError, "a name such as 'bert-aws-t4'")
    known = {curve.name: curve for curve in published_curves()}
    if name.strip().lower() not in known:
        raise InputError(f"unknown curve {name!r}; {suggest(name, known)}")
    return known[name.strip().lower()]
