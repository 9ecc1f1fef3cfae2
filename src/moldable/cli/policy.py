"""The option `--policy`, which every command spells alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.errors import InputError, MoldableError
from moldable.policies.registry import build_policy, policy_help

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.equi import Equi
    from moldable.policies.policy_table import Policy

DEFAULT = "greedy-p"

PolicyOption = Annotated[
    str,
    typer.Option("--policy", metavar="POLICY", help=f"{policy_help()}, or a JSON file."),
]


def read_policy(text: str, scenario: Scenario) -> Policy | Equi | None:
    """Read the name of a policy or its file; None is the default, greedy(p*)."""
    if text.strip().lower().endswith(".json"):
        return _from_file(Path(text.strip()), scenario)
    return build_policy(text, scenario)


def _from_file(path: Path, scenario: Scenario) -> Policy:
    """Read a file whose policy serves this scenario, or say which file does not."""
    from moldable.files.policy_file import read_policy_file
    from moldable.system.loss_system import build_system

    policy = read_policy_file(path)
    try:
        build_system(scenario, policy)
    except MoldableError as error:
        raise InputError(f"{path}: {error}") from None
    return policy
