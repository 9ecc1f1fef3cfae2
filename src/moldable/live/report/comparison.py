"""Which observed figures differ from a plan's prediction, beyond chance and by enough to matter.

A figure differs if its distance from the prediction, less what does not matter, is too many
standard errors. The limit takes the number of comparisons into account (Holm's procedure): if the
cluster is as planned, at most one report in a hundred warns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.base_result import finite
from moldable.live.report.batches import Measured
from moldable.live.report.expected import BLOCKING, RATE, SHARE, TIME, WAIT, WAITED
from moldable.simulation.estimates import chance, student
from moldable.system.estimate import Estimate
from moldable.system.queueing import plain

LEVEL: Final = 0.01
"""Probability of at least one warning if the cluster is as planned."""
RELATIVE: Final = {RATE: 0.02, TIME: 0.02, WAIT: 0.1, BLOCKING: 0.1, SHARE: 0.0, WAITED: 0.0}
"""Relative differences that do not matter. Waits and blocking change several times as much as the
load does."""
ABSOLUTE: Final = {SHARE: 0.02}
"""Absolute differences that do not matter."""
NOT_TESTED: Final = frozenset({WAITED})
"""A share of jobs that wait depends on how soon a real cluster starts a job that need not wait."""


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """An observed figure and its prediction, in the plan's unit of time.

    Attributes:
        figure: "arrival rate", "blocking", "mean wait", "wait probability", "share" (of a width
            among the accepted jobs of the class) or "execution time".
        job_class: the class.
        width: of shares and execution times; None for other figures.
        observed: what was observed, with its 95 % confidence interval; NaN if nothing was.
        expected: what the plan predicts.
        jobs: number of jobs that the observed figure is based on.
        p_value: probability of a difference this large by chance; None if it was not tested.
        differs: whether it differs beyond chance, all comparisons of the report considered.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 8)
        >>> write_plan("plan.json", FixedWidth(2), evaluate(scenario, FixedWidth(2)))
        >>> jobs = poisson_jobs(scenario, 2000, seed=1)
        >>> write_journal("journal.jsonl", rehearse(scenario, FixedWidth(2), jobs))
        >>> rate = live_report("journal.jsonl", "plan.json").figures[0]
        >>> rate.figure, round(rate.expected, 1), rate.differs
        ('arrival rate', 5.6, False)
    """

    figure: str
    job_class: str
    width: int | None
    observed: Estimate
    expected: float
    jobs: int
    p_value: float | None
    differs: bool

    @property
    def ratio(self) -> float:
        """Observed / expected."""
        return self.observed / self.expected if self.expected else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        return {
            "figure": self.figure,
            "class": self.job_class,
            "width": self.width,
            **plain("observed", self.observed),
            "expected": finite(self.expected),
            "jobs": self.jobs,
            "p_value": self.p_value,
            "differs": self.differs,
        }


def p_value(figure: str, found: Measured, expected: float, grace: float = 0.0) -> float | None:
    """Return the probability of a distance this large by chance; None if it cannot be told.

    Args:
        figure: its name.
        found: what was observed.
        expected: what was predicted.
        grace: absolute difference that does not matter, besides those of the figure.
    """
    if found.interval is None or figure in NOT_TESTED or not math.isfinite(expected):
        return None
    if found.logarithmic and expected <= 0.0:
        return None
    margin = RELATIVE[figure] * expected + ABSOLUTE.get(figure, 0.0) + grace
    below = found.value < expected
    nearest = expected - margin if below else expected + margin
    if (nearest <= found.value) if below else (nearest >= found.value):
        return 1.0
    end = found.interval[1] if below else found.interval[0]
    scale = math.log if found.logarithmic else float
    reach = abs(scale(end) - scale(found.value))
    if reach == 0.0:
        return 0.0
    errors = student(found.freedom) * abs(scale(nearest) - scale(found.value)) / reach
    return chance(found.freedom, errors)


def differing(p_values: Mapping[Any, float | None], level: float = LEVEL) -> set[Any]:
    """Return the keys of the hypotheses that Holm's procedure rejects."""
    tested: Sequence[tuple[float, Any]] = sorted(
        ((p, key) for key, p in p_values.items() if p is not None), key=lambda pair: pair[0]
    )
    found = set()
    for rank, (p, key) in enumerate(tested):
        if p > level / (len(tested) - rank):
            break
        found.add(key)
    return found
