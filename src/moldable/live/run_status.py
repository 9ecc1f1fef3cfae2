"""The running and waiting jobs on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from moldable.base_result import Result, Row
from moldable.live.ledger import Ledger, Record
from moldable.live.run import ledger_folder


@final
@dataclass(frozen=True)
class RunStatus(Result):
    """The jobs of a ledger.

    Attributes:
        folder: of the ledger.
        running: jobs that hold servers, in the order of arrival.
        waiting: jobs that wait, in the order of arrival.
    """

    folder: Path
    running: tuple[Record, ...]
    waiting: tuple[Record, ...]

    @property
    def servers(self) -> int | None:
        """The servers that the jobs share; None if there are no jobs."""
        return next((job.servers for job in (*self.running, *self.waiting)), None)

    @property
    def busy(self) -> int:
        """Servers that jobs hold."""
        return sum(job.width for job in self.running)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "servers": self.servers,
            "busy": self.busy,
            "running": [_data(job) for job in self.running],
            "waiting": [_data(job) for job in self.waiting],
            "inputs": {"folder": str(self.folder)},
        }

    def table(self) -> list[Row]:
        """Return a row for each job."""
        return [*map(_data, self.running), *map(_data, self.waiting)]


def run_status(folder: Path | None) -> RunStatus:
    """Return the jobs of a ledger, by default of the one in the user's runtime folder."""
    place = ledger_folder(folder)
    if not os.path.lexists(place):
        return RunStatus(place, (), ())
    ledger = Ledger(place)
    with ledger.locked():
        return RunStatus(ledger.folder, tuple(ledger.running()), tuple(ledger.waiting()))


def _data(job: Record) -> Mapping[str, Any]:
    found = asdict(job)
    return {"job": found.pop("job"), "class": found.pop("job_class"), **found}
