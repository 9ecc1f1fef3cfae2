"""Write the manual page `man/moldable.1` from the help of all commands.

`make man` runs this. The wheel installs the page as share/man/man1/moldable.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer
from typer.main import get_command

from moldable import __version__
from moldable.cli import app

PAGE: Final = Path(__file__).parents[1] / "man" / "moldable.1"
UNWRAPPED: Final = "\b"
"""Begins a paragraph whose lines stay as they are, such as examples."""
SECTIONS: Final = {
    "Exit status": (
        ("0", "The result was printed, or the reader closed the pipe."),
        ("1", "moldable doctor found a problem, or moldable live report --check differences."),
        ("2", "Invalid input; the reason is on standard error."),
        ("130", "Interrupted; a line on standard error tells what was kept."),
        (
            "others",
            "moldable run ends with the exit code of its command, or with 75 if it is lost.",
        ),
    ),
    "Environment": (
        ("COLUMNS", "Width of the output."),
        ("NO_COLOR", "If set, no colours are used."),
        ("NUMBA_CACHE_DIR", "Folder for compiled kernels, if the default cannot be written to."),
        ("XDG_RUNTIME_DIR", "Folder in which jobs of moldable run are recorded."),
    ),
}
SEE_ALSO: Final = (
    r"sbatch(1), squeue(1), scontrol(1). \fBmoldable doctor\fR checks an installation."
)


def page() -> str:
    """Return the manual page."""
    group: Any = get_command(app)
    lines = [
        f'.TH MOLDABLE 1 "" "moldable {__version__}" "User Commands"',
        ".SH NAME",
        r"moldable \- server allocation for moldable parallel jobs",
        ".SH SYNOPSIS",
        r".B moldable",
        r".I COMMAND",
        r"[\fIOPTIONS\fR]",
        ".SH DESCRIPTION",
        *_description(group.help),
        ".SH OPTIONS",
        *_parameters(group),
        ".SH COMMANDS",
        *(line for path, command in _commands(group) for line in _command(path, command)),
    ]
    for title, entries in SECTIONS.items():
        lines += [f".SH {title.upper()}"]
        lines += [line for name, text in entries for line in (".TP", _bold(name), _text(text))]
    return "\n".join([*lines, ".SH SEE ALSO", SEE_ALSO]) + "\n"


def _commands(group: Any, path: tuple[str, ...] = ("moldable",)) -> Iterator[tuple[str, Any]]:
    """Yield the commands in the order of the help; a group comes before its own commands."""
    for name, command in group.commands.items():
        words = (*path, name)
        yield " ".join(words), command
        if hasattr(command, "commands"):
            yield from _commands(command, words)


def _command(path: str, command: Any) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(typer.Context(command)))
    yield f'.SS "{_text(path)} {_text(usage)}"'
    yield from _description(command.help)
    yield from _parameters(command)


def _parameters(command: Any) -> Iterator[str]:
    """Yield the arguments and options that have a help text."""
    for parameter in command.params:
        record = parameter.get_help_record(typer.Context(command))
        if record is not None and record[1]:
            yield from (".TP", _bold(record[0]), _text(record[1]))


def _description(help_text: str) -> Iterator[str]:
    """Yield paragraphs; the lines of examples are kept."""
    for number, paragraph in enumerate(re.split(r"\n\n+", help_text.strip())):
        if number:
            yield ".PP"
        if paragraph.startswith(UNWRAPPED):
            lines = paragraph.lstrip(UNWRAPPED).strip("\n").splitlines()
            yield from (".nf", *map(_text, lines), ".fi")
        else:
            yield _text(" ".join(paragraph.split()))


def _bold(text: str) -> str:
    return rf"\fB{_text(text)}\fR"


def _text(text: str) -> str:
    """Escape what roff would obey: backslashes, hyphens, and dots and quotes that begin a line."""
    found = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{found}" if found.startswith((".", "'")) else found


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(Path.cwd())}")
