"""The result of every evaluator: performance with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self, final

from moldable.base_result import Result, Row
from moldable.model.scenario import Scenario
from moldable.model.units import duration

Interval = tuple[float, float]
NOISE = 1e-12
"""Relative half-width below which a value is shown as exact."""
RARE = 1e-5
"""Values below are shown with an exponent."""


@final
class Estimate(float):
    """A number with its 95 % confidence interval.

    It is a float: compare it, calculate with it, format it. The interval is not carried through
    calculations.

    Args:
        value: the estimate.
        interval: its interval; None if there is no valid one.

    Example:
        >>> blocking = Estimate(0.0312, (0.0302, 0.0322))
        >>> blocking < 0.05, f"{blocking:.3f}", str(blocking)
        (True, '0.031', '0.03120 ± 0.00100')
    """

    __slots__ = ("_interval",)
    _interval: Interval | None

    def __new__(cls, value: float, interval: Interval | None) -> Self:
        """Make an immutable number, as those of Python are."""
        self = super().__new__(cls, value)
        self._interval = interval
        return self

    @classmethod
    def exact(cls, value: float) -> Self:
        """Return an exact value, whose interval has width 0."""
        return cls(value, (value, value))

    @property
    def value(self) -> float:
        """The estimate as a plain float."""
        return float(self)

    @property
    def interval(self) -> Interval | None:
        """The 95 % confidence interval; None if there is no valid one."""
        return self._interval

    @property
    def half_width(self) -> float:
        """Half the interval's width; infinite without an interval."""
        if self.interval is None:
            return math.inf
        return (self.interval[1] - self.interval[0]) / 2.0

    def __str__(self) -> str:
        """Show only the digits that the interval supports."""
        half = self.half_width
        if math.isnan(self.value):
            return "unknown"
        if not math.isfinite(half):
            return f"{self.value:.4g}"
        if half <= NOISE * abs(self.value):
            return f"{self.value:.6g}"
        if 0.0 < self.value < RARE and half < RARE:
            power = math.floor(math.log10(max(self.value, half)))
            return f"({_rounded(self.value / 10.0**power, half / 10.0**power)})e{power:03d}"
        return _rounded(self.value, half)

    def __repr__(self) -> str:
        return f"Estimate({self.value!r}, {self.interval!r})"

    def __format__(self, spec: str) -> str:
        """Format the value; without a specification, show the digits that are known."""
        return format(self.value, spec) if spec else str(self)

    def __eq__(self, other: object) -> bool:
        """Compare with a number, or with an estimate and its interval."""
        if isinstance(other, Estimate):
            return (self.value, self.interval) == (other.value, other.interval)
        return self.value == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__

    def __reduce__(self) -> tuple[type[Estimate], tuple[float, Interval | None]]:
        return Estimate, (self.value, self.interval)


def _rounded(value: float, half: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{value:.{digits}f} ± {half:.{digits}f}"


@final
@dataclass(frozen=True)
class ClassPerformance:
    """The performance of one class.

    Attributes:
        name: the class.
        blocking: the probability that one of its jobs is blocked.
        mean_execution_time: of its accepted jobs, in units of time.
        width_shares: share of its accepted jobs granted each width.
        mean_jobs: its jobs of each width in the system, per server of the cluster.

    Example:
        >>> (jobs,) = evaluate(Scenario.single([1, 1.8], 0.8, 8)).classes
        >>> jobs.name, sorted(jobs.width_shares)
        ('jobs', [2])
    """

    name: str
    blocking: Estimate
    mean_execution_time: Estimate
    width_shares: Mapping[int, float]
    mean_jobs: Mapping[int, float]

    def row(self) -> Row:
        """Return blocking and mean execution time with their intervals."""
        return {
            "class": self.name,
            **_estimate("blocking", self.blocking),
            **_estimate("mean_execution_time", self.mean_execution_time),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "name": self.name,
            **_estimate("blocking", self.blocking),
            **_estimate("mean_execution_time", self.mean_execution_time),
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

    Example:
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

    Example:
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

    Example:
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

    @property
    def time_unit(self) -> str | None:
        """The unit of all times; None if the scenario names none."""
        return self.scenario.time_unit

    def __repr__(self) -> str:
        """Show the main figures; `to_dict` has all of them."""
        return (
            f"Performance(blocking={self.blocking}, "
            f"mean_execution_time={duration(self.mean_execution_time, self.time_unit)}, "
            f"busy_fraction={self.busy_fraction:.4g}, policy={self.provenance['policy']!r}, "
            f"method={self.method!r})"
        )

    @property
    def interrupted(self) -> bool:
        """Whether a simulation was stopped early; its figures are of the finished replications."""
        return isinstance(self.detail, SimulationDetail) and self.detail.interrupted

    @property
    def converged(self) -> bool:
        """Whether the requested precision was reached; True for exact answers."""
        return isinstance(self.detail, ExactDetail) or self.detail.converged

    def without_intervals(self, warning: str) -> Performance:
        """Return the same values without intervals, and with a warning that says why."""

        def values(part: Performance | ClassPerformance) -> dict[str, Any]:
            names = ("blocking", "mean_execution_time")
            return {name: Estimate(getattr(part, name).value, None) for name in names}

        return replace(
            self,
            **values(self),
            classes=tuple(replace(part, **values(part)) for part in self.classes),
            warnings=(*self.warnings, warning),
        )

    def figures(self) -> dict[str, Any]:
        """Return blocking and mean execution time with their intervals, ready for JSON."""
        return {
            **_estimate("blocking", self.blocking),
            **_estimate("mean_execution_time", self.mean_execution_time),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; null where a method has no such value."""
        given = {"scenario": self.scenario.to_dict(), "policy": _text_keys(self.policy)}
        return self._found() | {"inputs": given}

    def table(self) -> list[Row]:
        """Return a row for all jobs, and one for each class where there are several."""
        parts = self.classes if len(self.classes) > 1 else ()
        return [{"class": "all jobs", **self.figures()}, *(part.row() for part in parts)]

    def _found(self) -> dict[str, Any]:
        return {
            **self.figures(),
            "time_unit": self.time_unit,
            "quantiles": {f"{level:g}": _finite(value) for level, value in self.quantiles.items()},
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


def _estimate(name: str, estimate: Estimate) -> dict[str, Any]:
    interval = None if estimate.interval is None else list(estimate.interval)
    return {name: _finite(estimate.value), f"{name}_interval": interval}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text_keys(data: Any) -> Any:
    """Return data as JSON would give it back: numbers of servers are keys, hence texts."""
    if isinstance(data, Mapping):
        return {str(key): _text_keys(value) for key, value in data.items()}
    return data


def _by_width(values: Mapping[int, float]) -> dict[str, float]:
    return {str(width): value for width, value in values.items()}
