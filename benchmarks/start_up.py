"""Start-up time of the command."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.table import Row

REPEATS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "moldable --help": ["moldable", "--help"],
    "moldable optimum": ["moldable", "optimum", "--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8"],
}
TARGETS = {"moldable --help": 0.3, "moldable optimum": 0.5}


def rows() -> list[Row]:
    """Run the commands in turn and return medians of the wall-clock time."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEATS):
        for name, command in COMMANDS.items():
            program = str(Path(sys.executable).with_name(Path(command[0]).name))
            started = time.perf_counter()
            subprocess.run([program, *command[1:]], stdout=subprocess.DEVNULL, check=True)
            seconds[name].append(time.perf_counter() - started)
    found = {name: statistics.median(times) for name, times in seconds.items()}
    return [
        Row(
            name,
            f"{found[name]:.3f} s",
            f"below {TARGETS[name]} s" if name in TARGETS else "",
            found[name] < TARGETS[name] if name in TARGETS else None,
        )
        for name in COMMANDS
    ]
