"""Which policy does a JSON file hold, and how is a policy written as one?

`{"policy": "greedy"}`
`{"policy": "greedy-p", "classes": {"jobs": {"3": 0.5, "4": 0.5}}}`      width: share of the jobs
`{"policy": "fixed", "width": 3, "strict": false}`
`{"policy": "rigid"}` or `{"policy": "rigid", "classes": {"jobs": 3}}`   the width of each class
`{"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2}}}`        idle servers: width
`{"policy": "thresholds", "classes": {"jobs": {"4": {"1": 0.5, "2": 0.5}}}}`     width: probability

What holds such a thing under "policy", as an answer of `moldable tune --json` does, will do.
Every complaint about what is written names the file; whether it suits a workload is seen when it is
used. To add a kind of policy, add a row to KINDS.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moldable.checks import checked_path
from moldable.errors import InputError, MoldableError, PolicyError, nearest
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.greedy import Greedy, GreedyP
from moldable.policies.policy_table import Policy
from moldable.policies.rigid import Rigid
from moldable.policies.thresholds import Thresholds
from moldable.text_files import read_text, write_whole

Data = Mapping[str, Any]

DIGITS: Final = 18
"""Of a key that can be a number of servers; thousands of them Python does not even read."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of policy is written.

    Attributes:
        policy: its class.
        read: makes the policy of the file's keys.
        write: gives those keys back.
        required: the keys it needs beside "policy".
        optional: those it may have.
    """

    policy: type[Policy]
    read: Callable[[Data], Policy]
    write: Callable[[Any], dict[str, Any]]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


def read_policy_file(path: Path | str) -> Policy:
    """Read a policy from a JSON file."""
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
    """Write a policy to a JSON file, whole or not at all; a file that is there is replaced."""
    write_whole(checked_path(path), f"{to_json(policy)}\n".encode(), "policy file")


def to_json(policy: Policy) -> str:
    """Write a policy so that reading it back gives the same decisions."""
    return json.dumps(policy_data(policy))


def policy_data(policy: Policy) -> dict[str, Any]:
    """Return the keys of the file that would hold the policy."""
    for name, kind in KINDS.items():
        if isinstance(policy, kind.policy):
            return {"policy": name, **kind.write(policy)}
    if not isinstance(policy, Policy):
        raise PolicyError(f"{policy!r} is not a policy; pass one such as Greedy() or greedy_p(...)")
    raise PolicyError(
        f"policy {policy.name} is code rather than data, so it has no JSON; "
        f"these kinds have: {', '.join(KINDS)}"
    )


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (json.JSONDecodeError, MoldableError):
        raise
    except (RecursionError, ValueError):  # thousands of brackets, or of digits
        raise InputError("no policy is nested so deeply or has numbers so long") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"key {key!r} is given twice; keep one of them")
        found[key] = value
    return found


def _policy(data: object) -> Policy:
    if not isinstance(data, dict) or "policy" not in data:
        raise InputError('no "policy" is named; write {"policy": "greedy"}, say')
    if isinstance(data["policy"], dict):
        data = data["policy"]
    name = data.get("policy")
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"unknown policy {name!r}; {nearest(str(name), KINDS)}")
    kind = KINDS[name]
    known = ("policy", *kind.required, *kind.optional)
    for key in data:
        if key not in known:
            raise InputError(f"unknown key {key!r} of policy {name!r}; {nearest(key, known)}")
    for key in kind.required:
        if key not in data:
            raise InputError(f'policy {name!r} needs {key!r}; add "{key}": ...')
    return kind.read(data)


def _classes(data: Data) -> dict[str, Any]:
    classes = data.get("classes", {})
    if not isinstance(classes, dict):
        raise InputError(f'"classes" is {classes!r}; write {{"NAME OF CLASS": ...}}')
    return classes


def _tables(data: Data, row: str) -> dict[str, dict[int, Any]]:
    """Return a table for each class; `row` says what its rows are."""
    tables: dict[str, dict[int, Any]] = {}
    for name, table in _classes(data).items():
        if not isinstance(table, dict):
            raise InputError(f"class {name!r} has {table!r}; write {row}")
        tables[name] = _whole_keys(name, table, row)
    return tables


def _whole_keys(name: str, table: dict[str, Any], row: str) -> dict[int, Any]:
    """Return a table whose keys are numbers of servers; a draw among widths is one itself."""
    found: dict[int, Any] = {}
    for key, value in table.items():
        number = int(key) if key.isascii() and key.isdigit() and len(key) <= DIGITS else None
        if number is None or number in found:
            raise InputError(
                f"class {name!r}: key {key[:DIGITS]!r} is no whole number of servers or "
                f"repeats one; write {row}"
            )
        found[number] = _whole_keys(name, value, row) if isinstance(value, dict) else value
    return found


def _read_greedy_p(data: Data) -> GreedyP:
    shares = _tables(data, '{"width": share, ...}')
    label = data.get("label", GreedyP.label)
    if not isinstance(label, str):
        raise InputError(f'"label" is {label!r}; it must be text, the name in reports')
    return GreedyP(shares, label)


def _write_greedy_p(policy: GreedyP) -> dict[str, Any]:
    # Widths and shares may be numpy's, which JSON does not know.
    classes = {
        name: {int(width): float(share) for width, share in shares.items()}
        for name, shares in policy.shares.items()
    }
    return {"label": policy.label, "classes": classes}


def _read_fixed(data: Data) -> FixedWidth:
    strict = data.get("strict", False)
    if not isinstance(strict, bool):
        raise InputError(f'"strict" is {strict!r}; it must be true or false')
    return FixedWidth(data["width"], strict)


KINDS: Final = {
    "greedy": Kind(Greedy, lambda _: Greedy(), lambda _: {}),
    "greedy-p": Kind(
        GreedyP,
        _read_greedy_p,
        _write_greedy_p,
        required=("classes",),
        optional=("label",),
    ),
    "fixed": Kind(
        FixedWidth,
        _read_fixed,
        lambda policy: {"width": policy.width, "strict": policy.strict},
        required=("width",),
        optional=("strict",),
    ),
    "rigid": Kind(
        Rigid,
        lambda data: Rigid(_classes(data)),
        lambda policy: {"classes": policy.widths} if policy.widths else {},
        optional=("classes",),
    ),
    "thresholds": Kind(
        Thresholds,
        lambda data: Thresholds(_tables(data, '{"idle servers": width, ...}')),
        lambda policy: {"classes": policy.tables},
        required=("classes",),
    ),
}
"""The kinds of policies that are data, by the name they have in a file."""
