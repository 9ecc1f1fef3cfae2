"""Counts of inputs by kind and outcome, which survive an interruption, and their table."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moldable.text_files import write_whole

INTRODUCTION = """\
# Damaged input

Valid files, spellings and options are damaged at random and given to their readers. An input fails
if it ends in a traceback, takes over 20 s (120 s if the machine is busy with other work), needs
more than 2 GB, has an exit code other than 0 or 2, or leads to a message with control characters or
of more than 10,000 characters. The rows "command" are files that were read by a command; "exit code
2" means bad input. `make fuzz READERS=1000000` writes this page.
"""
ACCEPTED, FAILED = "accepted", "failed"


@dataclass
class Tally:
    """What became of inputs.

    Attributes:
        seed: of the inputs.
        following: all inputs with smaller numbers are counted.
        ahead: numbers of inputs that are counted, too.
        failures: the kinds of inputs that failed, by their numbers. They are run again when an
            interrupted run goes on.
        counts: inputs by kind and outcome; the outcome of a refused input is the class of its
            error.
        seconds: time of the run, without interruptions.
        memory: largest resident memory of a worker, in bytes.
        slowest: seconds and number of the slowest input.
    """

    seed: int
    following: int = 0
    ahead: set[int] = field(default_factory=set)
    failures: dict[int, str] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    memory: int = 0
    slowest: tuple[float, int] = (0.0, -1)

    def add(self, number: int, kind: str, outcome: str, seconds: float, memory: int) -> None:
        """Count an input."""
        if number in self.failures:
            self.counts[self.failures.pop(number), FAILED] -= 1
        self.counts[kind, outcome] += 1
        if outcome == FAILED:
            self.failures[number] = kind
        self.memory = max(self.memory, memory)
        self.slowest = max(self.slowest, (seconds, number))
        if number >= self.following:
            self.ahead.add(number)
        while self.following in self.ahead:
            self.ahead.remove(self.following)
            self.following += 1

    def left(self, numbers: Iterator[int]) -> Iterator[int]:
        """Yield the numbers that failed, and those that are not counted yet."""
        done, following = frozenset(self.ahead), self.following
        yield from list(self.failures)
        yield from (n for n in numbers if n >= following and n not in done)

    def write(self, path: Path) -> None:
        """Write the counts to a file."""
        data = vars(self) | {
            "ahead": sorted(self.ahead),
            "failures": sorted(self.failures.items()),
            "counts": [[*key, count] for key, count in sorted(self.counts.items())],
        }
        write_whole(path, json.dumps(data).encode(), "state of the run")

    @staticmethod
    def read(path: Path, seed: int) -> Tally:
        """Read the counts of an interrupted run of a seed, or return empty ones without a file."""
        if not path.exists():
            return Tally(seed)
        data: dict[str, Any] = json.loads(path.read_bytes())
        if data["seed"] != seed:
            raise SystemExit(f"{path} is of seed {data['seed']}; give --seed or another file")
        counts = Counter({(kind, outcome): count for kind, outcome, count in data.pop("counts")})
        data |= {"ahead": set(data["ahead"]), "failures": dict(data["failures"])}
        return Tally(**data | {"slowest": tuple(data["slowest"])}, counts=counts)

    def table(self) -> str:
        """Return the counts as Markdown."""
        total = sum(self.counts.values())
        seconds, number = self.slowest
        figures = (
            f"{total:,} inputs of seed {self.seed} on {datetime.now(UTC):%Y-%m-%d}, Python "
            f"{platform.python_version()}: {len(self.failures):,} failed. The run took "
            f"{self.seconds / 60:.0f} minutes. The slowest input, number {number}, took "
            f"{seconds:.1f} s; a worker used at most {self.memory / 2**20:.0f} MiB of memory."
        )
        lines = [
            INTRODUCTION,
            figures,
            "",
            "| reader | inputs | accepted | refused, by class of the error | failed |",
            "|---|---:|---:|---|---:|",
        ]
        for kind in sorted({kind for kind, _ in self.counts}, key=str.lower):
            own = {outcome: n for (each, outcome), n in self.counts.items() if each == kind and n}
            accepted, failures = own.pop(ACCEPTED, 0), own.pop(FAILED, 0)
            inputs = accepted + failures + sum(own.values())
            refused = ", ".join(f"{name} {n:,}" for name, n in sorted(own.items())) or "-"
            lines.append(f"| {kind} | {inputs:,} | {accepted:,} | {refused} | {failures:,} |")
        return "\n".join(lines) + "\n"
