"""Whether the Slurm agent and the explorer keep their sizes under a light, steady load.

`python -m verification.soak --minutes 60` starts each program as users do, keeps it busy, and
samples its resident memory, descriptors and threads every five seconds. After a third of the time
these must not grow. Samples are written to a CSV file; exit code 1 if a program grows.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from verification.process_sizes import Growth, Sizes, growth, sizes, verdicts
from verification.soak_agent import AgentSubject
from verification.soak_explorer import ExplorerSubject

SUBJECTS = {"agent": AgentSubject, "explorer": ExplorerSubject}
INTRODUCTION = """\
# Memory over time

The Slurm agent schedules a job every six seconds on a private Slurm; the explorer answers a new
question every few seconds. Resident memory, descriptors and threads are sampled every five seconds.
The slope is that of the memory after the first third of the time, with its 95 % confidence
interval. Levels are the least of the first and of the last tenth of that time. The explorer keeps
the answers to 16 questions, and compiled code for each new kind of question. `make soak` writes
this page.
"""
STEP, SAMPLE = 0.5, 5.0
"""Seconds between two steps, and between two samples."""


def main(arguments: Sequence[str]) -> int:
    """Run the programs, print the verdicts and write the table."""
    given = _parser().parse_args(arguments)
    samples: dict[str, list[Sizes]] = {}
    with ExitStack() as stack:
        subjects: list[AgentSubject | ExplorerSubject] = []
        for name in given.only or SUBJECTS:
            reason = SUBJECTS[name].missing()
            if reason is not None:
                print(f"{name}: skipped: {reason}")
                continue
            subjects.append(SUBJECTS[name](given.seed))
            stack.callback(subjects[-1].close)
            samples[subjects[-1].name] = []
        file = stack.enter_context(given.samples.open("w", encoding="utf-8"))
        try:
            _keep_busy(subjects, samples, given.minutes * 60.0, file)
        except KeyboardInterrupt:
            print("interrupted; the figures are those of the time until now")
        work = {subject.name: subject.work for subject in subjects}
    found = {name: growth(own) for name, own in samples.items()}
    print(text := table(found, samples, work))
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    all_verdicts = [verdict for name, each in found.items() for verdict in verdicts(name, each)]
    for verdict in all_verdicts:
        print(verdict)
    return 0 if found and all(verdict.holds for verdict in all_verdicts) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="time (default 60)")
    parser.add_argument("--only", choices=SUBJECTS, action="append", help="one program")
    parser.add_argument("--seed", type=int, default=1, help="seed of the load (default 1)")
    parser.add_argument("--samples", type=Path, default=Path("soak.csv"), metavar="FILE.csv")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the table to a file")
    return parser


def _keep_busy(
    subjects: Sequence[AgentSubject | ExplorerSubject],
    samples: dict[str, list[Sizes]],
    seconds: float,
    file: TextIO,
) -> None:
    """Step the programs and sample their sizes until the time is over."""
    file.write("program,hours,memory,descriptors,threads\n")
    begun, sampled = time.monotonic(), 0
    while (spent := time.monotonic() - begun) < seconds:
        for subject in subjects:
            subject.step()
        if spent >= sampled * SAMPLE:
            sampled += 1
            for subject in subjects:
                now = sizes(subject.process, spent / 3600.0)
                samples[subject.name].append(now)
                file.write(f"{subject.name},{now.hours:.5f},{now.memory:.3f},")
                file.write(f"{now.descriptors},{now.threads}\n")
            file.flush()
        time.sleep(STEP)


def table(found: dict[str, Growth], samples: dict[str, list[Sizes]], work: dict[str, str]) -> str:
    """Return the sizes as a Markdown table."""
    lines = [
        INTRODUCTION,
        f"Measured on {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}.",
        "",
        "| program | minutes | work | MiB | peak | MiB per hour | descriptors | threads |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for name, each in found.items():
        minutes = samples[name][-1].hours * 60.0
        levels = [f"{a:.4g} to {b:.4g}" for a, b in zip(each.first, each.last, strict=True)]
        lines.append(
            f"| {name} | {minutes:.0f} | {work[name]} | {levels[0]} | {each.peak:.4g} "
            f"| {each.slope:+.3f} ± {each.half_width:.3f} | {levels[1]} | {levels[2]} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
