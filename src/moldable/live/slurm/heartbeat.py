"""The file by which the agent tells job_submit.lua that it is alive, and what it would decide.

Each line is a word and its values; the first is `moldable 1`, the last `end`:

- `time`: seconds since 1970, before the queue was read;
- `mode`: the mode of the agent; `plan`: the digest of its plan;
- `idle`: servers that can be granted;
- `partition NAME default|named`: the agent's partition, and whether jobs that name none go there;
- `shapes`: shapes that jobs may name, that of jobs that name none first;
- `seen`: numbers of the grants of job_submit.lua that were found in the queue;
- `draws`: uniform random numbers, for policies that draw widths;
- `class NAME IDLE:WIDTH ...`: the width that a job gets if at least IDLE servers are idle and
  nobody waits, up to the next entry; 0: none. A policy that draws has `WIDTH<END,WIDTH<END,...` in
  place of a width: it gives the first one whose end is above the random number.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from moldable.errors import InputError
from moldable.live.decisions import uniform
from moldable.live.plan_file import LivePlan
from moldable.model.workload import JobClass
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy

MAX_AGE: Final = 10.0
"""Seconds after which a heartbeat is stale, and jobs pass unchanged."""
FORGET: Final = 5.0
"""Seconds after which a grant that was not found in the queue is forgotten: Slurm refused the job
later, or it has ended already."""
DRAWS: Final = 256
"""Random numbers in a heartbeat; if more decisions are made before the next one, they are
reused."""
READABLE: Final = 0o644
"""slurmctld may run under another account."""


@final
@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The content of a heartbeat; see the module for the fields."""

    time: float
    mode: str
    plan: str
    idle: int
    partition: str
    default: bool
    shapes: Sequence[str]
    rows: Mapping[str, str]
    seen: Sequence[str] = field(default=())
    draws: Sequence[float] = field(default=())

    def __str__(self) -> str:
        lines = [
            "moldable 1",
            f"time {int(self.time)}",
            f"mode {self.mode}",
            f"plan {self.plan}",
            f"idle {self.idle}",
            f"partition {self.partition} {'default' if self.default else 'named'}",
            f"shapes {' '.join(self.shapes)}",
            f"seen {' '.join(self.seen)}",
            f"draws {' '.join(f'{draw:.17g}' for draw in self.draws)}",
            *(f"class {name} {row}" for name, row in self.rows.items()),
            "end",
        ]
        return "\n".join(lines) + "\n"


def class_rows(plan: LivePlan) -> dict[str, str]:
    """Return the decisions about each class by idle servers, while nobody waits."""
    servers = plan.scenario.servers
    return {
        job_class.name: _row(plan.policy, job_class, servers)
        for job_class in plan.scenario.workload.classes
    }


def draws_of(rows: Mapping[str, str], seed: int, beat: int) -> tuple[float, ...]:
    """Return the random numbers of a heartbeat, none if no decision is random."""
    if not any("<" in row for row in rows.values()):
        return ()
    return tuple(uniform(seed, f"heartbeat {beat}, {position}") for position in range(DRAWS))


def write_heartbeat(path: Path, beat: Heartbeat) -> None:
    """Replace the heartbeat atomically."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(unfinished, flags, READABLE), "wb") as file:
            os.fchmod(file.fileno(), READABLE)
            file.write(str(beat).encode())
        unfinished.replace(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"heartbeat {path} cannot be written: {reason}; choose another with --heartbeat"
        ) from None


def _row(policy: Policy, job_class: JobClass, servers: int) -> str:
    entries: list[str] = []
    last = ""
    for idle in range(servers + 1):
        outcome = _outcome(policy, job_class, Observation(idle, 0, {}))
        if outcome != last:
            entries.append(f"{idle}:{outcome}")
        last = outcome
    return " ".join(entries)


def _outcome(policy: Policy, job_class: JobClass, seen: Observation) -> str:
    """Return the width that is granted, or the widths by random numbers."""
    found = policy.outcomes(job_class, seen)
    if len({width for _, width in found}) == 1:
        return str(found[0][1])
    return ",".join(f"{width}<{end:.17g}" for end, width in found)
