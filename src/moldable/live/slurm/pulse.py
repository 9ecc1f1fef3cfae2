"""State that the agent keeps for its heartbeats."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from moldable.live.slurm.heartbeat import (
    FORGET,
    Heartbeat,
    class_rows,
    draws_of,
    write_heartbeat,
)
from moldable.live.slurm.records import QueuedJob
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.snapshot import Scope


@final
@dataclass(slots=True)
class Pulse:
    """Writes the heartbeat of an agent.

    Args:
        path: its file.
        partition: the partition of the agent.
        default: whether it is the default partition of the cluster.
        seed: for policies that draw widths.
    """

    path: Path
    partition: str
    default: bool
    seed: int = 0
    _rows: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, float] = field(default_factory=dict)

    def stop(self) -> None:
        """Remove the heartbeat, so that jobs pass at once."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def beat(
        self, jobs: Iterable[QueuedJob], scope: Scope, mode: str, idle: int, begun: float
    ) -> None:
        """Write what was found in the queue; reading it began at the time `begun`."""
        self._rows = self._rows or class_rows(scope.plan)
        marks = (scope.mark_of(job) for job in jobs)
        found = (mark.fields["seq"] for mark in marks if mark and "seq" in mark.fields)
        # A job may end before the next one is submitted, so grants that were seen are kept until
        # job_submit.lua discards them because of their age.
        self._seen |= dict.fromkeys(found, begun)
        self._seen = {seq: at for seq, at in self._seen.items() if begun - at <= 2.0 * FORGET}
        shape = scope.shape
        shapes = [shape.name, *(s.name for s in SHAPES.values() if s.unit == shape.unit)]
        beat = Heartbeat(
            time=begun,
            mode=mode,
            plan=scope.plan.digest,
            idle=idle,
            partition=self.partition,
            default=self.default,
            shapes=tuple(dict.fromkeys(shapes if mode != "loss" else shapes[:1])),
            rows=self._rows,
            seen=tuple(self._seen),
            draws=draws_of(self._rows, self.seed, int(begun)),
        )
        write_heartbeat(self.path, beat)


def is_present(path: Path) -> bool:
    """Return whether a file is there, as job_submit.lua does: if in doubt, it is."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
