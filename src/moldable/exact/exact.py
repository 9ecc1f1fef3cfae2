"""The exact stationary distribution of a system, and its performance."""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

import numpy as np

from moldable.arrays import Floats
from moldable.base_result import Result, Row
from moldable.checks import choice
from moldable.errors import ChainError
from moldable.exact.closed_forms import closed_form
from moldable.exact.pool import PoolLaw, predicted_states, solve_pool
from moldable.exact.states import MOST_STATES
from moldable.exact.theory import Theory
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.waiting import refuse_waiting
from moldable.policies.policy import Policy
from moldable.system.estimate import Estimate
from moldable.system.granted import by_width, quantiles, width_shares
from moldable.system.loss_system import System, build_system, by_pool
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance

METHODS: Final = ("auto", "closed-form", "chain")


class StationaryLaw(Result):
    """The exact stationary distribution of a workload on a cluster under a policy.

    Attributes:
        system: the workload, the cluster and the policy.
        pools: distributions of classes that share servers; one unless classes own theirs.

    Examples:
        >>> law = stationary_law(Scenario.single([1, 1.8], 0.8, 2))
        >>> [round(float(share), 4) for share in law.busy_servers]
        [0.5294, 0.0, 0.4706]
    """

    def __init__(self, system: System, pools: tuple[PoolLaw, ...]) -> None:
        self.system, self.pools = system, pools

    @property
    def busy_servers(self) -> Floats:
        """Probabilities of 0, 1, ..., n busy servers."""
        busy: Floats = reduce(np.convolve, [pool.busy for pool in self.pools])
        return busy

    def jobs(self, width: int, job_class: str | None = None) -> Floats:
        """Return the probabilities of 0, 1, ... running jobs of a width (and class)."""
        laws = []
        for law in self.pools:
            pool = law.pool
            names = np.array([c.name for c in pool.workload.classes])[pool.kind_class]
            wanted = (pool.kind_width == width) & ((names == job_class) if job_class else True)
            if wanted.any():
                counts, weights = law.counts_known()
                laws.append(np.bincount(counts[wanted].sum(axis=0), weights).astype(np.float64))
        if not laws:
            widths = sorted(set(self.system.kind_width.tolist()))
            raise ChainError(
                f"no job ever runs on {width} servers here; widths that occur: {widths}"
            )
        joint: Floats = reduce(np.convolve, laws)
        return joint

    def to_dict(self) -> dict[str, Any]:
        """Return the performance and the distribution of busy servers, ready for JSON."""
        return {**self.performance().to_dict(), "busy_servers": self.busy_servers.tolist()}

    def table(self) -> list[Row]:
        """Return the probability of each number of busy servers."""
        return [
            {"busy_servers": busy, "probability": share}
            for busy, share in enumerate(self.busy_servers.tolist())
        ]

    def __repr__(self) -> str:
        states = sum(pool.states for pool in self.pools)
        system = self.system
        return f"StationaryLaw({system.servers} servers, {system.policy_name}, {states:,} states)"

    @property
    def theory(self) -> Theory:
        """The terms of the paper's lemmas, for one class on one pool."""
        return Theory(self.system, self.pools)

    def performance(self, reason: str = "asked for") -> Performance:
        """Return the performance.

        Args:
            reason: why this method was used, in words.
        """
        system, pools = self.system, self.pools
        # Kinds and classes are listed pool by pool.
        granted = np.concatenate([pool.granted for pool in pools])
        running = np.concatenate([pool.mean_jobs for pool in pools])
        blocking = np.concatenate([pool.blocking for pool in pools])
        rates = system.workload.rates
        return Performance(
            blocking=Estimate.exact(float(rates @ blocking / rates.sum())),
            mean_execution_time=Estimate.exact(_mean_time(system, granted)),
            quantiles=quantiles(system, granted),
            width_shares=width_shares(system, granted),
            mean_jobs=by_width(system, running / system.servers),
            busy_fraction=float(running @ system.kind_width) / system.servers,
            departure_rate=float((running / system.kind_scale).sum()) / system.servers,
            classes=_classes(system, granted, running, blocking),
            method="closed-form" if all(pool.formula for pool in pools) else "chain",
            reason=f"{reason}: {'; '.join(dict.fromkeys(pool.how for pool in pools))}",
            warnings=(),
            scenario=system.scenario,
            policy=system.policy_data,
            provenance=provenance(system.scenario, system.policy_name, pools=list(system.pools)),
            detail=ExactDetail(
                states=sum(pool.states for pool in pools),
                error_bound=max(pool.error_bound for pool in pools),
                neglected_mass=sum(pool.neglected_mass for pool in pools),
            ),
        )


def stationary_law(
    scenario: ScenarioOrFile, policy: Policy | str | None = None, *, method: str = "auto"
) -> StationaryLaw:
    """Return the exact stationary distribution, or raise an error if it cannot be computed.

    Args:
        scenario: the classes, the cluster and the arrivals, which must be Poisson; sizes
            exponential or phase-type unless a formula holds for any sizes.
        policy: a policy or its spelling, such as "fixed:3"; greedy(p*) by default.
        method: "closed-form", "chain", or "auto": a closed form where one is known, else the chain.

    Examples:
        >>> stationary_law(Scenario.single([1, 1.8], 0.8, 8))
        StationaryLaw(8 servers, greedy(p*), 5 states)
    """
    choice(method, METHODS, "method", ChainError)
    scenario = checked_scenario(scenario)
    refuse_waiting(scenario.waiting, "this distribution", "use evaluate")
    return solve_system(build_system(scenario, policy), method)


def solve_system(system: System, method: str, most: int = MOST_STATES) -> StationaryLaw:
    """Solve every pool, by a formula where one is known unless the chain is asked for.

    Windows may grow to `most` states.
    """
    parts = by_pool(system)
    laws = [None if method == "chain" else closed_form(part) for part in parts]
    for part, law in zip(parts, laws, strict=True):
        if law is None and method == "closed-form":
            raise ChainError(
                f"no closed form is known for {part.policy_name} on {part.servers} servers with "
                f"these sizes and arrivals; use the method 'chain' or 'simulate'"
            )
        if law is None:
            predicted_states(part, refuse=True)
    return StationaryLaw(
        system,
        tuple(
            solve_pool(part, most) if law is None else law.checked()
            for part, law in zip(parts, laws, strict=True)
        ),
    )


def _mean_time(system: System, granted: Floats) -> float:
    total = float(granted.sum())
    return float(granted @ system.kind_scale) / total if total > 0.0 else float("nan")


def _classes(
    system: System, granted: Floats, running: Floats, blocking: Floats
) -> tuple[ClassPerformance, ...]:
    parts = []
    for j, job_class in enumerate(system.workload.classes):
        kinds = system.kind_class == j
        parts.append(
            ClassPerformance(
                job_class.name,
                Estimate.exact(float(blocking[j])),
                Estimate.exact(_mean_time(system, np.where(kinds, granted, 0.0))),
                width_shares(system, granted, kinds),
                by_width(system, running / system.servers, kinds),
            )
        )
    return tuple(parts)
