"""The state of an installation as text."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from moldable.installation.diagnosis import Diagnosis
from moldable.reporting.tables import plain_table

WORDS: Final = {"ok": "ok", "absent": "-", "problem": "PROBLEM"}


def show_diagnosis(console: Console, found: Diagnosis) -> None:
    """Print versions, checks and what to do next."""
    versions = dict(found.versions)
    console.print(f"moldable {versions.pop('moldable')}")
    console.print(", ".join(f"{name} {version}" for name, version in versions.items()))
    console.print(", ".join(filter(None, found.machine.values())))
    console.print()
    table = plain_table("check", "state")
    table.add_column("found", overflow="fold")  # long details go on in the next line
    for check in found.checks:
        table.add_row(check.name, WORDS[check.state], check.detail)
    console.print(table)
    if found.works:
        console.print("Results can be computed here; parts marked - are optional.")
    else:
        console.print("Results cannot be computed here: see the lines marked PROBLEM.")
    console.print(
        "In a bug report, give the output of moldable doctor --json, the command and its output."
    )
