"""The registry of policies: spellings, files, help and documentation agree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from moldable import Observation, Policy, Scenario, SpeedUp
from moldable.errors import InputError
from moldable.policies import Equi
from moldable.policies.registry import (
    KINDS,
    build_policy,
    data_from_policy,
    policy_from_data,
    policy_help,
)

SCENARIO = Scenario.single(SpeedUp([1, 1.8, 2.5, 3, 3.4]), 0.8, 40)
DOCS = Path(__file__).parents[2] / "docs"
NAMED = [name for name, kind in KINDS.items() if kind.usage]
STORED = [name for name, kind in KINDS.items() if kind.json]


@pytest.mark.parametrize("name", NAMED)
def test_every_example_of_a_spelling_builds_its_policy(name):
    spellings = (KINDS[name].example or name).replace(" or ", ", ").split(", ")
    assert KINDS[name].usage.startswith(name)
    for text in spellings:
        assert text.partition(":")[0] == name
        if text != "rigid":  # it needs a class with one width
            assert isinstance(build_policy(text, SCENARIO), Policy | Equi | None)


@pytest.mark.parametrize("name", STORED)
def test_every_example_of_a_file_comes_back(name):
    policy = policy_from_data(json.loads(KINDS[name].json))
    again = policy_from_data(json.loads(json.dumps(data_from_policy(policy))))
    assert type(again) is type(policy)
    jobs = SCENARIO.workload.classes[0]
    for idle in range(12):
        seen = Observation(idle, waiting=idle % 3)
        assert again.choose(jobs, seen) == policy.choose(jobs, seen)


@pytest.mark.parametrize("text", ["egui", "equi2", "", "thresholds", "Greedy", "equi :"])
def test_spellings_that_are_not_known_are_refused(text):
    with pytest.raises(InputError, match="unknown policy"):
        build_policy(text, SCENARIO)


@pytest.mark.parametrize("name", NAMED)
def test_the_reference_and_the_help_name_every_policy(name):
    kind = KINDS[name]
    assert f"{kind.usage} ({kind.summary})" in policy_help()
    assert f"`{kind.usage}` ({kind.summary})" in (DOCS / "reference/command-line.md").read_text()


@pytest.mark.parametrize("name", STORED)
def test_the_reference_shows_how_every_policy_is_stored(name):
    assert KINDS[name].json in (DOCS / "how-to/own-policy.md").read_text()


def test_listing_policies_does_not_load_numpy():
    code = (
        "import sys, moldable.policies.registry as registry\n"
        "registry.policy_help()\nprint('numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
