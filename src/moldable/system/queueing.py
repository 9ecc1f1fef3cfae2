"""Figures of a cluster whose jobs may wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, final

from moldable.base_result import finite
from moldable.system.estimate import Estimate


@final
@dataclass(frozen=True, kw_only=True)
class Queueing:
    """Waiting and response times of accepted jobs.

    Attributes:
        mean_response_time: waiting plus execution.
        mean_wait: over all accepted jobs, those that do not wait included.
        wait_probability: share of accepted jobs that wait.
        queue_length: mean number of waiting jobs.
        wait_quantiles: of the waiting time, by level; empty where the method does not give them.
        response_quantiles: the same for the response time.
        slowdown: mean of response time / execution time; None where it is not known, infinite where
            arbitrarily small jobs make it so.
        bounded_slowdown: mean of max(1, response time / max(execution time, threshold)); None where
            it is not known.

    Examples:
        >>> jobs = Scenario.single([1], 0.8, 4, waiting="unlimited")
        >>> round(evaluate(jobs, "fixed:1").queueing.wait_probability, 6)
        0.596432
    """

    mean_response_time: Estimate
    mean_wait: Estimate
    wait_probability: Estimate
    queue_length: Estimate
    wait_quantiles: Mapping[float, Estimate] = field(default_factory=dict)
    response_quantiles: Mapping[float, Estimate] = field(default_factory=dict)
    slowdown: Estimate | None = None
    bounded_slowdown: Estimate | None = None

    def without_intervals(self) -> Queueing:
        """Return the same values without intervals."""

        def bare(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {level: bare(one) for level, one in value.items()}
            return None if value is None else Estimate(value.value, None)

        return Queueing(**{own.name: bare(getattr(self, own.name)) for own in fields(self)})

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; null for what is not known."""
        found: dict[str, Any] = {}
        for name in ("mean_response_time", "mean_wait", "wait_probability", "queue_length"):
            found |= plain(name, getattr(self, name))
        for name in ("wait_quantiles", "response_quantiles"):
            levels: Mapping[float, Estimate] = getattr(self, name)
            values = {f"{level:g}": plain("v", value) for level, value in levels.items()}
            found[name] = {level: value["v"] for level, value in values.items()} or None
            intervals = {level: value["v_interval"] for level, value in values.items()}
            found[f"{name}_interval"] = intervals or None
        for name in ("slowdown", "bounded_slowdown"):
            value = getattr(self, name)
            found |= plain(name, Estimate(math.nan, None) if value is None else value)
        return found


def plain(name: str, estimate: Estimate) -> dict[str, Any]:
    """Return an estimate and its interval, ready for JSON; null for what is not finite."""
    interval = estimate.interval
    shown = None if interval is None or not all(map(math.isfinite, interval)) else list(interval)
    return {name: finite(estimate.value), f"{name}_interval": shown}
