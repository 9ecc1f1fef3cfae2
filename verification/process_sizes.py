"""Memory, descriptors and threads of a process, and whether they grow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from verification.verdict import Verdict

BATCHES = 10
WARM_UP = 1 / 3
"""Share of the samples that are discarded. Python keeps up to 2,000 freed tuples of each length, so
that the memory of a process that starts programs grows in its first 2,000 starts."""
PER_HOUR = 0.1
"""Most growth of the memory in an hour as a share of it, by the upper end of the 95 % confidence
interval."""


@dataclass(frozen=True)
class Sizes:
    """What a process holds at a time.

    Attributes:
        hours: time since the start.
        memory: resident memory in MiB.
        descriptors: number of open files, pipes and sockets.
        threads: number of threads.
    """

    hours: float
    memory: float
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Growth:
    """Slope of the memory in MiB per hour, half-width of its 95 % interval, and the levels.

    Attributes:
        slope: growth of the memory.
        half_width: of the 95 % confidence interval of the slope.
        first: least memory, descriptors and threads in the first batch after the warm-up.
        last: the same of the last batch.
        peak: largest memory of all samples, in MiB.
    """

    slope: float
    half_width: float
    first: tuple[float, int, int]
    last: tuple[float, int, int]
    peak: float


def sizes(process: int, hours: float) -> Sizes:
    """Read the sizes of a running process."""
    folder = Path(f"/proc/{process}")
    status = dict(re.findall(r"(\w+):\s+(\d+)", (folder / "status").read_text(encoding="ascii")))
    descriptors = len(list((folder / "fd").iterdir()))
    return Sizes(hours, int(status["VmRSS"]) / 1024.0, descriptors, int(status["Threads"]))


def growth(samples: Sequence[Sizes]) -> Growth:
    """Fit a line to batch means: samples close in time are correlated, batches hardly are."""
    kept = samples[int(len(samples) * WARM_UP) :]
    if len(kept) < 2 * BATCHES:
        raise ValueError(f"{len(kept)} samples after the warm-up; {2 * BATCHES} are needed")
    batches = [kept[part[0] : part[-1] + 1] for part in np.array_split(range(len(kept)), BATCHES)]
    line = stats.linregress(
        [np.mean([each.hours for each in batch]) for batch in batches],
        [np.mean([each.memory for each in batch]) for batch in batches],
    )
    quantile = stats.t.ppf(0.975, BATCHES - 2)
    peak = max(each.memory for each in samples)
    return Growth(line.slope, quantile * line.stderr, least(batches[0]), least(batches[-1]), peak)


def least(batch: Sequence[Sizes]) -> tuple[float, int, int]:
    """Return the least sizes of a batch, which do not include what is open for a moment."""
    memory = min(each.memory for each in batch)
    return memory, min(each.descriptors for each in batch), min(each.threads for each in batch)


def verdicts(name: str, found: Growth) -> list[Verdict]:
    """Return whether the sizes are flat."""
    memory = f"{name}: memory grows by {found.slope:+.3f} ± {found.half_width:.3f} MiB per hour"
    kinds = (f"{name}: descriptors", f"{name}: threads")
    levels = zip(kinds, found.first[1:], found.last[1:], strict=True)
    return [
        Verdict(memory, found.slope + found.half_width, PER_HOUR * found.first[0]),
        *(Verdict(f"{kind} from {a} to {b}", b - a, 0) for kind, a, b in levels),
    ]
