"""Write docs/results/verification.md, and tables of other pages, from what experiments printed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from verification import result_tables

PAGE: Final = Path(__file__).parents[1] / "docs/results/verification.md"
VERDICT: Final = re.compile(r"  (holds|FAILS)  (\S+) \(bound (\S+)\)  (.*)")
MINUTES: Final = re.compile(r"  \((\d+\.\d) min\)")
BEGINS: Final = re.compile(r"^\w+ begins(?=\w)")
HEAD: Final = """\
# Verification

These experiments compare the library with independent answers: other solvers, exact values,
published numbers, slow reference programs and a private Slurm. `make verify` runs them and writes
this page. Each check is a number that must not exceed its bound.
"""


@dataclass
class Printed:
    """What one experiment printed.

    Attributes:
        question: the first line of its docstring.
        verdicts: word, number, bound and text of each check.
        notes: other lines.
        minutes: how long it took; empty if it did not end.
    """

    question: str
    verdicts: list[tuple[str, str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    minutes: str = ""

    @property
    def failed(self) -> int:
        """Number of checks that exceed their bounds."""
        return sum(word != "holds" for word, *_ in self.verdicts)

    @property
    def outcome(self) -> str:
        """Return whether the experiment ended and all of its checks hold."""
        if not self.minutes or not self.verdicts:
            return "**did not end**"
        return f"**{self.failed} fail**" if self.failed else "all hold"


def read(output: str, names: Iterable[str]) -> dict[str, Printed]:
    """Return what each of the named experiments printed; other lines are skipped."""
    found = {name: Printed("") for name in names}
    now: Printed | None = None
    for line in output.splitlines():
        # In a saved log a header may follow a line of standard error.
        name, colon, question = BEGINS.sub("", line).partition(": ")
        if colon and name in found:
            now = found[name] = Printed(question)
        elif now is None or not line.startswith("  "):
            continue  # progress, and the end of each process
        elif verdict := VERDICT.fullmatch(line):
            now.verdicts.append((verdict[1], verdict[2], verdict[3], verdict[4]))
        elif minutes := MINUTES.fullmatch(line):
            now.minutes, now = minutes[1], None
        else:
            now.notes.append(line.strip())
    return found


def page(output: str, names: Iterable[str]) -> str:
    """Return the page for the output of all experiments."""
    found = read(output, names)
    rows = [
        f"| [{name}](#{name}) | {_cell(one.question)} | {len(one.verdicts)} | {one.outcome} "
        f"| {one.minutes} |"
        for name, one in found.items()
    ]
    table = [
        "| experiment | what is compared | checks | outcome | minutes |",
        "|---|---|---:|---|---:|",
        *rows,
    ]
    total = sum(len(one.verdicts) for one in found.values())
    failed = sum(one.outcome != "all hold" for one in found.values())
    end = f"Experiments that failed: {failed}." if failed else "All hold."
    parts = [HEAD, f"{total:,} checks in {len(found)} experiments. {end}\n", "\n".join(table)]
    return "\n".join([*parts, *(_section(name, one) for name, one in found.items())])


def _section(name: str, one: Printed) -> str:
    rows = [
        f"| {_cell(text)} | {number} | {bound} | {'yes' if word == 'holds' else '**no**'} |"
        for word, number, bound, text in one.verdicts
    ]
    table = ["| check | number | bound | holds |", "|---|---:|---:|---|", *rows]
    notes = ["", *(f"- {_text(note)}" for note in one.notes)] if one.notes else []
    inside = "\n".join([*table, *notes])
    return f"""
## {name}

{_text(one.question)}

`python -m verification {name}`

<details markdown="1">
<summary>{len(rows)} checks</summary>

{inside}

</details>
"""


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """Return text whose stars and angle brackets have no meaning in Markdown."""
    return re.sub(r"([*_<>])", r"\\\1", text)


def write(output: str, names: Iterable[str]) -> None:
    """Write the page, and the tables of other pages."""
    PAGE.write_text(page(output, names))
    for name, one in read(output, names).items():
        result_tables.write(name, one.notes)
