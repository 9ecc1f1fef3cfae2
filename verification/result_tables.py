"""Tables of the pages in docs/results/, made of the lines that experiments print.

A page has markers, `<!-- NAME: generated -->` and `<!-- NAME: end -->`, between which the table of
the experiment NAME is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "docs/results"
SYSTEM: Final = re.compile(r"(?P<case>.+): optimum (?P<best>\S+); % above: (?P<found>.+) \((.+)\)")
LIMIT: Final = re.compile(r"(?P<case>.+), limit (\S+): (\S+) % above, (\S+) % of the limit is used")
CURVE: Final = re.compile(r"(?P<curve>\S+): tuned policy (?P<tuned>.+)")
RUN: Final = re.compile(
    r"(?P<name>.+?)\s+wait\s+(\S+) s, response\s+(\S+) s, slowdown\s+(\S+); "
    r"response / wait / slowdown (.+) %; (\S+) earlier, (\S+) later"
)
GROUP: Final = re.compile(
    r"(.+?)\s{2,}(\S+) jobs: mean response\s+(\S+) s ->\s+(\S+) s; (\S+) earlier, (\S+) later"
)
UNCHANGED: Final = ("recorded", "rigid FCFS", "rigid EASY")
"""Schedules that do not depend on the curve."""
POLICIES: Final = ("tuned", "value policy", "even-price", "idle-share", "greedy")

Rows = Sequence[Sequence[str]]


def queue_policies(notes: Iterable[str]) -> str:
    """Return how far policies are above the optimum."""
    rows = []
    for line in filter(None, map(SYSTEM.fullmatch, notes)):
        found = dict(each.rsplit(" ", 1) for each in line["found"].split(", "))
        fixed = [f"{value} ({name})" for name, value in found.items() if name.startswith("fixed:")]
        values = [found[name].replace("inf", "unstable") for name in POLICIES]
        rows.append([line["case"], line["best"], *values, *(fixed or ["-"])])
    return table(["system", "optimum", *POLICIES, "best fixed width"], rows)


def queue_limits(notes: Iterable[str]) -> str:
    """Return how far tuned policies under a limit are above the optimum."""
    rows = [line.groups() for line in filter(None, map(LIMIT.fullmatch, notes))]
    return table(["system", "limit on blocking", "above the optimum, %", "limit used, %"], rows)


def kth_replay(notes: Iterable[str]) -> str:
    """Return the figures of each policy under each curve, and those of groups of jobs."""
    head = ["assumed curve", "policy", "wait, s", "response, s", "bounded slowdown"]
    head += ["response / wait / slowdown against rigid EASY, %", "earlier", "later"]
    rows: list[list[str]] = []
    groups: list[Sequence[str]] = []
    curve, tuned = "", ""
    for note in notes:
        if found := CURVE.fullmatch(note):
            curve, tuned = found["curve"], found["tuned"]
        elif found := RUN.fullmatch(note):
            name, *figures = found.groups()
            shown = "any" if name in UNCHANGED else curve
            label = f"tuned: {tuned}" if name == "tuned" else name
            row = [shown, label, *(each.replace("%", " %") for each in figures)]
            rows += [row] if row not in rows else []
        elif found := GROUP.fullmatch(note):
            groups.append([each.replace("%", " %") for each in found.groups()])
    jobs = ["recorded run time", "jobs", "mean response, rigid EASY, s", "tuned, s"]
    whole = [
        table(head, rows),
        "By run time, first curve:",
        table([*jobs, "earlier", "later"], groups),
    ]
    return "\n\n".join(whole)


TABLES: Final[dict[str, tuple[str, Callable[[Iterable[str]], str]]]] = {
    "queue_policies": ("queue-policies.md", queue_policies),
    "queue_limits": ("queue-policies.md", queue_limits),
    "kth_replay": ("kth-sp2.md", kth_replay),
}
"""The page and the table of each experiment that has one."""


def table(head: Sequence[str], rows: Rows) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(name: str, notes: Sequence[str]) -> None:
    """Write the table of an experiment into its page, if it has one and printed its lines."""
    if name not in TABLES or not notes or notes[0].startswith("skipped"):
        return
    file, make = TABLES[name]
    page = FOLDER / file
    begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n\n{make(notes)}\n\n{end}{after}")
