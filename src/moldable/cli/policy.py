"""Which policy does a command line name? The option that every command spells alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.equi import Equi
    from moldable.policies.policy_table import Policy

DEFAULT = "greedy-p"
USAGES = {
    "greedy-p": "greedy-p or greedy-p:0.85",
    "greedy": "greedy",
    "fixed": "fixed:3",
    "fixed-strict": "fixed-strict:3",
    "rigid": "rigid",
    "equi": "equi",
    "value": "value:8",
}
NUMBER_NEEDED = ("fixed", "fixed-strict", "value")

PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="greedy-p[:DESIGN_LOAD] (the optimum's shares), greedy (the widest that fits), "
        "fixed:WIDTH, fixed-strict:WIDTH (that width or blocked), rigid (each class its one "
        "width or blocked), value:COST (widths by idle servers for a blocked job that costs so "
        "many mean sizes), equi "
        "(preemptive, only where it can be evaluated), or a JSON file.",
    ),
]


def read_policy(text: str, scenario: Scenario) -> Policy | Equi | None:
    """Read the name of a policy or its file; None is the default, greedy(p*)."""
    from moldable.policies.greedy import greedy_p
    from moldable.policies.value import value_policy

    if text.strip().lower().endswith(".json"):
        return _from_file(Path(text.strip()), scenario)
    name, colon, parameter = text.strip().partition(":")
    _refuse_bad_spelling(text, name, colon, parameter)
    if name == "greedy-p":
        return greedy_p(scenario, _number(text, parameter, "load")) if parameter else None
    if name == "value":
        return value_policy(scenario, _number(text, parameter, "cost"))
    return _rule(text, name, parameter)


def _from_file(path: Path, scenario: Scenario) -> Policy:
    """Read a file whose policy serves this workload, or say which file does not."""
    from moldable.errors import MoldableError
    from moldable.files.policy_file import read_policy_file
    from moldable.system.loss_system import build_system

    policy = read_policy_file(path)
    try:
        build_system(scenario, policy)
    except MoldableError as error:
        raise InputError(f"{path}: {error}") from None
    return policy


def _rule(text: str, name: str, parameter: str) -> Policy | Equi:
    """Return a rule that needs no workload to be built."""
    from moldable.policies.equi import Equi
    from moldable.policies.fixed_width import FixedWidth
    from moldable.policies.greedy import Greedy
    from moldable.policies.rigid import Rigid

    match name:
        case "greedy":
            return Greedy()
        case "fixed" | "fixed-strict":
            return FixedWidth(_width(text, name, parameter), strict=name == "fixed-strict")
        case "rigid":
            return Rigid()
        case _:
            return Equi()


def _refuse_bad_spelling(text: str, name: str, colon: str, parameter: str) -> None:
    from moldable.errors import nearest

    if name not in USAGES:
        raise InputError(f"unknown policy {text!r}; {nearest(name, USAGES)}, or a file FILE.json")
    usage = USAGES[name]
    if colon and ":" not in usage:
        raise InputError(f"policy {text!r} takes no number; write {usage}")
    if not parameter and (colon or name in NUMBER_NEEDED):
        raise InputError(f"policy {text!r} lacks its number; write {usage}")


def _width(text: str, name: str, parameter: str) -> int:
    try:
        return int(parameter)
    except ValueError:
        raise InputError(
            f"policy {text!r}: {parameter!r} is not a width; write {USAGES[name]}"
        ) from None


def _number(text: str, parameter: str, what: str) -> float:
    try:
        return float(parameter)
    except ValueError:
        usage = USAGES[text.strip().partition(":")[0]].split(" or ")[-1]
        raise InputError(f"policy {text!r}: {parameter!r} is not a {what}; write {usage}") from None
