"""Output of the commands: answers to stdout, notes and progress to stderr."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

from moldable.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


PIECE: Final = 4096
NARROWEST: Final = 60
"""Least number of columns of the output; names and numbers are never cut."""
INTERVAL: Final = 5.0
"""Seconds between two lines of progress when stderr is not a terminal."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""


def print_json(answer: dict[str, Any]) -> None:
    """Print exactly one JSON object; floats keep every digit."""
    text = json.dumps(answer, allow_nan=False) + "\n"
    # Python silently drops the rest of a large write if the pipe closes in the middle of it.
    for begin in range(0, len(text), PIECE):
        sys.stdout.write(text[begin : begin + PIECE])
        sys.stdout.flush()


def note(text: str) -> None:
    """Write a line to stderr that is not part of the answer."""
    sys.stderr.write(f"moldable: note: {printable(text)}\n")


def end_interrupted(kept: str) -> NoReturn:
    """Say what was kept of an interrupted command, and end with its exit code."""
    end_now(f"Interrupted: {kept}.", INTERRUPTED)


def end_now(text: str, code: int) -> NoReturn:
    """Write a line to stderr and end with an exit code.

    The interpreter is not shut down, because compiled code that still runs in a thread could then
    fail and change the exit code.
    """
    sys.stderr.write(f"{text}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def show_log() -> None:
    """Show the log messages of the library as notes."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    log = logging.getLogger("moldable")
    log.handlers = [Notes()]
    log.setLevel(logging.INFO)
    log.propagate = False


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[float, int], None]]:
    """Show a bar with rate and remaining time on a terminal, otherwise lines of progress."""
    if not sys.stderr.isatty():
        with _progress_lines() as tell:
            yield lambda done, planned: tell(f"{done:.0f} of {planned} {unit}")
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
def status_line() -> Iterator[Callable[[str], None]]:
    """Show the current step and the elapsed time on a terminal, otherwise lines of progress."""
    if not sys.stderr.isatty():
        with _progress_lines() as tell:
            yield tell
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


@contextmanager
def _progress_lines() -> Iterator[Callable[[str], None]]:
    """Write the last reported state to stderr every few seconds; short runs write nothing."""
    state, began, ended = "starting", time.monotonic(), threading.Event()

    def tell(text: str) -> None:
        nonlocal state
        state = text

    def write() -> None:
        while not ended.wait(INTERVAL):
            elapsed = time.monotonic() - began
            sys.stderr.write(f"moldable: progress: {printable(state)} ({elapsed:.0f} s)\n")
            sys.stderr.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield tell
    finally:
        ended.set()
        writer.join()


def console(narrowest: int = NARROWEST) -> Console:
    """Return the console for answers; it has at least `narrowest` columns."""
    from rich.console import Console

    class PlainConsole(Console):
        """A console that never interprets names as markup or control codes."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    found = PlainConsole(highlight=False, markup=False, emoji=False)
    found.width = max(found.width, narrowest)
    return found
