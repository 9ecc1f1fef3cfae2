"""The scenario of a job log, and what had to be assumed to draft it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import final

from moldable.files.scenario_file import parse_scenario
from moldable.model.scenario import Scenario
from moldable.traces.draft import ASSUMED_CURVE, draft_scenario, or_unknown
from moldable.traces.summary import SERVERS_FROM, TraceSummary, summarise
from moldable.traces.trace import Trace


@final
@dataclass(frozen=True, eq=False)
class Drafted:
    """A scenario drafted from a log.

    Attributes:
        scenario: the scenario.
        text: the file that it was read from.
        curve: the assumed speed-up curve.
        notes: what was assumed.
        burstiness: coefficient of variation of the times between submissions; None if it is not
            known or no larger than that of Poisson arrivals.
    """

    scenario: Scenario
    text: str
    curve: str
    notes: tuple[str, ...]
    burstiness: float | None


def drafted(
    trace: Trace,
    *,
    servers: int | None = None,
    curve: str | None = None,
    widest: float | None = None,
) -> Drafted:
    """Draft a scenario from a log.

    Args:
        trace: the log.
        servers: size of the cluster; by default what the log says.
        curve: assumed speed-up curve, see `draft_scenario`.
        widest: share of the jobs that must have asked for a width, see `draft_scenario`.
    """
    assumed = curve or ASSUMED_CURVE
    text = draft_scenario(trace, servers=servers, curve=assumed, widest=widest)
    scenario = parse_scenario(text, Path(f"draft of {trace.source}"))
    summary = summarise(trace, servers=servers)
    cv = summary.interarrival_cv
    bursty = cv if math.isfinite(cv) and cv > 1.0 else None
    return Drafted(scenario, text, assumed, _notes(scenario, summary, assumed), bursty)


def _notes(scenario: Scenario, summary: TraceSummary, curve: str) -> tuple[str, ...]:
    sizes = ", ".join(f"{part.name} {part.size}" for part in scenario.workload.classes)
    source = (
        f"{summary.jobs} jobs of {Path(summary.source).name}; {scenario.servers} "
        f"{summary.server_unit}, {SERVERS_FROM[summary.servers_from]}; offered load "
        f"{summary.offered_load:.3g} at the recorded widths"
    )
    curves = (
        f"speed-up curves are assumed to be {curve}: a log does not show one job at several "
        f"widths; replace them by measurements"
    )
    widths = (
        f"a job may get more servers than its user asked for, where its curve is a guess; at most "
        f"{_widest(scenario, summary)}; --widest SHARE changes these limits"
    )
    arrivals = (
        f"arrivals are assumed to be Poisson; in the log the coefficient of variation of "
        f"the times between them is {or_unknown(summary.interarrival_cv)} (Poisson: 1)"
    )
    laws = f"size laws with the mean and the variation of the recorded jobs: {sizes}"
    return source, curves, widths, arrivals, laws


def _widest(scenario: Scenario, summary: TraceSummary) -> str:
    """Return the widest width of each class, and how many of its jobs asked for others."""
    classes = {part.name: part for part in summary.classes}
    listed = []
    for job_class in scenario.workload.classes:
        widest, found = int(job_class.speedup.widths[-1]), classes[job_class.name]
        fewer, more = (
            100.0 * sum(n for width, n in found.widths.items() if apart * (width - widest) > 0)
            for apart in (-1, 1)
        )
        listed.append(
            f"{job_class.name} {widest} ({fewer / found.jobs:.3g} % of the jobs asked for fewer, "
            f"{more / found.jobs:.3g} % for more)"
        )
    return ", ".join(listed)
