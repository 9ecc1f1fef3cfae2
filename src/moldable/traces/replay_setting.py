"""What is replayed: the jobs of a log that fit the cluster, their kinds, and shifted copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.checks import check_type, checked_int, choice, number, within
from moldable.errors import SimulationError
from moldable.model.scenario import Scenario
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.traces.request_curves import Curves, RequestCurve, curves_of
from moldable.traces.request_kinds import RequestKinds, request_kinds, rigid_kinds
from moldable.traces.schedule import DISCIPLINES, Submissions
from moldable.traces.trace import Trace

MOST_COPIES: Final = 1000
WIDEST: Final = 1e6
"""Largest multiple of a request that may be allowed."""
DRAWS, SHIFTS = 0, 1
"""Random streams: draws of the jobs, and shifts of a copy."""


@final
@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How a log is replayed; see `replay`."""

    servers: int | None
    least: float
    most: float
    discipline: str
    judged_from: float
    copies: int
    shift: float
    seed: int | None

    def __post_init__(self) -> None:
        if self.servers is not None:
            checked_int(self.servers, "servers", SimulationError)
        least = number(self.least, "least", SimulationError)
        if not 0.0 < least <= 1.0:
            raise SimulationError(
                f"{least:g} must be above 0 and at most 1: the narrowest width as a share of the "
                f"servers that the user asked for, such as 0.5",
                "least",
            )
        hint = "it is the widest width as a multiple of the servers that the user asked for"
        within(self.most, "most", SimulationError, 1.0, WIDEST, hint)
        choice(self.discipline, DISCIPLINES, "discipline", SimulationError)
        judged_from = number(self.judged_from, "judged_from", SimulationError)
        if not 0.0 <= judged_from < 1.0:
            raise SimulationError(
                f"{judged_from:g} must be from 0 to below 1: the share of the jobs before the "
                f"first that is judged, such as 0.5",
                "judged_from",
            )
        checked_int(self.copies, "copies", SimulationError, least=0, most=MOST_COPIES)
        within(self.shift, "shift", SimulationError, 0.0, 1e9, "it is a time in seconds")
        check_seed_and_threads(self.seed, None)


@final
@dataclass(frozen=True)
class ReplaySetting:
    """A log that is ready to be replayed.

    Attributes:
        trace: the jobs that fit the cluster.
        servers: of the cluster.
        curves: of each class.
        kinds: of jobs, with the widths that they may run on.
        first_judged: position of the first job that is judged.
        left_out: jobs that are wider than the cluster.
        options: with the seed that is used.
    """

    trace: Trace
    servers: int
    curves: tuple[RequestCurve, ...]
    kinds: RequestKinds
    first_judged: int
    left_out: int
    options: ReplayOptions

    @cached_property
    def rigid(self) -> RequestKinds:
        """The kinds with the requested widths alone."""
        return rigid_kinds(self.kinds)

    @cached_property
    def scenario(self) -> Scenario:
        """The kinds as classes of a scenario, for policies that are computed from one."""
        return self.kinds.scenario(self.servers)

    @cached_property
    def jobs(self) -> Submissions:
        """The jobs of the log."""
        run_time, asked = self.trace.run_time, self.trace.requested_time
        draw = self._generator(DRAWS).random(len(self.trace))
        estimate = np.where(asked > 0.0, asked, run_time)  # NaN is not above 0 either
        return Submissions(self.trace.submit, run_time, estimate, draw)

    @property
    def judged(self) -> slice:
        """The jobs that are judged."""
        return slice(self.first_judged, None)

    @property
    def recorded(self) -> Mask:
        """The judged jobs whose start is in the log."""
        known = np.isfinite(self.trace.start)
        known[: self.first_judged] = False
        return known

    def copies(self, count: int | None = None) -> Iterator[Submissions]:
        """Yield the jobs, then copies whose submissions are shifted at random, in their order."""
        yield self.jobs
        for copy in range(1, (self.options.copies if count is None else count) + 1):
            shifts: Floats = self._generator(SHIFTS, copy).uniform(
                0.0, self.options.shift, len(self.trace)
            )
            yield replace(self.jobs, submit=np.sort(self.trace.submit + shifts))

    def first_part(self, copies: int) -> list[Submissions]:
        """Return the jobs that are not judged, and shifted copies of them."""
        return [jobs.up_to(self.first_judged) for jobs in self.copies(copies)]

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked, ready for JSON."""
        own = self.options
        return {
            "source": self.trace.source,
            "servers": self.servers,
            "curves": {
                name: curve.text
                for name, curve in zip(self.trace.classes, self.curves, strict=True)
            },
            "least": own.least,
            "most": own.most,
            "discipline": own.discipline,
            "judged_from": own.judged_from,
            "copies": own.copies,
            "shift": own.shift,
            "seed": own.seed,
        }

    def _generator(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.options.seed, spawn_key=key))


def prepare(trace: Trace, curves: Curves, options: ReplayOptions) -> ReplaySetting:
    """Check a trace and return it ready to be replayed."""
    check_type(trace, Trace, "trace", SimulationError, "a trace: read_trace('log.swf')")
    if len(trace) == 0:
        raise SimulationError("the log has no job to replay")
    servers = trace.capacity if options.servers is None else int(options.servers)
    if servers is None:
        raise SimulationError(
            f"the log does not have the number of servers; give it (servers=N, --servers N), at "
            f"least {int(trace.servers.max())} for the widest job"
        )
    fits = np.flatnonzero(trace.servers <= servers)
    left_out = len(trace) - fits.size
    if 2 * left_out > len(trace):
        raise SimulationError(
            f"{servers:,} is too few: {left_out:,} of {len(trace):,} jobs ran on more, so most of "
            f"the log cannot be replayed; give the servers of the recorded cluster",
            "servers",
        )
    own = trace.select(fits) if left_out else trace
    seed = fresh_seed() if options.seed is None else int(options.seed)
    by_class = curves_of(own, curves)
    return ReplaySetting(
        own,
        servers,
        by_class,
        request_kinds(own, by_class, servers, float(options.least), float(options.most)),
        int(float(options.judged_from) * len(own)),
        left_out,
        replace(options, seed=seed),
    )
