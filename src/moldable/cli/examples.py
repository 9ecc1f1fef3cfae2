"""`moldable examples`: the example files of the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import typer

from moldable.cli import output
from moldable.cli.options import JsonOption
from moldable.errors import InputError
from moldable.text_files import write_whole

TITLES: Final = {
    "slurm-week.txt": "Job log of a week on 64 GPUs, as sacct --parsable2 prints it (generated).",
}
"""Titles of files whose format has no comments."""


def examples(
    *,
    copy: Annotated[
        Path | None,
        typer.Option("--copy", metavar="DIR", help="Copy the files to this folder."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that exist already.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """List the example files, or copy them.

    \b
    Examples:
      moldable examples
      moldable examples --copy examples --force
    """
    found = {
        file.name: file.read_bytes() for file in files("moldable").joinpath("examples").iterdir()
    }
    if copy is None:
        titles = {name: TITLES.get(name) or _title(found[name]) for name in sorted(found)}
        _show(titles, json=json)
        return
    if not force and (present := [name for name in sorted(found) if (copy / name).exists()]):
        raise InputError(
            f"--copy {copy} already has {', '.join(present)}; choose another folder, or add --force"
        )
    try:
        copy.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"--copy {copy} cannot be created: {reason}; choose another") from None
    for name, content in sorted(found.items()):
        write_whole(copy / name, content, "--copy")
    if json:
        output.print_json({"copied": [str(copy / name) for name in sorted(found)]})
    else:
        typer.echo("\n".join(str(copy / name) for name in sorted(found)))


def _show(titles: dict[str, str], *, json: bool) -> None:
    if json:
        output.print_json({"examples": titles})
        return
    for name, title in titles.items():
        typer.echo(f"{name:16}{title}")
    typer.echo("Copy them with: moldable examples --copy DIR")


def _title(content: bytes) -> str:
    """Return the comment in the first line of a file."""
    return content.decode().partition("\n")[0].lstrip("# ")
