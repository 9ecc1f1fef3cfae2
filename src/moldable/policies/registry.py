"""All policies: how each is spelled, described, built and stored.

The command line, its help, policy files and the documentation use this table. To add a policy, add
a row to KINDS. A file holds the fields of the policy's dataclass; what the policy holds for each
class has the key "classes". The classes are imported when they are used, so that the command line
can list the policies without loading numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from moldable.errors import InputError, MoldableError, suggest

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.equi import Equi
    from moldable.policies.policy import Policy

Data = Mapping[str, Any]

DIGITS: Final = 18
"""Most digits of a key that is a number of servers; Python refuses to parse thousands of them."""


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """One policy.

    Attributes:
        policy: module and name of its class, or of the function that computes it.
        summary: what it does, in a few words.
        usage: its syntax on the command line; empty if it is only stored.
        example: one or more spellings, if it has a parameter after a colon.
        build: makes the policy from `policy`, the parameter and a scenario.
        json: example of a file; empty if it is not stored.
    """

    policy: str
    summary: str
    usage: str = ""
    example: str = ""
    build: Callable[[Any, str, Scenario], Policy | Equi | None] = lambda policy, *_: policy()
    json: str = ""

    def load(self) -> Any:
        """Import the class or function."""
        return resolve_name(f"moldable.policies.{self.policy}")


def policy_help() -> str:
    """List the policies for the help text of the command line."""
    return ", ".join(f"{kind.usage} ({kind.summary})" for kind in KINDS.values() if kind.usage)


def build_policy(text: str, scenario: Scenario) -> Policy | Equi | None:
    """Build a policy from its spelling; None is the default, greedy(p*)."""
    name, colon, parameter = text.strip().partition(":")
    spelled = {key: kind for key, kind in KINDS.items() if kind.usage}
    if name not in spelled:
        raise InputError(f"unknown policy {text!r}; {suggest(name, spelled)}, or a file FILE.json")
    kind = spelled[name]
    if colon and not kind.example:
        raise InputError(f"policy {text!r} takes no number; write {name}")
    if not parameter and (colon or (kind.example and "[" not in kind.usage)):
        raise InputError(f"policy {text!r} needs a number; write {kind.example}")
    try:
        return kind.build(kind.load(), parameter, scenario)
    except MoldableError:
        raise
    except ValueError:
        what = kind.usage.partition(":")[2].strip("]").replace("_", " ").lower()
        raise InputError(
            f"policy {text!r}: {parameter!r} is not a {what}; write {kind.example}"
        ) from None


def policy_from_data(data: Data) -> Policy:
    """Build a policy from the keys of a file."""
    name = data.get("policy")
    stored = {key: kind for key, kind in KINDS.items() if kind.json}
    if not isinstance(name, str) or name not in stored:
        raise InputError(f"unknown policy {name!r}; {suggest(str(name), stored)}")
    made = stored[name].load()
    keys = _fields_by_key(made)
    for key in data:
        if key not in ("policy", *keys):
            raise InputError(
                f"unknown key {key!r} of policy {name!r}; {suggest(key, ('policy', *keys))}"
            )
    values = {}
    for key, own in keys.items():
        if key in data:
            values[own.name] = _classes(data) if key == "classes" else _checked(key, data[key], own)
        elif _required(own):
            raise InputError(f'policy {name!r} needs {key!r}; add "{key}": ...')
    found: Policy = made(**values)
    return found


def data_from_policy(policy: Policy) -> dict[str, Any] | None:
    """Return the keys of the file that would hold the policy; None if it cannot be stored."""
    for name, kind in KINDS.items():
        if kind.json and isinstance(policy, kind.load()):
            values = {
                key: getattr(policy, own.name)
                for key, own in _fields_by_key(type(policy)).items()
                if _required(own) or getattr(policy, own.name) != {}
            }
            return {"policy": name, **dict(sorted(values.items(), key=lambda v: v[0] == "classes"))}
    return None


def _fields_by_key(policy: Any) -> dict[str, Field[Any]]:
    return {own.metadata.get("key", own.name): own for own in fields(policy)}


def _required(own: Field[Any]) -> bool:
    return own.default is MISSING and own.default_factory is MISSING


def _checked(key: str, value: Any, own: Field[Any]) -> Any:
    """Return a value of the type of the field's default, if it has one."""
    for kind, rule in ((bool, "true or false"), (str, "text")):
        if isinstance(own.default, kind) and not isinstance(value, kind):
            raise InputError(f'"{key}" is {value!r}; it must be {rule}')
    return value


