"""Questions of the tests."""

from __future__ import annotations

import math
from pathlib import Path

from moldable.explorer.question import ClassInput, Question, read_question

ROOT = Path(__file__).resolve().parents[2]
CURVE = (1.0, 1.8, 2.5, 3.0, 3.4)
JOBS = ClassInput("jobs", CURVE)
LOSS = Question((JOBS,), servers=8, load=0.8, target=("max_blocking", 0.2))
QUEUE = Question((ClassInput("jobs", CURVE[:3]),), servers=6, load=0.7, waiting=math.inf)
PLACES = Question((ClassInput("jobs", CURVE[:3]),), servers=5, load=0.8, waiting=3)
GAPS = Question(
    (ClassInput("jobs", (1.0, 3.5, 5.0), (1, 4, 8)),), servers=16, load=0.6, size=" lognormal:2 "
)


def gpus() -> Question:
    """Return the question about the two classes of the example file."""
    return read_question(ROOT / "examples" / "gpus.toml")
