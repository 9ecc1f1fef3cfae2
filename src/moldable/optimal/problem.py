"""The states of a shared pool, and the widths that an arriving job can get in each.

A *kind* is a class at one of its widths, a state the number of running jobs of each kind. Every
width policy is a choice of one fitting kind for each class and state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.checks import checked_int
from moldable.errors import ChainError, shown, suggest
from moldable.exact.states import MOST_STATES, count_states, format_states, state_table
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.sizes import Exponential
from moldable.model.waiting import refuse_waiting
from moldable.model.workload import Workload
from moldable.policies.observation import Jobs, Observation, held_servers

MOST_KINDS: Final = 127
"""Decisions are stored in one byte each."""


@final
@dataclass(frozen=True, eq=False)
class ControlProblem:
    """All states of a workload on a shared pool, in lines along the count of the narrowest kind.

    Attributes:
        scenario: the classes and the size of the pool.
        widths: of each kind, ascending.
        owner: the class of each kind.
        times: the mean execution time of each kind.
        start: first state of each line; the last entry is the number of states.
        counts: jobs of the kinds after the first, a column for each line.
        before: first state of the line with one job less of each of these kinds.
        after: first state of the line with one job more.
        room: length of that line; 0 if such a job does not fit.
    """

    scenario: Scenario
    widths: Ints
    owner: Ints
    times: Floats
    start: Ints
    counts: Whole
    before: Ints
    after: Ints
    room: Ints

    @property
    def workload(self) -> Workload:
        """The classes."""
        return self.scenario.workload

    @property
    def servers(self) -> int:
        """The size of the pool."""
        return self.scenario.servers

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.start[-1])

    @property
    def rates(self) -> Floats:
        """Rate at which a job of each kind ends."""
        return 1.0 / self.times

    @property
    def arrivals(self) -> Floats:
        """Jobs of each class per unit of time."""
        return self.workload.rates

    @property
    def mean_size(self) -> float:
        """Mean size of the jobs of all classes."""
        return self.workload.mean_size

    @property
    def members(self) -> tuple[Ints, Ints]:
        """Start of each class in the second array: all kinds by class, narrowest first."""
        kinds = np.argsort(self.owner, kind="stable")
        classes = np.arange(len(self.workload.classes) + 1)
        return np.searchsorted(self.owner[kinds], classes), kinds

    def jobs(self) -> Whole:
        """Return the jobs of every kind, a column for each state."""
        length = np.diff(self.start)
        jobs = np.empty((self.widths.size, self.states), dtype=np.int32)
        jobs[0] = np.arange(self.states) - np.repeat(self.start[:-1], length)
        jobs[1:] = np.repeat(self.counts, length, axis=1)
        return jobs

    def idle(self) -> Ints:
        """Return the idle servers of every state."""
        idle = np.full(self.states, self.servers, dtype=np.int64)
        for width, jobs in zip(self.widths.tolist(), self.jobs(), strict=True):
            idle -= width * jobs
        return idle

    def class_number(self, name: object) -> int:
        """Return the position of a class, given its name."""
        names = [job_class.name for job_class in self.workload.classes]
        if not isinstance(name, str) or name not in names:
            raise ChainError(f"class {shown(name)} is unknown; {suggest(str(name), names)}")
        return names.index(name)

    def state_seen(self, observation: Observation) -> int:
        """Return the index of the state that a job observes."""
        if observation.running is None:
            raise ChainError(
                "the optimal policy depends on the running jobs; pass Observation(idle, waiting, "
                "running)"
            )
        state = self.state_of(observation.running)
        idle = self.servers - held_servers(observation.running)
        if observation.idle != idle:
            raise ChainError(
                f"idle={observation.idle}, but the running jobs leave {idle} of {self.servers} "
                f"servers idle; correct one of the two"
            )
        return state

    def state_of(self, running: Jobs) -> int:
        """Return the index of the state with these running jobs."""
        from moldable.kernels.state_space import place

        names = [job_class.name for job_class in self.workload.classes]
        kinds = {
            (names[j], width): kind
            for kind, (j, width) in enumerate(zip(self.owner, self.widths.tolist(), strict=True))
        }
        counts = np.zeros(self.widths.size, dtype=np.int64)
        for name, by_width in running.items():
            for width, jobs in by_width.items():
                if (name, width) not in kinds:
                    known = ", ".join(f"{w} of {c!r}" for c, w in kinds)
                    raise ChainError(
                        f"no job of class {name!r} can run on {width} servers here; widths: {known}"
                    )
                if jobs:
                    what = f"jobs of class {name!r} on {width} servers:"
                    counts[kinds[name, width]] = checked_int(jobs, what, ChainError)
        held = int(self.widths @ counts)
        if held > self.servers:
            raise ChainError(f"these jobs hold {held} servers, but there are {self.servers}")
        others = self.widths[1:]
        line = place(counts[1:], self.servers, others, state_table(others, self.servers))
        return int(self.start[line] + counts[0])


def control_problem(scenario: ScenarioOrFile) -> ControlProblem:
    """List the states of a scenario with Poisson arrivals and exponential sizes."""
    scenario = checked_scenario(scenario)
    _refuse_unsuited(scenario)
    workload, servers = scenario.workload, scenario.servers
    kinds = sorted(
        (int(width), j, job_class.mean_size / float(speedup))
        for j, job_class in enumerate(workload.classes)
        for width, speedup in zip(job_class.speedup.widths, job_class.speedup.speedups, strict=True)
        if width <= servers
    )
    widths = np.array([width for width, _, _ in kinds], dtype=np.int64)
    _refuse_too_many(widths, servers)
    return ControlProblem(
        scenario,
        widths,
        np.array([j for _, j, _ in kinds], dtype=np.int64),
        np.array([time for _, _, time in kinds]),
        *_lines(widths, servers),
    )


def _refuse_unsuited(scenario: Scenario) -> None:
    workload = scenario.workload
    refuse_waiting(scenario.waiting, "this optimum")
    if not isinstance(scenario.arrivals, Poisson):
        raise ChainError(
            "the optimum over all policies is found for Poisson arrivals only: compute it with "
            "arrivals=Poisson(), and simulate with these"
        )
    if workload.sharing != "pool" and len(workload.classes) > 1:
        raise ChainError(
            "these classes have reserved servers, so each is a separate system: compute the "
            "optimum of each class on its servers, or let them share (sharing='pool')"
        )
    for job_class in workload.classes:
        if not isinstance(job_class.size, Exponential):
            raise ChainError(
                f"class {job_class.name!r} has sizes that are {job_class.size}; the optimum over "
                f"all policies is found for exponential sizes only, where elapsed running times do "
                f"not matter: compute it with exponential sizes, and simulate with these"
            )


def _refuse_too_many(widths: Ints, servers: int) -> None:
    if widths.size > MOST_KINDS:
        raise ChainError(
            f"{widths.size} kinds of jobs (classes at each of their widths) are more than "
            f"{MOST_KINDS}; leave out widths, for instance those off the frontier"
        )
    states = count_states(widths, servers)
    if states > MOST_STATES:
        raise ChainError(
            f"{servers} servers with {widths.size} kinds of jobs have {format_states(states)} "
            f"states, more than the {MOST_STATES:,} over which the optimum can be found; ask for "
            f"fewer servers or fewer widths, or tune a policy by simulation instead"
        )


def _lines(widths: Ints, servers: int) -> tuple[Ints, Whole, Ints, Ints, Ints]:
    from moldable.kernels.state_space import list_states, neighbours

    others = widths[1:]
    table = state_table(others, servers)
    lines = int(table[-1, -1])
    counts = np.empty((others.size, lines), dtype=np.int32)
    idle = np.empty(lines, dtype=np.int64)
    list_states(others, servers, counts, idle)
    length = idle // widths[0] + 1
    start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(length)))
    fewer, more = (np.empty((others.size, lines), dtype=np.int64) for _ in range(2))
    neighbours(counts, idle, servers, others, table, fewer, more)
    before, after = (np.where(state >= 0, start[state], 0) for state in (fewer, more))
    return start, counts, before, after, np.where(more >= 0, length[more], 0)
