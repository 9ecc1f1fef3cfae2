"""The optimum if jobs could change their width between phases.

Jobs keep their width, so this is only a reference. Each phase is a class of (Q): it arrives at the
rate of its job, and its size is its share of the job's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, final

from moldable.allocation.division import reserve
from moldable.allocation.reservation import ClassAllocation, Reservation
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.workload import JobClass


@final
@dataclass(frozen=True, repr=False)
class PhaseOptimum:
    """The least mean time of jobs whose phases may have different widths.

    Attributes:
        phases: what each phase of each class gets; the phases of a class are consecutive.
        classes: the classes, in the workload's order.
        mean_execution_time: mean over all jobs, all phases of a job together.

    Examples:
        >>> curve = SpeedUp.from_phases([(0.5, [1, 2]), (0.5, [1, 1.1])])
        >>> reserve_phases(Scenario.single(curve, 1.0, 100)).mean_execution_time
        0.75
    """

    phases: tuple[ClassAllocation, ...]
    classes: tuple[JobClass, ...]
    mean_execution_time: float

    def of_class(self, job_class: JobClass) -> tuple[ClassAllocation, ...]:
        """Return what the phases of a class get."""
        counts = [max(len(each.speedup.phases), 1) for each in self.classes]
        begin = sum(counts[: self.classes.index(job_class)])
        return self.phases[begin : begin + counts[self.classes.index(job_class)]]

    def time_of(self, job_class: JobClass) -> float:
        """Return the mean execution time of a class, all phases together."""
        return math.fsum(part.mean_execution_time for part in self.of_class(job_class))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "mean_execution_time": self.mean_execution_time,
            "classes": [
                {
                    "name": job_class.name,
                    "mean_execution_time": self.time_of(job_class),
                    "phases": [
                        {
                            "mean_execution_time": part.mean_execution_time,
                            "support": list(part.support),
                            "shares": list(part.mix.shares),
                        }
                        for part in self.of_class(job_class)
                    ],
                }
                for job_class in self.classes
            ],
        }

    def __repr__(self) -> str:
        widths = ", ".join(f"{part.name}: {list(part.support)}" for part in self.phases[:6])
        return f"PhaseOptimum({widths}; mean_execution_time={self.mean_execution_time:.6g})"


def has_phases(scenario: Scenario) -> bool:
    """Return whether a class of the scenario has phases."""
    return any(job_class.speedup.phases for job_class in scenario.workload.classes)


def reserve_phases(scenario: ScenarioOrFile) -> PhaseOptimum:
    """Solve (Q) with every phase as a class of its own.

    Examples:
        >>> curve = SpeedUp.from_phases([(0.5, [1, 2]), (0.5, [1, 1.1])])
        >>> [part.support for part in reserve_phases(Scenario.single(curve, 1.0, 100)).phases]
        [(2,), (1,)]
    """
    scenario = checked_scenario(scenario)
    own = tuple(part for each in scenario.workload.classes for part in _phases(each))
    workload = replace(scenario.workload, classes=own)
    division: Reservation = reserve(replace(scenario, workload=workload))
    work = (part.job_class.arrival_rate * part.mean_execution_time for part in division.classes)
    return PhaseOptimum(
        division.classes,
        scenario.workload.classes,
        math.fsum(work) / scenario.workload.arrival_rate,
    )


def _phases(job_class: JobClass) -> list[JobClass]:
    """Return the phases of a class as classes."""
    if not job_class.speedup.phases:
        return [job_class]
    return [
        replace(
            job_class,
            name=f"{job_class.name}, phase {k}",
            speedup=phase.speedup,
            mean_size=job_class.mean_size * phase.share,
        )
        for k, phase in enumerate(job_class.speedup.phases, start=1)
    ]
