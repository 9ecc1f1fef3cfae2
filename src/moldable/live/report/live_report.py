"""Compare a live cluster with the predictions of its plan, and warn where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from moldable.base_result import Result, Row
from moldable.checks import checked_path, number
from moldable.errors import InputError
from moldable.files.policy_file import policy_data
from moldable.live.plan_file import LivePlan, read_plan
from moldable.live.rehearsal import seconds
from moldable.live.report.advice import warnings_of
from moldable.live.report.batches import Measured
from moldable.live.report.comparison import Figure, differing, p_value
from moldable.live.report.expected import (
    BLOCKING,
    RATE,
    SHARE,
    TIME,
    WAIT,
    WAITED,
    Key,
    expected_figures,
)
from moldable.live.report.observed import Observed
from moldable.live.report.sources import observe
from moldable.system.estimate import Estimate

GRACE: Final = 1.0
"""Waits up to this many seconds count as zero."""
RARE: Final = 1e-3
"""Shares of widths up to which they are left out if neither seen nor expected more often."""


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class LiveReport(Result):
    """Observed figures of a cluster, compared with the predictions of its plan.

    Times and rates are in the plan's unit of time.

    Attributes:
        source: name of the journal or log.
        begins: time of the first submission, in seconds since 1970; None for logs of sacct.
        span: time from the first submission to the last.
        jobs: decisions about jobs of the plan's classes.
        figures: every figure with its prediction.
        warnings: what differs beyond chance, and what to do about it.
        notes: what else a reader should know.
        time_unit: the plan's unit of time.
        digest: the plan's.
        inputs: the plan's scenario and policy.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 8)
        >>> write_plan("plan.json", FixedWidth(2), evaluate(scenario, FixedWidth(2)))
        >>> jobs = poisson_jobs(scenario, 2000, seed=1)
        >>> write_journal("journal.jsonl", rehearse(scenario, FixedWidth(2), jobs))
        >>> report = live_report("journal.jsonl", "plan.json")
        >>> report.jobs, report.warnings
        (2000, ())
    """

    source: str
    begins: float | None
    span: float
    jobs: int
    figures: tuple[Figure, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    time_unit: str | None
    digest: str
    inputs: dict[str, Any]

    def __repr__(self) -> str:
        """Show the main figures; `to_dict` has all of them."""
        return (
            f"LiveReport({self.jobs:,} jobs, {len(self.figures)} figures, "
            f"{len(self.warnings)} warnings)"
        )

    def table(self) -> list[Row]:
        """Return a row for each figure."""
        return [each.to_dict() for each in self.figures]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "source": self.source,
            "begins": self.begins,
            "span": self.span,
            "jobs": self.jobs,
            "time_unit": self.time_unit,
            "plan": self.digest,
            "figures": self.table(),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "inputs": self.inputs,
        }


def live_report(
    log: Path | str,
    plan: LivePlan | Path | str,
    *,
    grace: float = GRACE,
    count: str = "auto",
    progress: Callable[[str], None] = lambda _: None,
) -> LiveReport:
    """Compare a journal, or the output of sacct, with the plan.

    Args:
        log: journal written by the live commands, or the output of sacct --parsable2 with the
            column Comment or AdminComment.
        plan: the plan that the cluster runs, or its file.
        grace: waits up to this many seconds count as zero.
        count: what is counted as servers of a Slurm job, as for `read_trace`.
        progress: called with a description of each step.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 8)
        >>> write_plan("plan.json", FixedWidth(2), evaluate(scenario, FixedWidth(2)))
        >>> jobs = poisson_jobs(scenario.at_load(0.9), 4000, seed=1)
        >>> write_journal("busy.jsonl", rehearse(scenario, FixedWidth(2), jobs))
        >>> [each.figure for each in live_report("busy.jsonl", "plan.json").figures if each.differs]
        ['arrival rate', 'blocking']
    """
    found = plan if isinstance(plan, LivePlan) else read_plan(plan)
    grace = number(grace, "grace", InputError)
    if not 0.0 <= grace < math.inf:
        raise InputError(f"{grace:g} must be at least 0 seconds, such as 1", "grace")
    path = checked_path(log)
    seen = Observed(found.scenario, grace, found.digest)
    notes = observe(seen, path, count, progress)
    progress("predicting the figures of the plan")
    figures = _figures(seen, found, waits=grace)
    unit = found.scenario.time_unit
    return LiveReport(
        source=str(path),
        begins=seen.begin,
        span=seen.span / seconds(found.scenario),
        jobs=seen.decisions,
        figures=figures,
        warnings=warnings_of(figures, unit),
        notes=(*notes, *_notes(seen)),
        time_unit=unit,
        digest=found.digest,
        inputs={"scenario": found.scenario.to_dict(), "policy": policy_data(found.policy)},
    )


def _figures(seen: Observed, plan: LivePlan, *, waits: float) -> tuple[Figure, ...]:
    """Compare every figure, and mark those that differ."""
    unit = seconds(plan.scenario)
    expected = expected_figures(plan)
    found = {key: _observed(seen, key) for key in expected}
    found = {key: each for key, each in found.items() if _shown(seen, key, expected)}
    chances = {
        key: p_value(key.figure, each, expected[key], waits if key.figure == WAIT else 0.0)
        for key, (each, _) in found.items()
    }
    differ = differing(chances)
    figures = []
    for key, (each, jobs) in found.items():
        scale = {RATE: unit, WAIT: 1.0 / unit, TIME: 1.0 / unit}.get(key.figure, 1.0)
        interval = each.interval and (each.interval[0] * scale, each.interval[1] * scale)
        figures.append(
            Figure(
                figure=key.figure,
                job_class=key.job_class,
                width=key.width or None,
                observed=Estimate(each.value * scale, interval),
                expected=expected[key] * scale,
                jobs=jobs,
                p_value=chances[key],
                differs=key in differ,
            )
        )
    return tuple(figures)


def _observed(seen: Observed, key: Key) -> tuple[Measured, int]:
    """Return a figure, and the number of jobs that it is based on."""
    j = seen.classes[key.job_class]
    kind = seen.kind_of(key.job_class, key.width)
    found = {
        RATE: lambda: (seen.arrival_rate(j), seen.jobs_of(j)),
        BLOCKING: lambda: (seen.blocking(j), seen.jobs_of(j)),
        WAIT: lambda: (seen.mean_wait(j), seen.accepted(j)),
        WAITED: lambda: (seen.wait_probability(j), seen.accepted(j)),
        SHARE: lambda: (seen.width_share(kind), seen.accepted(j)),
        TIME: lambda: (seen.execution_time(kind), seen.completed(kind)),
    }[key.figure]()
    return found[0], int(found[1])


def _shown(seen: Observed, key: Key, expected: dict[Key, float]) -> bool:
    """Return whether a figure is of interest: rare widths and impossible blocking are not."""
    j = seen.classes[key.job_class]
    if key.figure == BLOCKING:
        blocked = seen.jobs_of(j) > seen.accepted(j)
        return seen.tells_blocking and (expected[key] > 0.0 or blocked)
    if key.figure in (WAIT, WAITED):
        return seen.tells_waits
    if key.figure not in (SHARE, TIME):
        return True
    kind = seen.kind_of(key.job_class, key.width)
    share = seen.granted(kind) / max(seen.accepted(j), 1)
    return max(share, expected[Key(SHARE, key.job_class, key.width)]) > RARE


def _notes(seen: Observed) -> list[str]:
    found = []
    if seen.outside:
        found.append(
            f"{seen.outside:,} records are of other classes than the plan's "
            f"({', '.join(seen.classes)}) and were left out"
        )
    if seen.other_plans:
        found.append(
            f"{seen.other_plans:,} of {seen.decisions:,} decisions were made under another plan"
        )
    if seen.lost_track:
        found.append(
            f"the end of {seen.lost_track:,} jobs was not recorded; execution times are of the "
            f"others"
        )
    if seen.off_plan:
        found.append(f"{seen.off_plan:,} jobs had a width that the plan's curve does not have")
    return found
