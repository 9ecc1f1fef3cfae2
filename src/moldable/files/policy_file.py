"""Policies as JSON files.

`policies.registry` defines the keys of each kind, for example `{"policy": "fixed", "width": 3}`.
Such an object may also be the value of "policy", as in the output of `moldable tune --json`. Errors
name the file. Whether a policy suits a scenario is checked when it is used.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from moldable.checks import checked_path
from moldable.errors import InputError, MoldableError, PolicyError, shown
from moldable.model.scenario import Scenario
from moldable.policies.equi import Equi
from moldable.policies.policy import Policy
from moldable.policies.registry import KINDS, build_policy, data_from_policy, policy_from_data
from moldable.text_files import read_text, write_whole

Rule = Policy | Equi | str | Path | None
"""A policy, its spelling such as "fixed:3" or its JSON file; None is greedy(p*)."""


def read_policy_file(path: Path | str) -> Policy:
    """Read a policy from a JSON file.

    Example:
        >>> _ = Path("fixed.json").write_text('{"policy": "fixed", "width": 3}')
        >>> read_policy_file("fixed.json")
        FixedWidth(width=3, strict=False)
    """
    path = checked_path(path)
    text = read_text(path)
    try:
        return _policy(_parsed(text))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: not valid JSON: {error.msg.lower()}"
        ) from None
    except MoldableError as error:
        raise InputError(f"{path}: {error}") from None


def write_policy_file(policy: Policy, path: Path | str) -> None:
    """Write a policy to a JSON file atomically; an existing file is replaced.

    Example:
        >>> write_policy_file(Thresholds({"jobs": {1: 1, 4: 2}}), "table.json")
        >>> read_policy_file("table.json").describe()
        '1 server from 1 idle, 2 from 4'
    """
    write_whole(checked_path(path), f"{to_json(policy)}\n".encode(), "policy file")


def to_json(policy: Policy) -> str:
    """Return the JSON text of a policy; reading it back gives the same decisions."""
    return json.dumps(policy_data(policy))


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


def _policy(data: object) -> Policy:
    if not isinstance(data, dict) or "policy" not in data:
        raise InputError('no "policy" is named; write for example {"policy": "greedy"}')
    return policy_from_data(data["policy"] if isinstance(data["policy"], dict) else data)


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (json.JSONDecodeError, MoldableError):
        raise
    except (RecursionError, ValueError):  # thousands of brackets, or of digits
        raise InputError("the JSON is nested too deeply or has too long numbers") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"key {key!r} is given twice; keep one of them")
        found[key] = value
    return found
