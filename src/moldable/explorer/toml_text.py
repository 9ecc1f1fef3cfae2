"""Scenarios as the text of a TOML file, which `moldable` reads back to the same numbers."""

from __future__ import annotations

import json

from moldable.errors import printable
from moldable.model.scenario import Scenario
from moldable.model.waiting import written_waiting
from moldable.model.workload import JobClass


def scenario_toml(scenario: Scenario) -> str:
    """Return the text of a scenario file.

    Examples:
        >>> _ = Path("s.toml").write_text(scenario_toml(Scenario.single([1, 1.8], 0.8, 4)))
        >>> Scenario.read("s.toml") == Scenario.single([1, 1.8], 0.8, 4)
        True
    """
    waiting = written_waiting(scenario.waiting)
    lines = [
        f"servers = {scenario.servers}",
        f"waiting = {json.dumps(waiting)}",
        f"arrivals = {_quoted(str(scenario.arrivals))}",
    ]
    if scenario.time_unit is not None:
        lines.append(f"time_unit = {_quoted(scenario.time_unit)}")
    for job_class in scenario.workload.classes:
        lines += _class(job_class)
    return "\n".join(lines) + "\n"


def _class(job_class: JobClass) -> list[str]:
    curve = job_class.speedup
    pairs = zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True)
    table = ", ".join(f"{width} = {speedup!r}" for width, speedup in pairs)
    weight = [] if job_class.weight == 1.0 else [f"weight = {job_class.weight!r}"]
    return [
        "",
        "[[class]]",
        f"name = {_quoted(job_class.name)}",
        f"arrival_rate = {job_class.arrival_rate!r}",
        f"mean_size = {job_class.mean_size!r}",
        *weight,
        f"size = {_quoted(str(job_class.size))}",
        f"speedup = {{ {table} }}",
    ]


def _quoted(text: str) -> str:
    """Return text as a TOML string."""
    return json.dumps(printable(text), ensure_ascii=False)
