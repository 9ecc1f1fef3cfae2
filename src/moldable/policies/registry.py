"""All policies: how each is spelled, described, built and stored.

The command line, its help, policy files and the documentation read this table. To add a policy, add
a row to KINDS. The classes are imported when they are used, so that the command line can list the
policies without loading numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from moldable.errors import InputError, MoldableError, nearest

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.equi import Equi
    from moldable.policies.greedy import GreedyP
    from moldable.policies.policy_table import Policy

Data = Mapping[str, Any]

DIGITS: Final = 18
"""Of a key that can be a number of servers; thousands of them Python does not even read."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """How a policy is stored.

    Attributes:
        read: makes the policy of its class and the file's keys.
        write: gives those keys back.
        required: the keys it needs beside "policy".
        optional: those it may have.
        example: what such a file holds.
    """

    read: Callable[[Any, Data], Policy]
    write: Callable[[Any], dict[str, Any]]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """One policy.

    Attributes:
        policy: where its class is.
        summary: what it does, in a few words.
        usage: how it is spelled on the command line; empty if it is only stored.
        example: a spelling, or several.
        parameter: what stands behind the colon; empty if nothing does.
        build: makes the policy of its class, that text and a scenario; None is the default policy.
        json: how it is stored, if it is.
    """

    policy: str
    summary: str
    usage: str = ""
    example: str = ""
    parameter: str = ""
    build: Callable[[Any, str, Scenario], Policy | Equi | None] | None = None
    json: JsonForm | None = None


def policy_help() -> str:
    """List the policies for the help of the command line."""
    return ", ".join(f"{kind.usage} ({kind.summary})" for kind in KINDS.values() if kind.usage)


def build_policy(text: str, scenario: Scenario) -> Policy | Equi | None:
    """Build the policy that is spelled so; None is the default, greedy(p*)."""
    name, colon, parameter = text.strip().partition(":")
    named = {key: kind for key, kind in KINDS.items() if kind.build is not None}
    kind = named.get(name)
    if kind is None or kind.build is None:
        raise InputError(f"unknown policy {text!r}; {nearest(name, named)}, or a file FILE.json")
    if colon and not kind.parameter:
        raise InputError(f"policy {text!r} takes no number; write {kind.example}")
    if not parameter and (colon or (kind.parameter and "[" not in kind.usage)):
        raise InputError(f"policy {text!r} lacks its number; write {kind.example}")
    try:
        return kind.build(resolve_name(kind.policy), parameter, scenario)
    except MoldableError:
        raise
    except ValueError:
        raise InputError(
            f"policy {text!r}: {parameter!r} is not {kind.parameter}; write {kind.example}"
        ) from None


def policy_from_data(data: Data) -> Policy:
    """Build a policy from the keys of a file."""
    name = data.get("policy")
    stored = {key: kind for key, kind in KINDS.items() if kind.json is not None}
    kind = stored.get(name) if isinstance(name, str) else None
    if kind is None or kind.json is None:
        raise InputError(f"unknown policy {name!r}; {nearest(str(name), stored)}")
    form = kind.json
    known = ("policy", *form.required, *form.optional)
    for key in data:
        if key not in known:
            raise InputError(f"unknown key {key!r} of policy {name!r}; {nearest(key, known)}")
    for key in form.required:
        if key not in data:
            raise InputError(f'policy {name!r} needs {key!r}; add "{key}": ...')
    return form.read(resolve_name(kind.policy), data)


def data_from_policy(policy: Policy) -> dict[str, Any] | None:
    """Return the keys of the file that would hold the policy; None if no file can."""
    for name, kind in KINDS.items():
        if kind.json is not None and isinstance(policy, resolve_name(kind.policy)):
            return {"policy": name, **kind.json.write(policy)}
    return None


def _greedy_p(_: Any, parameter: str, scenario: Scenario) -> Policy | None:
    if not parameter:
        return None
    found: Policy = resolve_name("moldable.policies.greedy:greedy_p")(scenario, float(parameter))
    return found


def _value(_: Any, parameter: str, scenario: Scenario) -> Policy:
    found: Policy = resolve_name("moldable.policies.value:value_policy")(scenario, float(parameter))
    return found


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


def _read_greedy_p(policy: Any, data: Data) -> Policy:
    label = data.get("label", policy.label)
    if not isinstance(label, str):
        raise InputError(f'"label" is {label!r}; it must be text, the name in reports')
    found: Policy = policy(_tables(data, '{"width": share, ...}'), label)
    return found


def _write_greedy_p(policy: GreedyP) -> dict[str, Any]:
    # Widths and shares may be numpy's, which JSON does not know.
    classes = {
        name: {int(width): float(share) for width, share in shares.items()}
        for name, shares in policy.shares.items()
    }
    return {"label": policy.label, "classes": classes}


def _read_fixed(policy: Any, data: Data) -> Policy:
    strict = data.get("strict", False)
    if not isinstance(strict, bool):
        raise InputError(f'"strict" is {strict!r}; it must be true or false')
    found: Policy = policy(data["width"], strict)
    return found


KINDS: Final = {
    "greedy-p": PolicyKind(
        "moldable.policies.greedy:GreedyP",
        "widths drawn from the optimum's shares, by default at the true load",
        usage="greedy-p[:DESIGN_LOAD]",
        example="greedy-p or greedy-p:0.85",
        parameter="a load",
        build=_greedy_p,
        json=JsonForm(
            _read_greedy_p,
            _write_greedy_p,
            required=("classes",),
            optional=("label",),
            example='{"policy": "greedy-p", "classes": {"jobs": {"3": 0.5, "4": 0.5}}}',
        ),
    ),
    "greedy": PolicyKind(
        "moldable.policies.greedy:Greedy",
        "the widest width that fits",
        usage="greedy",
        example="greedy",
        build=lambda policy, *_: policy(),
        json=JsonForm(
            lambda policy, _: policy(),
            lambda _: {},
            example='{"policy": "greedy"}',
        ),
    ),
    "fixed": PolicyKind(
        "moldable.policies.fixed_width:FixedWidth",
        "one width, or what is idle of it",
        usage="fixed:WIDTH",
        example="fixed:3",
        parameter="a width",
        build=lambda policy, text, _: policy(int(text)),
        json=JsonForm(
            _read_fixed,
            lambda policy: {"width": policy.width, "strict": policy.strict},
            required=("width",),
            optional=("strict",),
            example='{"policy": "fixed", "width": 3, "strict": false}',
        ),
    ),
    "fixed-strict": PolicyKind(
        "moldable.policies.fixed_width:FixedWidth",
        "that width or blocked",
        usage="fixed-strict:WIDTH",
        example="fixed-strict:3",
        parameter="a width",
        build=lambda policy, text, _: policy(int(text), strict=True),
    ),
    "rigid": PolicyKind(
        "moldable.policies.rigid:Rigid",
        "each class its one width or blocked",
        usage="rigid",
        example="rigid",
        build=lambda policy, *_: policy(),
        json=JsonForm(
            lambda policy, data: policy(_classes(data)),
            lambda policy: {"classes": policy.widths} if policy.widths else {},
            optional=("classes",),
            example='{"policy": "rigid", "classes": {"jobs": 3}}',
        ),
    ),
    "thresholds": PolicyKind(
        "moldable.policies.thresholds:Thresholds",
        "a table from idle servers to widths for each class",
        json=JsonForm(
            lambda policy, data: policy(_tables(data, '{"idle servers": width, ...}')),
            lambda policy: {"classes": policy.tables},
            required=("classes",),
            example='{"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2}}}',
        ),
    ),
    "value": PolicyKind(
        "moldable.policies.value:value_policy",
        "widths by idle servers, for a blocked job that costs COST mean sizes",
        usage="value:COST",
        example="value:8",
        parameter="a cost",
        build=_value,
    ),
    "equi": PolicyKind(
        "moldable.policies.equi:Equi",
        "preemptive: all servers shared evenly, only where it can be evaluated",
        usage="equi",
        example="equi",
        build=lambda policy, *_: policy(),
    ),
}
"""The policies, by the name that they have on the command line and in files."""