def _classes(data: Data) -> dict[str, Any]:
    """Return the entries of the classes; numbers of servers are keys of JSON, so they are text."""
    classes = data["classes"]
    if not isinstance(classes, dict):
        raise InputError(f'"classes" is {classes!r}; write {{"NAME OF CLASS": ...}}')
    return {
        name: _whole_keys(name, entry) if isinstance(entry, dict) else entry
        for name, entry in classes.items()
    }


def _whole_keys(name: str, table: dict[str, Any]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for key, value in table.items():
        number = int(key) if key.isascii() and key.isdigit() and len(key) <= DIGITS else None
        if number is None or number in found:
            raise InputError(
                f"class {name!r}: key {key[:DIGITS]!r} is not a whole number of servers or repeats "
                f'one; write it like "4"'
            )
        found[number] = _whole_keys(name, value) if isinstance(value, dict) else value
    return found


def _greedy_p(_: Any, parameter: str, scenario: Scenario) -> Policy | None:
    if not parameter and not scenario.waiting:
        return None
    load = float(parameter) if parameter else None
    found: Policy = resolve_name("moldable.policies.greedy:greedy_p")(scenario, load)
    return found


def _value(made: Any, parameter: str, scenario: Scenario) -> Policy:
    if scenario.waiting and not parameter:
        made = resolve_name("moldable.policies.queue_value:queue_value_policy")
        queued: Policy = made(scenario)
        return queued
    if not parameter:
        raise InputError("policy 'value' needs a number; write value:8")
    found: Policy = made(scenario, float(parameter))
    return found


def _even_price(made: Any, parameter: str, scenario: Scenario) -> Policy:
    if not parameter:
        build = resolve_name("moldable.policies.even_price:even_price")
        default: Policy = build(scenario)
        return default
    q0, ell = (float(part) for part in parameter.split(","))
    found: Policy = made(q0, ell)
    return found


KINDS: Final = {
    "greedy-p": PolicyKind(
        "greedy:GreedyP",
        "widths drawn from the optimal shares, by default for the true load",
        usage="greedy-p[:DESIGN_LOAD]",
        example="greedy-p or greedy-p:0.85",
        build=_greedy_p,
        json='{"policy": "greedy-p", "classes": {"jobs": {"3": 0.5, "4": 0.5}}}',
    ),
    "greedy": PolicyKind(
        "greedy:Greedy",
        "the widest width that fits",
        usage="greedy",
        json='{"policy": "greedy"}',
    ),
    "fixed": PolicyKind(
        "fixed_width:FixedWidth",
        "this width, or a narrower one if fewer servers are idle",
        usage="fixed:WIDTH",
        example="fixed:3",
        build=lambda policy, text, _: policy(int(text)),
        json='{"policy": "fixed", "width": 3, "strict": false}',
    ),
    "fixed-strict": PolicyKind(
        "fixed_width:FixedWidth",
        "exactly this width, otherwise blocked",
        usage="fixed-strict:WIDTH",
        example="fixed-strict:3",
        build=lambda policy, text, _: policy(int(text), strict=True),
    ),
    "rigid": PolicyKind(
        "rigid:Rigid",
        "each class at its only width, otherwise blocked",
        usage="rigid",
        json='{"policy": "rigid", "classes": {"jobs": 3}}',
    ),
    "thresholds": PolicyKind(
        "thresholds:Thresholds",
        "a table from idle servers to widths for each class",
        json='{"policy": "thresholds", "classes": {"jobs": {"1": 1, "4": 2}}}',
    ),
    "value": PolicyKind(
        "value:value_policy",
        "width by idle servers; a blocked job costs COST mean sizes; with waiting places no COST",
        usage="value[:COST]",
        example="value:8",
        build=_value,
    ),
    "even-price": PolicyKind(
        "even_price:EvenPrice",
        "width by idle servers and waiting jobs, for clusters that queue",
        usage="even-price[:Q0,ELL]",
        example="even-price or even-price:0.4,8",
        build=_even_price,
        json='{"policy": "even-price", "q0": 0.4, "ell": 8.0}',
    ),
    "queue-table": PolicyKind(
        "queue_table:QueueTable",
        "a table from waiting jobs and idle servers to widths for each class",
        json='{"policy": "queue-table", "classes": {"jobs": {"0": {"1": 1, "4": 2}}}}',
    ),
    "idle-share": PolicyKind(
        "idle_share:IdleShare",
        "idle servers divided among the job and those that wait",
        usage="idle-share",
        json='{"policy": "idle-share"}',
    ),
    "equi": PolicyKind(
        "equi:Equi",
        "preemptive reference: servers are always shared evenly",
        usage="equi",
    ),
}
"""The policies, by their name on the command line and in files."""
