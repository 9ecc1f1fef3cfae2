"""What a plan predicts for the figures of a report. All times are in seconds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from moldable.evaluation.evaluate import evaluate
from moldable.live.plan_file import LivePlan
from moldable.live.rehearsal import seconds

RATE, BLOCKING, SHARE = "arrival rate", "blocking", "share"
WAIT, WAITED, TIME = "mean wait", "wait probability", "execution time"
_WIDTH: Final = re.compile(r"[1-9][0-9]{0,8}")


class Key(NamedTuple):
    """Which figure: its name, the class, and the width of shares and execution times."""

    figure: str
    job_class: str
    width: int = 0


def expected_figures(plan: LivePlan) -> dict[Key, float]:
    """Return the predicted figures, computed if the plan file has none or damaged ones."""
    scenario, unit = plan.scenario, seconds(plan.scenario)
    found: dict[Key, float] = {}
    predicted = _predicted(plan)
    for job_class in scenario.workload.classes:
        name, part = job_class.name, predicted[job_class.name]
        found[Key(RATE, name)] = job_class.arrival_rate / unit
        found[Key(BLOCKING, name)] = float(part["blocking"])
        if scenario.waiting:
            found[Key(WAIT, name)] = float(part["mean_wait"]) * unit
            found[Key(WAITED, name)] = float(part["wait_probability"])
        shares = {int(width): float(share) for width, share in part["width_shares"].items()}
        curve = job_class.speedup
        for width, speedup in zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True):
            found[Key(SHARE, name, width)] = shares.get(width, 0.0)
            found[Key(TIME, name, width)] = job_class.mean_size / speedup * unit
    return found


def _predicted(plan: LivePlan) -> Mapping[str, Mapping[str, Any]]:
    """Return the performance of each class as plain data."""
    needed = {"blocking"}
    if plan.scenario.waiting:
        needed |= {"mean_wait", "wait_probability"}
    stored = plan.expected.get("classes")
    parts = {
        part["name"]: part
        for part in (stored if isinstance(stored, list) else [])
        if isinstance(part, dict)
        and isinstance(part.get("name"), str)
        and all(_is_number(part.get(key)) for key in needed)
        and _are_shares(part.get("width_shares"))
    }
    if all(each.name in parts for each in plan.scenario.workload.classes):
        return parts
    answer = evaluate(plan.scenario, plan.policy)
    return {part.name: part.to_dict() for part in answer.classes}


def _is_number(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value < math.inf  # type: ignore[operator]


def _are_shares(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(width, str) and _WIDTH.fullmatch(width) and _is_number(share)
        for width, share in value.items()
    )
