"""How do answers reach a person or a script?"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from moldable.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


PIECE = 4096
NARROWEST = 80
"""Columns of a page: on a narrower one lines are broken, but no figure is cut."""


def print_json(answer: dict[str, Any]) -> None:
    """Print exactly one JSON object; floats keep every digit."""
    text = json.dumps(answer, allow_nan=False) + "\n"
    # Python drops the rest of a large write without a word when a pipe closes in the middle of it.
    for begin in range(0, len(text), PIECE):
        sys.stdout.write(text[begin : begin + PIECE])
        sys.stdout.flush()


def note(text: str) -> None:
    """Tell a person something that is not part of the answer."""
    sys.stderr.write(f"moldable: note: {printable(text)}\n")


def show_log() -> None:
    """Let what the library has to say while it works appear as notes."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    log = logging.getLogger("moldable")
    log.handlers = [Notes()]
    log.setLevel(logging.INFO)
    log.propagate = False


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[float, int], None] | None]:
    """Show a bar with rate and remaining time on a terminal, and nothing when piped."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=1.0, rate="")
        began = time.monotonic()

        def report(done: float, planned: int) -> None:
            rate = done / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=done, total=planned, rate=f"{rate:.3g}/s")

        yield report


@contextmanager
def status_line() -> Iterator[Callable[[str], None] | None]:
    """Show which step is being done, and for how long, on a terminal; nothing when piped."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    # Steps may name classes, whose names are text, not markup.
    text = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), text, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task("starting", total=None)

        def report(step: str) -> None:
            line.update(task, description=printable(step))

        yield report


def console(narrowest: int = NARROWEST) -> Console:
    """Return the console for plain answers, plain text when piped; at least so many columns."""
    from rich.console import Console

    class PlainConsole(Console):
        """A console that shows the names people give as text, not as markup or control codes."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    found = PlainConsole(highlight=False, markup=False, emoji=False)
    found.width = max(found.width, narrowest)
    return found
