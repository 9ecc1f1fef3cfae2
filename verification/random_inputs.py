"""Random and damaged inputs to every reader, command and public function."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzz.session import Session, numbers
from verification.verdict import Verdict

INPUTS, SEED, WORKERS = 4000, 1, 2


def experiments() -> Iterator[Verdict]:
    """Count the inputs that end in a traceback, a hang or too much memory."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(SEED, Path(folder))
        session.run(numbers(0, INPUTS), WORKERS, lambda: False)
        print("  " + session.summary().replace("\n", "\n  "), flush=True)
        yield Verdict(f"failures in {INPUTS} inputs", sum(session.failures.values()), 0)
