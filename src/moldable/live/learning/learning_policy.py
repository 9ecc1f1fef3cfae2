"""A policy that learns arrival rates and speed-up curves from the jobs of its cluster.

It is the value policy of a scenario drawn from the posterior: arrival rates are estimated with
exponential forgetting, and the curve of each class is drawn from its posterior (Thompson sampling),
so widths that may be better than they seem are tried, less often as more is known. A new scenario
is drawn when an arrival rate has moved, when a width has been seen twice as often, and when there
are a quarter more completed jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import positive
from moldable.errors import InputError, MoldableError
from moldable.live.journal import Entry
from moldable.live.learning.arrival_rate import ArrivalRate
from moldable.live.learning.service_rates import ServiceRates
from moldable.live.rehearsal import seconds
from moldable.live.running_jobs import RunningJobs
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.policies.queue_value import queue_value_policy
from moldable.policies.value import value_policy

BLOCKING_COST: Final = 10.0
"""Cost of a blocked job in mean sizes, as in plans."""
MEMORY: Final = 1000.0
"""Arrivals after which one counts e times less: rates are known to 2 %."""
MOVED: Final = 0.1
"""Relative change of an arrival rate after which a new scenario is drawn: four standard errors."""
MORE, MORE_IN_ALL = 2.0, 1.25
"""Factors by which the completed jobs of a width, and of all, grow until a new scenario is drawn.
Without the second one a width that a draw makes look bad would not be tried for long."""
HEAVIEST: Final = 0.97
"""Load of a drawn scenario with a queue, at most; a table cannot be computed above 1."""


@final
class LearningPolicy(Policy):
    """A policy that learns from the journal of its cluster.

    `observe` takes each entry of the journal; `grant` decides as for every policy.

    Args:
        scenario: the classes with the rates, sizes and curves that are assumed at first, the
            servers and the waiting places. The learned curves are increasing and concave.
        strength: number of completed jobs at each width that the assumed curves count as. With
            less, more widths are tried at first; with more, a wrong curve is believed for longer.
        blocking_cost: of a blocked job in mean sizes, without waiting places.
        seed: random seed of the curves that are drawn; None: the posterior mean is used, and widths
            that are assumed to be bad are never tried.

    Attributes:
        policy: the policy that currently decides.
        drawn: the scenario that this policy was computed for.
        draws: how many scenarios were drawn.

    Examples:
        >>> assumed = Scenario.single([1, 1.9, 2.7, 3.5], 0.6, 16)
        >>> actual = Scenario.single([1, 1.3, 1.5, 1.6], 0.6, 16)
        >>> learning = LearningPolicy(assumed, seed=1)
        >>> for entry in rehearse(actual, learning, poisson_jobs(actual, 4000, seed=2)):
        ...     pass
        >>> learning.learned().workload.classes[0].speedup[2] < 1.45
        True
    """

    def __init__(
        self,
        scenario: ScenarioOrFile,
        *,
        strength: float = 10.0,
        blocking_cost: float = BLOCKING_COST,
        seed: int | None = 0,
    ) -> None:
        self.scenario = checked_scenario(scenario)
        self.strength = positive(strength, "strength", InputError)
        self.blocking_cost = blocking_cost
        self._rng = None if seed is None else np.random.default_rng(seed)
        unit = seconds(self.scenario)
        self._service: dict[str, ServiceRates] = {}
        self._arrivals: dict[str, ArrivalRate] = {}
        total = self.scenario.workload.arrival_rate
        for each in self.scenario.workload.classes:
            in_seconds = replace(each, mean_size=each.mean_size * unit)
            self._service[each.name] = ServiceRates(in_seconds, self.strength)
            rate = each.arrival_rate / unit
            memory = MEMORY * each.arrival_rate / total
            self._arrivals[each.name] = ArrivalRate(rate, memory, self.strength)
        self._unit = unit
        self._running = RunningJobs(self.scenario.servers)
        self._next: dict[tuple[str, int], float] = {}
        self._now = 0.0
        self._completed, self._next_completed = 0, 0.0
        self.known_classes = {each.name: each for each in self.scenario.workload.classes}
        self.draws = 0
        self.drawn = self.scenario
        self.policy: Policy = self._tuned(self._scenario(sampled=True))

    @property
    def name(self) -> str:
        """The name in reports."""
        return "learning"

    def knowing(self, classes: Iterable[JobClass]) -> Self:  # noqa: ARG002 - it knows its own
        """Return the policy itself: a copy would not see what this one learns."""
        return self

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return the choice of the current policy."""
        return self.policy.choose(job_class, observation)

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the idle count from which decisions no longer change."""
        return self.policy.reach(job_class, servers)

    def waiting_reach(self, job_class: JobClass, most_idle: int) -> int:
        """Return the number of waiting jobs from which decisions no longer change."""
        return self.policy.waiting_reach(job_class, most_idle)

    def observe(self, entry: Entry) -> None:
        """Learn from an entry of the journal; those of unknown classes are ignored."""
        service = self._service.get(entry.job_class)
        if service is None:
            return
        self._now = max(self._now, entry.time)
        if entry.event == "ended":
            self._ended(entry, service)
            return
        arrivals = self._arrivals[entry.job_class]
        assert entry.submitted is not None  # noqa: S101 - every decision has it
        arrivals.arrive(entry.submitted)
        if entry.event == "granted":
            for lost in self._running.granted(entry):
                self._service[lost.job_class].stopped(lost.width, lost.started)
            service.started(entry.width, entry.time)
        used = self.drawn.workload.classes[list(self._service).index(entry.job_class)].arrival_rate
        if abs(math.log(arrivals.value * self._unit / used)) > MOVED:
            self.draw()

    def _ended(self, entry: Entry, service: ServiceRates) -> None:
        assert entry.started is not None  # noqa: S101 - every end has it
        known = self._running.ended(entry.job)
        if known is not None:
            service.stopped(known.width, known.started)
        time = max(entry.time - entry.started, 0.0)
        seen = service.ended(entry.width, time, completed=entry.state == "completed")
        self._completed += entry.state == "completed"
        key = entry.job_class, entry.width
        often = seen >= self._next.get(key, self.strength)
        if often:
            self._next[key] = MORE * max(seen, self.strength)
        if often or self._completed >= self._next_completed:
            self.draw()

    def draw(self) -> None:
        """Draw a scenario from the posterior, and decide by its policy from now on."""
        self._next_completed = MORE_IN_ALL * max(self._completed, self.strength)
        try:
            self.policy = self._tuned(self._scenario(sampled=True))
        except MoldableError:  # no policy can be computed for it: the present one stays
            return

    def learned(self) -> Scenario:
        """Return the scenario with the estimated rates and curves, such as to make a plan."""
        return self._scenario(sampled=False)

    def _scenario(self, *, sampled: bool) -> Scenario:
        classes = []
        for name, service in self._service.items():
            rates: Floats = (
                service.sample(self._rng, self._now)
                if sampled and self._rng is not None
                else service.mean(self._now)
            )
            found = service.as_class(rates, self._arrivals[name].value * self._unit)
            classes.append(replace(found, mean_size=found.mean_size / self._unit))
        return replace(self.scenario, workload=Workload(tuple(classes)))

    def _tuned(self, drawn: Scenario) -> Policy:
        """Return the value policy of a scenario; its load is lowered if no queue could be stable.

        The drawn scenario is kept with its own rates, so that a high load is not drawn for again.
        """
        if drawn.waiting:
            least = sum(
                each.arrival_rate
                * each.mean_size
                * min(each.speedup.widths / each.speedup.speedups)
                for each in drawn.workload.classes
            )
            factor = min(1.0, HEAVIEST * drawn.servers / least)
            policy: Policy = queue_value_policy(drawn.at_load(drawn.load * factor))
        else:
            policy = value_policy(drawn, self.blocking_cost)
        self.drawn = drawn
        self.draws += 1
        return policy
