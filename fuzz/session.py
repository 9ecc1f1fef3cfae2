"""Runs many inputs, counts outcomes and saves failures."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.case import Case
from fuzz.generate import generate, generate_for_readers
from fuzz.runner import LONGEST, Worker
from fuzz.tally import FAILED, Tally
from fuzz.verdict import CODES, Outcome, detail, failure

PROGRESS = 30.0
"""Seconds between two lines of progress."""
SAVED = 3
"""Inputs saved for each cause."""


@dataclass
class Session:
    """A run over many inputs.

    Attributes:
        seed: of the inputs.
        folder: where failing inputs are saved.
        outcomes: how many inputs were answered, refused, interrupted, or failed.
        failures: how many inputs failed for each cause.
        readers: whether the inputs are those for single readers.
        longest: seconds that an input may take.
        state: file with the counts by kind, from which an interrupted run goes on.
        began: start time, by the monotonic clock.
    """

    seed: int
    folder: Path
    report: Callable[[str], None] = print
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    readers: bool = False
    longest: float = LONGEST
    state: Path | None = None
    began: float = field(default_factory=time.monotonic)
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Start the counts."""
        self.tally = Tally(self.seed) if self.state is None else Tally.read(self.state, self.seed)
        self._before = self.tally.seconds

    def run(self, numbers: Iterator[int], workers: int, stop: Callable[[], bool]) -> None:
        """Run the inputs with these numbers until they are exhausted, or the time is over."""
        hands = [Worker(self.longest, warm=not self.readers) for _ in range(workers)]
        numbers = self.tally.left(numbers)
        with ThreadPoolExecutor(workers) as pool:
            working = [pool.submit(self._serve, hand, numbers, stop) for hand in hands]
            try:
                while wait(working, PROGRESS).not_done:
                    self.report(f"{sum(self.outcomes.values())} inputs, {self._counts()}")
                    self._keep()
            finally:
                self._ended = True  # an interrupt also ends the running inputs
                self._keep()
                for hand in hands:
                    hand.stop()
            for part in working:
                part.result()

    def _keep(self) -> None:
        with self._lock:
            self.tally.seconds = self._before + time.monotonic() - self.began
            if self.state is not None:
                self.tally.write(self.state)

    def _serve(self, worker: Worker, numbers: Iterator[int], stop: Callable[[], bool]) -> None:
        try:
            while not stop() and not self._ended:
                with self._lock:
                    number = next(numbers, None)
                if number is None:
                    return
                make = generate_for_readers if self.readers else generate
                case = make(self.seed, number)
                outcome = worker.run(case)
                if not self._ended:
                    self._count(number, case, outcome)
        finally:
            worker.stop()

    def _count(self, number: int, case: Case, outcome: Outcome) -> None:
        cause = failure(case, outcome)
        with self._lock:
            found = detail(outcome) if cause is None else FAILED
            self.tally.add(number, case.kind, found, outcome.seconds, outcome.memory)
            if cause is None and outcome.code is not None:
                self.outcomes[CODES[outcome.code]] += 1
                return
            self.outcomes["failed"] += 1
            self.failures[cause or ""] += 1
            if self.failures[cause or ""] <= SAVED:
                self._save(number, case, outcome, cause or "")

    def _save(self, number: int, case: Case, outcome: Outcome, cause: str) -> None:
        home = self.folder / f"{self.seed}-{number}"
        (home / "files").mkdir(parents=True, exist_ok=True)
        (home / "case.json").write_text(case.to_json(), encoding="utf-8")
        if case.call is not None:
            (home / "call.py").write_text(case.script(), encoding="utf-8", errors="surrogatepass")
        if not any((home / "files").iterdir()):
            case.lay_out(home / "files")
        again = f"cd {home / 'files'} && {case.shell()}"
        replay = f"python -m fuzz --replay {home / 'case.json'}"
        printed = f"{outcome.stderr}\n{outcome.stdout[:2000]}"
        report = f"{cause}\n\nUnder the same limits: {replay}\nBy hand: {again}\n\n{printed}\n"
        (home / "report.txt").write_text(report, encoding="utf-8", errors="replace")
        self.report(f"input {number} ({case.kind}): {cause}\n  {replay}")

    def _counts(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.outcomes.most_common())

    def summary(self) -> str:
        """Return the counts as text."""
        seconds, number = self.tally.slowest
        total = sum(self.outcomes.values())
        lines = [
            f"{total} inputs in {time.monotonic() - self.began:.0f} s: {self._counts()}",
            f"seed {self.seed}, slowest: input {number}, {seconds:.1f} s",
            *(f"  {count:5} x {cause}" for cause, count in self.failures.most_common()),
        ]
        if self.failures:
            lines.append(f"saved with the commands that reproduce them in {self.folder}")
        return "\n".join(lines)


def numbers(first: int, count: int | None) -> Iterator[int]:
    """Return the numbers of the inputs."""
    return iter(range(first, first + count)) if count is not None else itertools.count(first)
