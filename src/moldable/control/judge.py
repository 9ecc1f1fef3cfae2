"""Does a chosen price keep its limit beyond doubt?

Policies are judged exactly, or on random numbers that they were not chosen by. What is chosen among
noisy figures misses its limit by a little: a knob of the policy is then moved along the slope until
the far end of the interval keeps it, without wasting more than a few per cent of it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, final

from moldable.arrivals import Poisson
from moldable.control.targets import Target
from moldable.control.trials import Trials
from moldable.evaluation import choose_method, evaluate
from moldable.performance import Estimate, Performance
from moldable.policies.policy_table import Policy
from moldable.simulation.replications import count_workers
from moldable.simulation.simulate import simulate
from moldable.system import build_system

P = TypeVar("P", bound=Policy)

OTHER_SEED: Final = 7919
"""What judging adds to the seed: nothing is judged on the numbers it was chosen by."""
JOBS: Final = 1_000_000
REPLICATIONS: Final = 64
COUNTED_AT: Final = 2e-5
"""Blocking that this many jobs count well; for less there are more."""
MOST_TIMES: Final = 10.0
ATTEMPTS: Final = 5
WASTE: Final = 0.03
"""Share of the limit that may stay unused."""
LARGEST_STEP: Final = 10.0
"""In small changes of the knob."""
MOST_STEPS: Final = 50
SLOPE_ROUND: Final = 5
MERE_NOISE: Final = 1e-3
"""Slopes below which the knob does not move the figure."""


@final
@dataclass(frozen=True)
class Knob(Generic[P]):
    """A policy and the number that trades its blocking for time.

    Attributes:
        value: of the number.
        build: the policy it makes.
        small: a change of it that is small, but shows.
    """

    value: float
    build: Callable[[float], P]
    small: float

    @property
    def policy(self) -> P:
        """What it makes now."""
        return self.build(self.value)

    def turned(self, step: float) -> Knob[P]:
        """Return the knob at another value."""
        return dataclasses.replace(self, value=self.value + step)


@final
@dataclass(frozen=True)
class Judge:
    """Evaluates the chosen policies, apart from what they were chosen by."""

    trials: Trials
    target: Target
    precision: float

    def evaluate(self, policy: Policy | None) -> Performance:
        """Return a policy's performance: exactly, or from as many jobs as the limit needs."""
        own = self.trials
        system = build_system(own.workload, own.servers, policy, Poisson())
        method, reason = choose_method(system)
        seed = own.seed + OTHER_SEED
        if method != "simulate":
            return evaluate(own.workload, own.servers, policy, seed=seed, threads=own.threads)
        limit = self.target.max_blocking or 1.0
        return simulate(
            own.workload,
            own.servers,
            policy,
            jobs=int(JOBS * min(max(COUNTED_AT / limit, 1.0), MOST_TIMES)),
            replications=REPLICATIONS,
            precision=self.precision,
            seed=seed,
            threads=own.threads,
            reason=reason,
        )

    def settle(
        self, finalists: Sequence[Knob[P]], slope: float | None = None
    ) -> tuple[Knob[P], Performance, bool]:
        """Return the best policy that keeps the limit, and whether that is beyond doubt.

        If none is found that keeps it, the nearest is returned.

        Args:
            finalists: where to begin, the likeliest first.
            slope: of the limited figure's logarithm in the knob; measured if not given.
        """
        with ThreadPoolExecutor(count_workers(self.trials.threads, None)) as pool:
            answers = pool.map(self.evaluate, [knob.policy for knob in finalists])
            judged = list(zip(finalists, answers, strict=True))
        # Several finalists are the best of many tables: what lies between them was looked at.
        chosen = len(judged) > 1 and any(self._kept(answer) for _, answer in judged)
        if self.target.limit is not None and not chosen:
            judged += self._moved(*judged[0], self.target.limit, slope)
        sure = [entry for entry in judged if self._kept(entry[1])]
        knob, answer = min(sure or judged, key=lambda entry: self.target.merit_of(entry[1]))
        return knob, answer, bool(sure)

    def _moved(
        self, knob: Knob[P], answer: Performance, limit: float, slope: float | None
    ) -> list[tuple[Knob[P], Performance]]:
        """Turn the knob along the slope until the limit is kept and hardly wasted."""
        slope = self._slope(knob) if slope is None else slope
        found: list[tuple[Knob[P], Performance]] = []
        tables = {self.trials.table(knob.policy)}
        used = _far_end(self._limited(answer)) / limit
        while used > 0.0 and abs(slope) > MERE_NOISE and len(found) < ATTEMPTS:
            if 1.0 - WASTE <= used <= 1.0:
                break
            step = -(math.log(used) + 0.5 * WASTE) / slope
            most = LARGEST_STEP * knob.small
            moved = self._to_other_table(knob, max(-most, min(most, step)), tables)
            answer = self.evaluate(moved.policy)
            found.append((moved, answer))
            before, used = used, _far_end(self._limited(answer)) / limit
            seen = math.log(used / before) / (moved.value - knob.value)
            slope = seen if seen * slope > 0.0 else slope
            knob = moved
        return found

    def _to_other_table(self, knob: Knob[P], step: float, tables: set[Hashable]) -> Knob[P]:
        """Turn the knob by the step, or by as many of them as change a decision."""
        for _ in range(MOST_STEPS):
            knob = knob.turned(step)
            if self.trials.table(knob.policy) not in tables:
                break
        tables.add(self.trials.table(knob.policy))
        return knob

    def _slope(self, knob: Knob[P]) -> float:
        """Measure how the limited figure's logarithm changes, on common random numbers."""
        ends = [knob.turned(way * knob.small).policy for way in (-1.0, 1.0)]
        low, high = self.trials.measure(ends, SLOPE_ROUND)
        which = 0 if self.target.max_blocking is not None else 1
        if min(low[which], high[which]) <= 0.0:
            return 0.0
        return math.log(high[which] / low[which]) / (2.0 * knob.small)

    def _limited(self, answer: Performance) -> Estimate:
        on_blocking = self.target.max_blocking is not None
        return answer.blocking if on_blocking else answer.mean_execution_time

    def _kept(self, answer: Performance) -> bool:
        """Is the limit kept at the far end of the interval?"""
        return self.target.kept(_far_end(answer.blocking), _far_end(answer.mean_execution_time))


def _far_end(estimate: Estimate) -> float:
    return estimate.value if estimate.interval is None else estimate.interval[1]
