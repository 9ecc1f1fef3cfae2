"""Where a report comes from: the input, the command and the versions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

from moldable.reporting.html.document import Column, Section, Table, Text
from moldable.system.provenance import version
from moldable.text_files import open_regular

BLOCK: Final = 1 << 20
SHOWN: Final = ("moldable", "numpy", "numba", "python", "machine")


@final
@dataclass(frozen=True)
class Source:
    """What was asked, and when.

    Attributes:
        name: of the input.
        sha256: of its content; None for standard input.
        command: the command line.
        date: at which the report was made.
    """

    name: str
    sha256: str | None
    command: str
    date: datetime

    @classmethod
    def of(cls, path: Path, command: str, date: datetime) -> Source:
        """Describe an input file."""
        if str(path) == "-":
            return cls("standard input", None, command, date)
        digest = hashlib.sha256()
        with open_regular(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
        return cls(str(path), digest.hexdigest(), command, date)


def provenance_section(
    source: Source, seed: int | None, versions: Mapping[str, Any] | None = None
) -> Section:
    """Return what is needed to repeat the report."""
    rows = [
        ("input", source.name),
        ("SHA-256 of the input", source.sha256 or "not known: it was read from a pipe"),
        ("command", source.command),
        ("date", source.date.strftime("%Y-%m-%d %H:%M UTC")),
    ]
    if seed is not None:
        rows.append(("random seed", str(seed)))
    known = versions or {"moldable": version("moldable")}
    rows += [(name, str(known[name])) for name in SHOWN if name in known]
    words = "The same input, options and seed give the same report, except for its date."
    columns = (Column("", numeric=False), Column("value", numeric=False))
    table = Table("Input, command and versions", columns, tuple(rows))
    return Section("provenance", "Provenance", (Text(words), table))
