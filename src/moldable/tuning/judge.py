"""Does a chosen price keep its limit beyond doubt?

Policies are judged exactly, or on random numbers that they were not chosen by. What is chosen among
noisy figures misses its limit by a little: a knob of the policy is then moved along the slope until
the far end of the interval keeps it, without wasting more than a few per cent of it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, final

from moldable.evaluation.evaluate import solve_exactly
from moldable.model.scenario import Scenario
from moldable.policies.policy_table import Policy
from moldable.simulation.descents import rare_blocking_interval
from moldable.simulation.plan import JUDGED, child_seed
from moldable.simulation.replications import count_workers
from moldable.simulation.simulate import RunOptions, simulate_system
from moldable.system.loss_system import build_system
from moldable.system.performance import Estimate, Performance
from moldable.threads import on_threads
from moldable.tuning.knob import Knob
from moldable.tuning.refusals import JOBS
from moldable.tuning.targets import Target
from moldable.tuning.trials import Trials
from moldable.tuning.way import Way

P = TypeVar("P", bound=Policy)

REPLICATIONS: Final = 64
MOST_TIMES: Final = 4
"""Rounds of these until the precision is reached; heavy tails never reach it."""
COUNTABLE: Final = 1e-5
"""Blocking that these jobs count in the end."""
RARE: Final = 2e-5
"""Blocking below which these jobs count too little."""
AT_A_TIME: Final = 8
"""Finalists that are judged before the next ones are asked for."""
ATTEMPTS: Final = 8
WASTE, WASTED_RARE, WASTED_TIME = 0.03, 0.15, 0.002
"""Share of the limit that may stay unused: of one on blocking, on rare blocking, and on time."""
WASTED_EXACTLY: Final = 0.0005
"""The same where figures have no noise."""
LARGEST_STEP: Final = 10.0
"""In small changes of the knob, at first."""
MOST_STEPS: Final = 100
SLOPE_ROUND: Final = 5


@final
@dataclass(frozen=True)
class Judge:
    """Evaluates the chosen policies, apart from what they were chosen by."""

    trials: Trials
    target: Target
    precision: float

    @property
    def seed(self) -> int:
        """Seed of evaluations: no policy is judged on the random numbers it was chosen by."""
        return child_seed(self.trials.seed, JUDGED)

    @property
    def blind(self) -> bool:
        """Is the limit so rare that it can be neither counted nor followed?"""
        limit = self.target.max_blocking
        return limit is not None and limit < COUNTABLE and not self.trials.memoryless

    def refuted(self, answer: Performance) -> bool:
        """Is the limit broken even at the near end of the interval?"""
        ends = [each.interval or (each.value, each.value) for each in _both(answer)]
        return not self.target.kept(*(low for low, _ in ends))

    def evaluate(self, policy: Policy) -> Performance:
        """Return a policy's performance: exactly, or from as many jobs as the limit needs."""
        own = self.trials
        system = build_system(Scenario(own.workload, own.servers), policy)
        exact = solve_exactly(system, "auto")
        if isinstance(exact, Performance):
            return exact
        options = RunOptions(
            jobs=JOBS,
            replications=REPLICATIONS,
            precision=self.precision,
            max_jobs=MOST_TIMES * JOBS * REPLICATIONS,
            seed=self.seed,
            threads=own.threads,
        )
        answer = simulate_system(system, options, exact.reason)
        rare = self.target.rare and answer.blocking.value < RARE
        return self._followed(answer, policy) if rare else answer

    def _followed(self, answer: Performance, policy: Policy) -> Performance:
        """Replace blocking too rare to count, if descents can be followed."""
        own = self.trials
        blocking = rare_blocking_interval(
            Scenario(own.workload, own.servers), policy, seed=self.seed, threads=own.threads
        )
        if blocking is None:
            return answer
        reason = f"{answer.reason}; blocking too rare to count was found by splitting"
        return dataclasses.replace(answer, blocking=blocking, reason=reason)

    def settle(
        self, finalists: Sequence[Knob[P]], slope: float | None = None
    ) -> tuple[Knob[P], Performance, bool]:
        """Return the best policy that keeps the limit, and whether that is beyond doubt.

        If none is found that keeps it, the nearest is returned.

        Args:
            finalists: where to begin, the likeliest first.
            slope: of the limited figure's logarithm in the knob; measured if not given.
        """
        judged = self._judged(finalists)
        # Several finalists are the best of many tables: what lies between them was looked at.
        chosen = len(judged) > 1 and any(self.keeps(answer) for _, answer in judged)
        # What cannot be counted is left where it is, unless enough was counted to refuse it.
        movable = not self.blind or self.refuted(judged[0][1])
        if self.target.limit is not None and not chosen and movable:
            judged += self._moved(*judged[0], self.target.limit, slope)
        sure = [entry for entry in judged if self.keeps(entry[1])]
        knob, answer = min(sure or judged, key=lambda entry: self.target.merit_of(entry[1]))
        return knob, answer, bool(sure)

    def _judged(self, finalists: Sequence[Knob[P]]) -> list[tuple[Knob[P], Performance]]:
        """Evaluate the likeliest, and if none of them keeps the limit the next ones."""
        judged: list[tuple[Knob[P], Performance]] = []
        workers = count_workers(self.trials.threads, None)
        while len(judged) < len(finalists) and not any(self.keeps(one) for _, one in judged):
            likeliest = finalists[len(judged) : len(judged) + AT_A_TIME]
            answers = on_threads(self.evaluate, [knob.policy for knob in likeliest], workers)
            judged += zip(likeliest, answers, strict=True)
        return judged

    def _moved(
        self, knob: Knob[P], answer: Performance, limit: float, slope: float | None
    ) -> list[tuple[Knob[P], Performance]]:
        """Turn the knob until the limit is kept and hardly wasted, or nothing is gained."""
        slope = self._slope(knob) if slope is None else slope
        waste = self._waste if answer.method == "simulate" else WASTED_EXACTLY
        way = Way(waste, 1.0 if self.target.max_blocking is not None else -1.0, slope)
        found = [(knob, answer)]
        tables = {self.trials.table(knob.policy)}
        least = math.inf
        while len(found) <= ATTEMPTS:
            knob, answer = found[-1]
            way.note(knob.value, math.log(_far_end(self._limited(answer)) / limit))
            merit = self.target.merit_of(answer) if self.keeps(answer) else math.inf
            if way.arrived() or (math.isfinite(merit) and merit >= least):
                break
            least = min(least, merit)
            moved = self._to_other_table(knob, way, LARGEST_STEP * knob.small, tables)
            if moved is None:
                break
            found.append((moved, self.evaluate(moved.policy)))
        return found[1:]

    @property
    def _waste(self) -> float:
        if self.target.max_blocking is None:
            return WASTED_TIME
        return WASTED_RARE if self.target.rare else WASTE

    def _to_other_table(
        self, knob: Knob[P], way: Way, most: float, tables: set[Hashable]
    ) -> Knob[P] | None:
        """Turn the knob as the way says, further or nearer until a decision changes."""
        value = way.next(knob.small, most)
        for _ in range(MOST_STEPS):
            moved = dataclasses.replace(knob, value=value)
            if self.trials.table(moved.policy) not in tables:
                tables.add(self.trials.table(moved.policy))
                return moved
            value = way.beyond(value, knob.small)
        return None

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

    def keeps(self, answer: Performance) -> bool:
        """Is the limit kept at the far end of the interval?"""
        return self.target.kept(*map(_far_end, _both(answer)))


def _both(answer: Performance) -> tuple[Estimate, Estimate]:
    return answer.blocking, answer.mean_execution_time


def _far_end(estimate: Estimate) -> float:
    return estimate.value if estimate.interval is None else estimate.interval[1]
