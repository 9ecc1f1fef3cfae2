"""Compare policies.

Simulated policies share arrivals, sizes and draws (common random numbers), so their differences
have narrower confidence intervals than the values themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from moldable.base_result import MOST_ROWS, Result, Row
from moldable.errors import PolicyError, UnstableError, shown, suggest
from moldable.evaluation.evaluate import Unsolved, check_request, solve_equi, solve_exactly
from moldable.files.policy_file import Rule, as_policy, named_policies
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.policies.equi import Equi
from moldable.policies.policy import Policy
from moldable.simulation.paired import Paired, Sample, difference, simulate_together
from moldable.simulation.replications import Progress
from moldable.system.estimate import Estimate
from moldable.system.loss_system import System, build_system
from moldable.system.performance import Performance

EQUAL: Final = 1e-12


@final
@dataclass(frozen=True)
class Compared:
    """One policy among others.

    Attributes:
        name: its name in the comparison.
        performance: its performance.
        blocking_difference: its blocking minus the first policy's, with its own interval.
        mean_execution_time_difference: the same for the mean execution time.
        mean_response_time_difference: the same for the mean response time; None without waiting
            places.
        pareto_optimal: whether it is Pareto-optimal: no other policy is significantly better in
            blocking or time without being worse in the other. The time is the mean response time
            where jobs wait, else the mean execution time.
        reference: whether it is a preemptive reference, left out of the Pareto comparison.

    Examples:
        >>> found = compare(Scenario.single([1, 1.8], 0.8, 8), ["fixed:1", "fixed:2"])
        >>> first, second = found.policies
        >>> second.blocking_difference > 0
        True
    """

    name: str
    performance: Performance
    blocking_difference: Estimate
    mean_execution_time_difference: Estimate
    pareto_optimal: bool
    reference: bool
    mean_response_time_difference: Estimate | None = None

    @property
    def differences(self) -> dict[str, Estimate]:
        """The differences by name."""
        found = {
            "blocking_difference": self.blocking_difference,
            "mean_execution_time_difference": self.mean_execution_time_difference,
        }
        if self.mean_response_time_difference is not None:
            found["mean_response_time_difference"] = self.mean_response_time_difference
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        found = self.performance.to_dict()
        return {
            "name": self.name,
            "pareto_optimal": self.pareto_optimal,
            "reference": self.reference,
            **{name: _pair(gap) for name, gap in self.differences.items()},
            **found,
            "inputs": {"policy": found["inputs"]["policy"]},  # the scenario is that of all
        }


@final
@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Policies side by side; differences are from the first of `policies`.

    Attributes:
        policies: in the given order.
        unstable: reasons why other policies have no figures, by name: their unlimited queues would
            grow without limit.

    Examples:
        >>> found = compare(Scenario.single([1, 1.8, 2.5], 0.8, 8), ["greedy-p", "greedy"])
        >>> found.pareto_optimal
        ('greedy-p', 'greedy')
        >>> f"{found['greedy'].blocking:.4f}"
        '0.3215'
    """

    policies: tuple[Compared, ...]
    unstable: Mapping[str, str] = field(default_factory=dict)

    @property
    def time_unit(self) -> str | None:
        """The scenario's unit of time; None if it has none."""
        return self.policies[0].performance.time_unit

    @property
    def pareto_optimal(self) -> tuple[str, ...]:
        """The names of the Pareto-optimal policies."""
        return tuple(part.name for part in self.policies if part.pareto_optimal)

    def __getitem__(self, name: str) -> Performance:
        """Return the performance of the policy with this name."""
        found = {part.name: part.performance for part in self.policies}
        if name not in found:
            raise PolicyError(f"{shown(name)} was not compared; {suggest(str(name), found)}")
        return found[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "time_unit": self.time_unit,
            "policies": [part.to_dict() for part in self.policies],
            "pareto_optimal": list(self.pareto_optimal),
            "unstable": dict(self.unstable),
            "inputs": {"scenario": self.policies[0].performance.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return a row for each policy."""
        rows: list[Row] = []
        for part in self.policies:
            found = part.performance
            gaps: dict[str, Any] = {}
            for name, gap in part.differences.items():
                pair = _pair(gap)
                gaps |= {name: pair["value"], f"{name}_interval": pair["interval"]}
            marks = {
                "name": part.name,
                "pareto_optimal": part.pareto_optimal,
                "reference": part.reference,
            }
            how = {"busy_fraction": found.busy_fraction, "method": found.method}
            rows.append({**marks, **found.figures(), **gaps, **how})
        return rows

    def __repr__(self) -> str:
        """Show a line for each policy; Pareto-optimal ones are marked."""
        lines = (
            f"  {'*' if part.pareto_optimal else ' '} {part.name}: {part.performance!r}"
            for part in self.policies[:MOST_ROWS]
        )
        left = len(self.policies) - MOST_ROWS
        more = [f"    ... and {left} more"] if left > 0 else []
        more += [f"    unstable: {', '.join(self.unstable)}"] if self.unstable else []
        return "\n".join(("Comparison, Pareto-optimal policies are marked with *:", *lines, *more))


def compare(
    scenario: ScenarioOrFile,
    policies: Mapping[str, Rule] | Iterable[Rule],
    *,
    method: str = "auto",
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    slowdown_threshold: float | str | None = None,
) -> Comparison:
    """Evaluate policies side by side.

    Policies under which an unlimited queue would grow without limit are listed as unstable; if all
    of them are, an error is raised.

    Args:
        scenario: the classes, the cluster and the arrivals.
        policies: a mapping by name, or a list; policies or their spellings, such as "fixed:3".
            None is greedy(p*).
        method: for every policy, as in `evaluate`.
        precision: as in `evaluate`.
        seed: random seed of the simulations.
        threads: of the simulations; all cores by default.
        progress: called with (finished, planned) replications.
        slowdown_threshold: as in `evaluate`.

    Examples:
        >>> scenario = Scenario.single([1, 1.8, 2.5], 0.8, 8)
        >>> compare(scenario, {"one": "fixed:1", "two": "fixed:2"}).pareto_optimal
        ('one', 'two')
    """
    check_request(method, precision, seed, threads)
    scenario = checked_scenario(scenario)
    named = _named(policies, scenario)
    exact: dict[str, Performance | Unsolved] = {}
    simulated: dict[str, tuple[System, str]] = {}
    unstable: dict[str, str] = {}
    for name, policy in named.items():
        try:
            if isinstance(policy, Equi):
                exact[name] = solve_equi(scenario, method)
                continue
            system = build_system(scenario, policy)
            exact[name] = answer = solve_exactly(system, method)
        except UnstableError as error:
            unstable[name] = str(error)
            if len(unstable) == len(named):
                raise
            continue
        if isinstance(answer, Unsolved):
            simulated[name] = system, answer.reason
    together = simulate_together(
        simulated,
        precision=precision,
        seed=seed,
        threads=threads,
        progress=progress,
        slowdown_threshold=slowdown_threshold,
    )
    found = {
        name: _warned(together[name], answer)
        if isinstance(answer, Unsolved)
        else Paired.exact(answer)
        for name, answer in exact.items()
    }
    candidates = {name: own for name, own in found.items() if not isinstance(named[name], Equi)}
    compared = tuple(_compared(name, found, candidates) for name in found)
    return Comparison(compared, unstable)


def _warned(pair: Paired, unsolved: Unsolved) -> Paired:
    performance = unsolved.warn(pair.performance)
    response = pair.response
    if response and performance.queueing:
        response = Sample(performance.queueing.mean_response_time, response.errors)
    return Paired(
        performance,
        Sample(performance.blocking, pair.blocking.errors),
        Sample(performance.mean_execution_time, pair.time.errors),
        response,
    )


def _named(
    policies: Mapping[str, Rule] | Iterable[Rule], scenario: Scenario
) -> dict[str, Policy | Equi | None]:
    named = named_policies(policies, "greedy(p*)")
    for name in named:
        if not isinstance(name, str):
            raise PolicyError(f"{name!r} is not a name of a policy; write names as text: 'mine'")
    if not named:
        raise PolicyError("there is no policy to compare; give at least one")
    return {name: as_policy(policy, scenario) for name, policy in named.items()}


def _compared(name: str, found: Mapping[str, Paired], candidates: Mapping[str, Paired]) -> Compared:
    own, first = found[name], next(iter(found.values()))
    beaten = any(_beats(other, own) for other in candidates.values() if other is not own)
    return Compared(
        name,
        own.performance,
        difference(own.blocking, first.blocking),
        difference(own.time, first.time),
        pareto_optimal=name in candidates and not beaten,
        reference=name not in candidates,
        mean_response_time_difference=(
            difference(own.response, first.response) if own.response and first.response else None
        ),
    )


def _beats(one: Paired, other: Paired) -> bool:
    """Return whether one is significantly better in a value, and better or equal in the other."""
    signs = (_sign(one.blocking, other.blocking), _sign(one.objective, other.objective))
    return not any(map(math.isnan, signs)) and min(signs) < 0.0 and max(signs) <= 0.0


def _sign(one: Sample, other: Sample) -> float:
    """Return -1 if one is significantly less, 1 if more, 0 if equal; NaN if not significant."""
    gap = difference(one, other)
    if abs(gap.value) <= EQUAL * max(abs(other.value), EQUAL) and gap.half_width <= EQUAL:
        return 0.0
    if gap.interval is None or gap.interval[0] <= 0.0 <= gap.interval[1]:
        return math.nan
    return math.copysign(1.0, gap.value)


def _pair(estimate: Estimate) -> dict[str, Any]:
    interval = None if estimate.interval is None else list(estimate.interval)
    return {"value": estimate.value, "interval": interval}
