"""Run the `moldable` command in this process, to save its imports, or in one of its own."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from moldable.cli import main


def run_here(
    arguments: Sequence[str], folder: Path, columns: int
) -> subprocess.CompletedProcess[str]:
    """Return what a command prints on a page of this many columns, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["moldable", *arguments])
        patch.setattr(os, "_exit", sys.exit)
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        patch.chdir(folder)
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    return subprocess.CompletedProcess(
        ["moldable", *arguments], code, out.getvalue(), err.getvalue()
    )


def run_alone(
    words: Sequence[str], folder: Path, columns: int, longest: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Return what a program of this environment prints in a process of its own."""
    return subprocess.run(
        [str(Path(sys.executable).with_name(words[0])), *words[1:]],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"},
        timeout=longest,
        check=False,
    )


@contextmanager
def begun(words: Sequence[str], sign: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program and wait for a sign of work on stderr, which also names its imports."""
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert any(re.search(sign.encode(), line) for line in process.stderr)
        yield process
