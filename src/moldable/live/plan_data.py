"""The parts of a plan file as data, and the digest of a plan.

Importing this module does not import numpy: `moldable run` reads a plan in each of its processes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from moldable.errors import InputError

DIGEST: Final = 12
"""Hexadecimal digits that identify a plan."""
DECIDING: Final = ("servers", "waiting", "classes")
"""What decisions depend on in a scenario."""
NO_POLICY: Final = (
    'no "policy" is in the file; give a plan file, which moldable plan and moldable tune write '
    "with --policy-out"
)
NO_SCENARIO: Final = (
    "there is no scenario in the file: the servers, classes and waiting places that the policy was "
    "made for; write it with moldable plan FILE.toml --policy-out or moldable tune ... --policy-out"
)


def plan_parts(data: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the policy and the scenario of a plan file as data."""
    if not isinstance(data, dict) or not isinstance(data.get("policy"), dict):
        named = isinstance(data, dict) and "policy" in data
        raise InputError(NO_SCENARIO if named else NO_POLICY)
    given = data.get("inputs")
    inputs: Mapping[str, Any] = given if isinstance(given, dict) else {}
    scenario = data.get("scenario", inputs.get("scenario"))
    if not isinstance(scenario, dict):
        raise InputError(NO_SCENARIO)
    classes = scenario.get("classes")
    if scenario.get("sharing", "pool") != "pool" and isinstance(classes, list) and classes[1:]:
        raise InputError(
            "its classes have reserved servers (sharing = 'reserved'), but live decisions need one "
            "pool; plan each class on its own servers, or let them share (sharing = 'pool')"
        )
    return data["policy"], scenario


def plan_digest(policy: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """Return the digest of a plan: the same for all files that lead to the same decisions."""
    deciding = {key: scenario.get(key) for key in DECIDING}
    text = json.dumps({"policy": policy, **deciding}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]
