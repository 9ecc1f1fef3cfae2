"""Policies as JSON files.

`policies.registry` defines the keys of each kind, for example `{"policy": "fixed", "width": 3}`.
Such an object may also be the value of "policy", as in plan files and in the output of `moldable
tune --json`, which also have the classes that the policy was computed for. Errors name the file.
Whether a policy suits a scenario is checked when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from moldable.checks import as_list, checked_path
from moldable.errors import InputError, MoldableError, PolicyError, shown
from moldable.files.json_text import parse_json
from moldable.files.scenario_data import classes_from_data
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass
from moldable.policies.equi import Equi
from moldable.policies.policy import Policy
from moldable.policies.registry import KINDS, build_policy, data_from_policy, policy_from_data
from moldable.text_files import read_text, write_whole

Rule = Policy | Equi | str | Path | None
"""A policy, its spelling such as "fixed:3" or its JSON file; None is greedy(p*)."""


def read_policy_file(path: Path | str) -> Policy:
    """Read a policy from a JSON file.

    Examples:
        >>> _ = Path("fixed.json").write_text('{"policy": "fixed", "width": 3}')
        >>> read_policy_file("fixed.json")
        FixedWidth(width=3, strict=False)
    """
    path = checked_path(path)
    data = parse_json(path, read_text(path))
    try:
        return _policy(data).knowing(_classes(data))
    except MoldableError as error:
        raise InputError(f"{path}: {error}") from None


def write_policy_file(policy: Policy, path: Path | str) -> None:
    """Write a policy, and the classes that it knows, to a JSON file; an existing file is replaced.

    Examples:
        >>> write_policy_file(Thresholds({"jobs": {1: 1, 4: 2}}), "table.json")
        >>> read_policy_file("table.json").describe()
        '1 server from 1 idle, 2 from 4'
    """
    data = policy_data(policy)
    if policy.known_classes:
        classes = [job_class.to_dict() for job_class in policy.known_classes.values()]
        data = {"policy": data, "scenario": {"classes": classes}}
    write_whole(checked_path(path), f"{json.dumps(data)}\n".encode(), "policy file")


def to_json(policy: Policy) -> str:
    """Return the JSON text of a policy; reading it back gives the same decisions."""
    return json.dumps(policy_data(policy))


def named_policies(policies: Mapping[str, Rule] | Iterable[Rule], default: str) -> dict[str, Rule]:
    """Return policies by name; those of a list are called as they say, None as the default."""
    if isinstance(policies, str):
        raise PolicyError(f"policies={policies!r} is text; pass a list: [{policies!r}]")
    if isinstance(policies, Mapping):
        return dict(policies)
    listed = as_list(policies, "policies", PolicyError, "policies in a list: [Greedy()]")
    names = [default if each is None else str(getattr(each, "name", each)) for each in listed]
    twins = [name for k, name in enumerate(names) if name in names[:k]]
    if twins:
        raise PolicyError(
            f"two policies are called {twins[0]!r}; give them names: {{'mine': policy, ...}}"
        )
    return dict(zip(names, listed, strict=True))


def as_policy(policy: Rule, scenario: Scenario) -> Policy | Equi | None:
    """Return a policy, read from its spelling or its JSON file if it is one."""
    if isinstance(policy, Path) or (isinstance(policy, str) and is_file(policy)):
        return read_policy_file(policy)
    if isinstance(policy, str):
        return build_policy(policy, scenario)
    if not isinstance(policy, Policy | Equi | None):
        raise _not_a_policy(
            policy,
            "one such as Greedy(), its spelling such as 'fixed:3', or None for greedy(p*)",
            "policy",
        )
    return policy


def is_file(text: str) -> bool:
    """Return whether text names a policy file rather than a policy."""
    return text.strip().lower().endswith(".json")


def policy_data(policy: Policy) -> dict[str, Any]:
    """Return the keys and values of a policy's JSON form."""
    if not isinstance(policy, Policy):
        raise _not_a_policy(policy, "one such as Greedy() or greedy_p(...)")
    data = data_from_policy(policy)
    if data is None:
        stored = ", ".join(name for name, kind in KINDS.items() if kind.json)
        raise PolicyError(
            f"policy {policy.name} is code and cannot be written as JSON; these kinds can: {stored}"
        )
    return data


def _not_a_policy(value: object, fix: str, parameter: str | None = None) -> PolicyError:
    """Return the error about a value that is not a policy; some results, as of `tune`, have one."""
    if isinstance(getattr(value, "policy", None), Policy):
        fix = "its attribute policy"
    return PolicyError(f"{shown(value)} is not a policy; pass {fix}", parameter)


def _classes(data: Mapping[str, Any]) -> tuple[JobClass, ...]:
    """Return the classes for which a policy was computed, if the file has them."""
    inputs = data.get("inputs")
    scenario = data.get("scenario", inputs.get("scenario") if isinstance(inputs, dict) else None)
    if not isinstance(scenario, dict) or "classes" not in scenario:
        return ()
    return classes_from_data(scenario["classes"])


def _policy(data: object) -> Policy:
    if not isinstance(data, dict) or "policy" not in data:
        raise InputError('no "policy" is named; write for example {"policy": "greedy"}')
    return policy_from_data(data["policy"] if isinstance(data["policy"], dict) else data)
