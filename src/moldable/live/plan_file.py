"""Plan files: a policy with the scenario that it was made for and the performance to expect.

A plan file is a policy file with two more keys, so every `--policy` takes it. The JSON output of
`moldable plan` and `moldable tune` has the same content under other keys and can be read as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from moldable.checks import check_type, checked_path
from moldable.errors import InputError, MoldableError, suggest
from moldable.files.json_text import parse_json
from moldable.files.policy_file import policy_data
from moldable.files.scenario_data import scenario_from_data
from moldable.live.plan_data import plan_digest, plan_parts
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass
from moldable.policies.policy import Policy
from moldable.policies.registry import policy_from_data
from moldable.system.loss_system import build_system
from moldable.system.performance import Performance
from moldable.text_files import read_text, write_whole


@final
@dataclass(frozen=True, slots=True)
class LivePlan:
    """A policy for a real cluster.

    Attributes:
        policy: the policy, which knows the classes of the scenario by name.
        scenario: what it was made for. Its waiting places are those of the cluster.
        expected: predicted figures: blocking or waiting times, execution times, and for each class
            its arrival rate and the shares of its widths.
        digest: identifies the policy, the classes, the servers and the waiting places.

    Examples:
        >>> tuned = tune(Scenario.single([1, 1.8], 0.7, 8), max_blocking=0.1)
        >>> write_plan("plan.json", tuned.policy, tuned.performance)
        >>> read_plan("plan.json").job_class().name
        'jobs'
    """

    policy: Policy
    scenario: Scenario
    expected: Mapping[str, Any]
    digest: str

    def job_class(self, name: str | None = None) -> JobClass:
        """Return a class by its name, which may be left out if there is one class only."""
        classes = {job_class.name: job_class for job_class in self.scenario.workload.classes}
        if name is None and len(classes) == 1:
            return next(iter(classes.values()))
        if name is None:
            raise InputError(
                f"the plan has {len(classes)} classes; name one of them with --class: "
                f"{', '.join(sorted(classes))}"
            )
        if name not in classes:
            raise InputError(f"unknown class {name!r}; {suggest(name, classes)}")
        return classes[name]


def read_plan(path: Path | str) -> LivePlan:
    """Read a plan file, or the JSON output of `moldable plan` or `moldable tune`.

    Examples:
        >>> tuned = tune(Scenario.single([1, 1.8], 0.7, 8), max_blocking=0.1)
        >>> write_plan("plan.json", tuned.policy, tuned.performance)
        >>> plan = read_plan("plan.json")
        >>> plan.policy.grant("jobs", idle=8), plan.scenario.servers
        (2, 8)
    """
    path = checked_path(path)
    data = parse_json(path, read_text(path))
    try:
        return plan_from_data(data)
    except MoldableError as error:
        raise InputError(f"{path}: {error}") from None


def plan_from_data(data: object) -> LivePlan:
    """Return the plan that a file holds."""
    policy, scenario = plan_parts(data)
    made, found = policy_from_data(policy), scenario_from_data(scenario)
    build_system(found, made)  # checks that the policy suits the scenario
    assert isinstance(data, Mapping)  # noqa: S101 - checked by plan_parts
    expected = next((data[key] for key in ("expected", "performance") if key in data), data)
    return LivePlan(
        made.with_classes(found), found, _expected(expected), plan_digest(policy, scenario)
    )


def write_plan(path: Path | str, policy: Policy, performance: Performance) -> None:
    """Write a plan file atomically; an existing file is replaced.

    Examples:
        >>> tuned = tune(Scenario.single([1, 1.8], 0.7, 8), max_blocking=0.1)
        >>> write_plan("plan.json", tuned.policy, tuned.performance)
    """
    check_type(performance, Performance, "performance", InputError, "tuned.performance")
    scenario = performance.scenario
    data = {
        "policy": policy_data(policy),
        "scenario": scenario.to_dict(),
        "expected": {
            **_expected(performance.to_dict()),
            "classes": [
                {"arrival_rate": job_class.arrival_rate, **part.to_dict()}
                for job_class, part in zip(
                    scenario.workload.classes, performance.classes, strict=True
                )
            ],
        },
    }
    write_whole(checked_path(path), f"{json.dumps(data, indent=1)}\n".encode(), "plan file")


def _expected(data: object) -> dict[str, Any]:
    """Return the predicted figures among the keys of an answer."""
    known = (
        *("blocking", "mean_response_time", "mean_wait", "wait_probability"),
        *("mean_execution_time", "time_unit", "width_shares", "classes"),
    )
    if not isinstance(data, Mapping):
        return {}
    return {key: data[key] for name in known for key in (name, f"{name}_interval") if key in data}
