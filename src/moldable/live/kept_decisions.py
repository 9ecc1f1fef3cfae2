"""Decisions of a plan, cached on disk for later processes.

`moldable run` is a process of its own for each job. Most of its time would be spent on importing
what a policy needs. So when a decision is first needed, it is written to a file named after the
plan's digest, which later processes read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from moldable.errors import InputError, naming, suggest
from moldable.files.json_text import parse_json
from moldable.live.plan_data import plan_digest, plan_parts
from moldable.policies.outcomes import Outcomes, drawn
from moldable.text_files import read_text

if TYPE_CHECKING:
    from moldable.model.workload import JobClass
    from moldable.policies.observation import Observation

_Row = tuple[str, int, int]
"""Class, idle servers and waiting jobs."""


@final
class KeptDecisions:
    """The decisions of a plan file; see `Decider`.

    Only stored policies are in plan files. They look at idle servers and at waiting jobs, not at
    running ones.

    Args:
        path: the plan file.
        folder: a private folder, where decisions are kept.
    """

    strict = False

    def __init__(self, path: Path, folder: Path) -> None:
        self._data = parse_json(path, read_text(path))
        with naming(str(path)):
            policy, scenario = plan_parts(self._data)
        self._path = path
        self.digest = plan_digest(policy, scenario)
        self._file = folder / f"{self.digest}.jsonl"
        self._rows: dict[_Row, Outcomes] = {}
        self._header: dict[str, Any] = {}
        self._read()
        if not self._header:
            self._prepare()
        self.servers: int = self._header["servers"]
        places = self._header["places"]
        self.places: float = float("inf") if places is None else places
        self.classes: tuple[str, ...] = tuple(self._header["classes"])

    @property
    def name(self) -> str:
        """The name of the policy."""
        return str(self._header["name"])

    def class_name(self, name: str | None) -> str:
        """Return the name of a class, which may be left out if there is one class only."""
        if name is None and len(self.classes) == 1:
            return self.classes[0]
        known = ", ".join(sorted(self.classes))
        if name is None:
            raise InputError(
                f"{self._path} has {len(self.classes)} classes; choose one with --class: {known}"
            )
        if name not in self.classes:
            raise InputError(f"{name!r} is not in the plan; {suggest(name, self.classes)}", "class")
        return name

    def grant(
        self, job_class: JobClass | str, observation: Observation, u: float | None = None
    ) -> int:
        """Return the servers that a job gets now; see `Policy.grant`."""
        name = job_class if isinstance(job_class, str) else job_class.name
        row = (name, observation.idle, observation.waiting)
        if row not in self._rows:
            self._rows[row] = self._ask(name, observation)
        return drawn(self._rows[row], u, f"policy {self.name}, class {name!r}")

    def _ask(self, name: str, observation: Observation) -> Outcomes:
        from moldable.live.plan_file import plan_from_data  # noqa: PLC0415 - imports numpy

        with naming(str(self._path)):
            found = plan_from_data(self._data).policy.outcomes(name, observation)
        self._keep({"row": [name, observation.idle, observation.waiting], "outcomes": found})
        return found

    def _prepare(self) -> None:
        """Check the plan, and keep what each process needs of it."""
        from moldable.live.plan_file import plan_from_data  # noqa: PLC0415 - imports numpy

        with naming(str(self._path)):
            plan = plan_from_data(self._data)
        scenario = plan.scenario
        self._header = {
            "servers": scenario.servers,
            "places": None if scenario.waiting == float("inf") else int(scenario.waiting),
            "classes": [job_class.name for job_class in scenario.workload.classes],
            "name": plan.policy.name,
        }
        self._keep(self._header)

    def _keep(self, line: Mapping[str, Any]) -> None:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
            file = os.open(self._file, flags, 0o600)
            with os.fdopen(file, "ab", buffering=0) as opened:
                # A line that was cut off by a full disk must not swallow this one.
                opened.write(b"\n" + json.dumps(line).encode() + b"\n")
        except OSError:
            return  # not cached; the next process computes it again

    def _read(self) -> None:
        """Read the cached decisions; incomplete lines are left out."""
        try:
            content = self._file.read_bytes()
        except OSError:
            return
        for line in content.splitlines():
            try:
                found = json.loads(line)
                if "row" in found:
                    name, idle, waiting = found["row"]
                    outcomes = tuple((float(end), int(width)) for end, width in found["outcomes"])
                    self._rows[str(name), int(idle), int(waiting)] = outcomes
                else:
                    {**found}["servers"], found["places"], found["classes"], found["name"]
                    self._header = found
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
