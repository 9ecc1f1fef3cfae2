"""Tables of measurements in Markdown."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

# Not getrusage: its peak includes the memory of the parent process before the exec.
PEAK_MIB = 'int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1024'
"""Code for the peak memory of a process."""


@dataclass(frozen=True)
class Row:
    """One measured figure and its target."""

    what: str
    figure: str
    target: str
    met: bool | None = None

    def markdown(self) -> str:
        """Format it as a line of a table."""
        verdict = {True: "yes", False: "**no**", None: ""}[self.met]
        return f"| {self.what} | {self.figure} | {self.target} | {verdict} |"


def write(title: str, rows: list[Row]) -> str:
    """Format a section of the report."""
    head = f"## {title}\n\n| what | figure | target | met |\n|---|---|---|---|\n"
    return head + "\n".join(row.markdown() for row in rows) + "\n"


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the least CPU time of several runs, the one least disturbed by other programs."""
    least = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return least


def machine() -> str:
    """Return a one-line description of the machine."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        names = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    python = f"Python {platform.python_version()}"
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return f"{os.cpu_count()} cores, {model}, {platform.system()}, {python}, {packages}"
