"""Run every example of the README and the documentation.

- `python` blocks are evaluated, with doctest prompts compared to their output;
- `console` blocks run each `$ moldable ...` line and compare what it prints;
- `toml` and `csv` blocks that begin with `# NAME` are written to that file in the folder of the
  page, and so are JSON blocks with a title, `json title="NAME"`;
- `sh` blocks contain make targets of a checkout and options of `moldable`, which must exist.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from sybil import Document, Region, Sybil
from sybil.example import Example
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

from commands import run_alone, run_here

ROOT = Path(__file__).resolve().parent
COLUMNS = 92


def setup(namespace: dict) -> None:
    """Create a folder for the page, with the examples in it."""
    folder = Path(tempfile.mkdtemp())
    (folder / "examples").symlink_to(ROOT / "examples")
    namespace["_folder"], namespace["_home"] = folder, pytest.MonkeyPatch()
    namespace["_home"].chdir(folder)
    namespace["_home"].setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    namespace["_home"].setenv("XDG_RUNTIME_DIR", str(folder))


def teardown(namespace: dict) -> None:
    """Remove the folder."""
    namespace["_home"].undo()
    shutil.rmtree(namespace["_folder"])


def run_console(example: Example) -> str | None:
    """Run the commands of a block and compare their output, except for empty lines at the end."""
    shown = [line.rstrip() for line in example.parsed.rstrip().splitlines()]
    printed: list[str] = []
    for line in shown:
        if line.startswith("$ "):
            printed += [line, *_run(shlex.split(line[2:]), example.namespace["_folder"])]
    while printed and not printed[-1]:
        printed.pop()
    if len(printed) == len(shown) and all(map(_matches, shown, printed)):
        return None
    return "the output is:\n" + "\n".join(printed)


def _matches(shown: str, printed: str) -> bool:
    """Compare a line; `[...]` in the documentation stands for anything, such as a speed."""
    pattern = ".*".join(re.escape(part) for part in shown.split("[...]"))
    return re.fullmatch(pattern, printed) is not None


def _run(words: list[str], folder: Path) -> list[str]:
    *words, into = words if words[-2:-1] == [">"] else [*words, ">", ""]
    words.remove(">")
    # `moldable run` hands the streams of its process to the job's command.
    here = words[0] == "moldable" and words[1] != "run"
    result = run_here(words[1:], folder, COLUMNS) if here else run_alone(words, folder, COLUMNS)
    if into:
        (folder / into).write_text(result.stdout)
    printed = (result.stderr + ("" if into else result.stdout)).splitlines()
    # Compilation and progress depend on the machine and on what ran before.
    changing = ("note: compiling", "moldable: progress: ")
    lines = [line.rstrip() for line in printed if not any(part in line for part in changing)]
    return lines if result.returncode == 0 else [*lines, f"[exit code {result.returncode}]"]


def write_file(example: Example) -> None:
    """Write a block to the file that the comment in its first line names."""
    first = example.parsed.splitlines()[0]
    if first.startswith("# "):
        (example.namespace["_folder"] / first[2:].strip()).write_text(example.parsed)


def titled_json(document: Document) -> Iterable[Region]:
    """Find the JSON blocks that have a title."""
    for region in FencedCodeBlockLexer(r'json title="(?P<name>[^"]+)"')(document):
        region.parsed = region.lexemes["source"]
        region.evaluator = write_titled
        yield region


def write_titled(example: Example) -> None:
    """Write a block to the file that its title names."""
    name = example.region.lexemes["name"]
    (example.namespace["_folder"] / name).write_text(example.parsed)


def check_shell(example: Example) -> str | None:
    """Check that make knows the targets, and moldable the options."""
    for line in example.parsed.splitlines():
        words = line.split("#")[0].split()
        if not words or words[0] in ("git", "cd", "pip"):
            continue
        if words[0] == "moldable":
            known = run_here(["--help"], ROOT, COLUMNS).stdout
            missing = [word for word in words[1:] if word not in known.split()]
            return f"{line!r}: moldable --help does not name {missing}" if missing else None
        if words[0] != "make":
            return f"{line!r}: only make, git, cd and pip are expected here; use a console block"
        subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)  # noqa: S603, S607
    return None


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        CodeBlockParser("console", run_console),
        CodeBlockParser("toml", write_file),
        CodeBlockParser("csv", write_file),
        titled_json,
        CodeBlockParser("sh", check_shell),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=setup,
    teardown=teardown,
).pytest()
