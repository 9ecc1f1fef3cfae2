"""`moldable doctor`: what is installed, and what of it works."""

from __future__ import annotations

import typer

from moldable.cli import output
from moldable.cli.options import JsonOption


def doctor(*, json: JsonOption = False) -> None:
    """Check this installation.

    Shows versions, what a bug report needs, and whether the compiler, Slurm and optional packages
    can be used. The exit code is 1 if no results can be computed. Nothing is changed.

    \b
    Examples:
      moldable doctor
      moldable doctor --json
    """
    from moldable.installation.diagnosis import diagnose

    found = diagnose()
    if json:
        output.print_json(found.to_dict())
    else:
        from moldable.reporting.diagnosis_text import show_diagnosis

        show_diagnosis(output.console(), found)
    if not found.works:
        raise typer.Exit(1)
