"""The result of every evaluator: performance with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self, final

from moldable.base_result import Result, Row, finite
from moldable.model.scenario import Scenario
from moldable.model.units import duration
from moldable.system.estimate import Estimate
from moldable.system.queueing import Queueing, plain


@final
@dataclass(frozen=True, repr=False)
class ClassPerformance:
    """The performance of one class.

    Attributes:
        name: the class.
        blocking: the probability that one of its jobs is blocked.
        mean_execution_time: of its accepted jobs, in units of time.
        width_shares: share of its accepted jobs granted each width.
        mean_jobs: its running jobs of each width, per server of the cluster.
        queueing: waiting and response times; None without waiting places.

    Examples:
        >>> (jobs,) = evaluate(Scenario.single([1, 1.8], 0.8, 8)).classes
        >>> jobs.name, sorted(jobs.width_shares)
        ('jobs', [2])
    """

    name: str
    blocking: Estimate
    mean_execution_time: Estimate
    width_shares: Mapping[int, float]
    mean_jobs: Mapping[int, float]
    queueing: Queueing | None = None

    def __repr__(self) -> str:
        """Show the main figures; `to_dict` has all of them."""
        response = ""
        if self.queueing is not None:
            response = f", mean_response_time={self.queueing.mean_response_time}"
        return (
            f"ClassPerformance({self.name!r}, blocking={self.blocking}, "
            f"mean_execution_time={self.mean_execution_time}{response})"
        )

    def row(self) -> Row:
        """Return the main figures with their intervals."""
        return {"class": self.name, **_figures(self)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "name": self.name,
            **plain("blocking", self.blocking),
            **plain("mean_execution_time", self.mean_execution_time),
            **({} if self.queueing is None else self.queueing.to_dict()),
            "width_shares": _by_width(self.width_shares),
            "mean_jobs": _by_width(self.mean_jobs),
        }


@final
@dataclass(frozen=True, kw_only=True)
class ExactDetail:
    """Details of an exact answer.

    Attributes:
        states: number of states of the chain.
        error_bound: on its probabilities and, relatively, on the blocking.
        neglected_mass: bound on the probability of states that were left out.

    Examples:
        >>> evaluate(Scenario.single([1, 1.8], 0.8, 8)).detail.states
        5
    """

    states: int
    error_bound: float
    neglected_mass: float


@final
@dataclass(frozen=True, kw_only=True)
class SimulationDetail:
    """Details of a simulation.

    Attributes:
        estimator: of the mean execution time.
        arrivals: number of counted arrivals.
        arrivals_per_second: for one core, kernel time only.
        seed: random seed.
        kernel: name of the kernel.
        start: initial state of the replications.
        warmup: discarded time, in mean sizes.
        converged: whether the requested precision was reached; True if none was requested.
        interrupted: whether the run was stopped early.

    Examples:
        >>> simulate(Scenario.single([1, 1.8], 0.8, 8), jobs=100, seed=1).detail.seed
        1
    """

    estimator: str
    arrivals: int
    arrivals_per_second: float
    seed: int
    kernel: str
    start: str
    warmup: float
    converged: bool
    interrupted: bool


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Performance(Result):
    """The performance of a cluster under a policy.

    Attributes:
        blocking: the probability that an arriving job is blocked.
        mean_execution_time: of accepted jobs, in units of time.
        quantiles: of the execution time of accepted jobs.
        width_shares: share of accepted jobs granted each width.
        mean_jobs: jobs of each width in the system, per server: E[X_i/n].
        busy_fraction: the fraction of servers kept busy.
        departure_rate: departures per server and unit of time, r.
        classes: the performance of each class.
        method: "closed-form", "chain" or "simulate"; the first two are exact.
        reason: why that method was used, in words.
        detail: of the exact solution, or of the simulation.
        warnings: messages for the reader.
        provenance: versions, parameters and machine.
        scenario: the scenario that was evaluated.
        policy: the policy as data, as in its file; only its name if it is code.
        queueing: waiting and response times; None without waiting places.
        slowdown_threshold: execution time below which a job counts as this long in the bounded
            slowdown.
        response_bound: mean response time that no policy beats; None where it is not known.

    Examples:
        >>> answer = evaluate(Scenario.single([1, 1.8], 0.8, 8), "fixed:2")
        >>> answer.method, round(answer.blocking, 4), round(answer.mean_execution_time, 4)
        ('closed-form', 0.2661, 0.5556)
    """

    blocking: Estimate
    mean_execution_time: Estimate
    quantiles: Mapping[float, float]
    width_shares: Mapping[int, float]
    mean_jobs: Mapping[int, float]
    busy_fraction: float
    departure_rate: float
    classes: tuple[ClassPerformance, ...]
    method: str
    reason: str
    detail: ExactDetail | SimulationDetail
    warnings: tuple[str, ...]
    provenance: Mapping[str, Any]
    scenario: Scenario
    policy: Mapping[str, Any]
    queueing: Queueing | None = None
    slowdown_threshold: float | None = None
    response_bound: float | None = None

    @property
    def time_unit(self) -> str | None:
        """The unit of all times; None if the scenario names none."""
        return self.scenario.time_unit

    def __repr__(self) -> str:
        """Show the main figures; `to_dict` has all of them."""
        response = ""
        if self.queueing is not None:
            time = duration(self.queueing.mean_response_time, self.time_unit)
            response = f"mean_response_time={time}, "
        return (
            f"Performance(blocking={self.blocking}, {response}"
            f"mean_execution_time={duration(self.mean_execution_time, self.time_unit)}, "
            f"busy_fraction={self.busy_fraction:.4g}, policy={self.provenance['policy']!r}, "
            f"method={self.method!r})"
        )

    @property
    def interrupted(self) -> bool:
        """Whether a simulation was stopped early; its figures are of the finished replications."""
        return isinstance(self.detail, SimulationDetail) and self.detail.interrupted

    def whole(self) -> Self:
        """Return the performance; raise KeyboardInterrupt if its run was stopped early.

        Searches cannot continue with part of a run.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def converged(self) -> bool:
        """Whether the requested precision was reached; True for exact answers."""
        return isinstance(self.detail, ExactDetail) or self.detail.converged

    def without_intervals(self, warning: str) -> Performance:
        """Return the same values without intervals, and with a warning that says why."""

        def values(part: Performance | ClassPerformance) -> dict[str, Any]:
            names = ("blocking", "mean_execution_time")
            found: dict[str, Any] = {
                name: Estimate(getattr(part, name).value, None) for name in names
            }
            return found | {"queueing": part.queueing and part.queueing.without_intervals()}

        return replace(
            self,
            **values(self),
            classes=tuple(replace(part, **values(part)) for part in self.classes),
            warnings=(*self.warnings, warning),
        )

    def figures(self) -> dict[str, Any]:
        """Return the main figures with their intervals, ready for JSON."""
        return _figures(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; null where a method has no such value."""
        given = {"scenario": self.scenario.to_dict(), "policy": _text_keys(self.policy)}
        return self._found() | {"inputs": given}

    def table(self) -> list[Row]:
        """Return a row for all jobs, and one for each class where there are several."""
        parts = self.classes if len(self.classes) > 1 else ()
        return [{"class": "all jobs", **self.figures()}, *(part.row() for part in parts)]

    def _waiting(self) -> dict[str, Any]:
        if self.queueing is None:
            return {}
        bound = math.nan if self.response_bound is None else self.response_bound
        known = plain("response_bound", Estimate.exact(bound))
        return self.queueing.to_dict() | known | {"slowdown_threshold": self.slowdown_threshold}

    def _found(self) -> dict[str, Any]:
        return {
            **plain("blocking", self.blocking),
            **plain("mean_execution_time", self.mean_execution_time),
            **self._waiting(),
            "time_unit": self.time_unit,
            "quantiles": {f"{level:g}": finite(value) for level, value in self.quantiles.items()},
            "width_shares": _by_width(self.width_shares),
            "mean_jobs": _by_width(self.mean_jobs),
            "busy_fraction": self.busy_fraction,
            "departure_rate": self.departure_rate,
            "classes": [part.to_dict() for part in self.classes],
            "method": self.method,
            "reason": self.reason,
            **{
                part.name: getattr(self.detail, part.name, None)
                for kind in (ExactDetail, SimulationDetail)
                for part in fields(kind)
            },
            "converged": self.converged,
            "interrupted": self.interrupted,
            "warnings": list(self.warnings),
            "provenance": dict(self.provenance),
        }


def _figures(part: Performance | ClassPerformance) -> dict[str, Any]:
    found = plain("blocking", part.blocking)
    if part.queueing is not None:
        for name in ("mean_response_time", "mean_wait", "wait_probability"):
            found |= plain(name, getattr(part.queueing, name))
    return found | plain("mean_execution_time", part.mean_execution_time)


def _text_keys(data: Any) -> Any:
    """Return data as JSON would give it back: numbers of servers are keys, so they are text."""
    if isinstance(data, Mapping):
        return {str(key): _text_keys(value) for key, value in data.items()}
    return data


def _by_width(values: Mapping[int, float]) -> dict[str, float]:
    return {str(width): value for width, value in values.items()}
