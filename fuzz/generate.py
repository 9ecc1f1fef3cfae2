"""Input number i of seed s."""

from __future__ import annotations

import random

from fuzz import calls, commands, live, logs, readers
from fuzz.case import Case

GENERATORS = {
    commands.damaged_options: 28,
    commands.damaged_workload: 26,
    commands.damaged_curve: 10,
    commands.damaged_sizes: 8,
    commands.damaged_policy: 10,
    logs.damaged_log: 10,
    live.damaged_live: 12,
    commands.damaged_run: 1,
    calls.odd_call: 17,
}


def generate(seed: int, number: int) -> Case:
    """Return the input; the same for the same two numbers on every machine."""
    rng = random.Random(f"{seed}:{number}")
    (make,) = rng.choices(list(GENERATORS), weights=list(GENERATORS.values()))
    return make(rng)


def generate_for_readers(seed: int, number: int) -> Case:
    """Return an input for a single reader, likewise."""
    return readers.reader_input(random.Random(f"readers:{seed}:{number}"))
