"""Runs job_submit.lua in a Lua interpreter, with a stub of Slurm's interface."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moldable.live.slurm.heartbeat import Heartbeat
from moldable.live.slurm.installed_files import Installation, installed_files

HARNESS = Path(__file__).with_name("job_submit_harness.lua")
LOADED, NOW = 1_000, 2_000
INTERPRETERS = ("lua5.3", "lua5.4", "lua5.1", "lua")


@dataclass(frozen=True)
class Answer:
    """What became of a submitted job: the fields that were set, and messages by receiver."""

    case: int
    code: int
    changes: Mapping[str, str]
    environment: Mapping[str, str]
    messages: Sequence[str]

    @property
    def untouched(self) -> bool:
        return self.code == 0 and not self.changes and not self.environment

    @property
    def width(self) -> int:
        return int(self.changes["num_tasks"]) if self.code == 0 else 0


class JobSubmit:
    """job_submit.lua, written for a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.installation = installation(folder)
        self.heartbeat = self.installation.heartbeat
        self.disable = self.installation.disable
        self.journal = self.installation.journal
        self.script = folder / "job_submit.lua"
        self.script.write_bytes(installed_files(self.installation)["job_submit.lua"])
        self.interpreter = lua()

    def run(self, *cases: Sequence[Mapping[str, Any]], loaded: int = LOADED) -> list[Answer]:
        """Run cases, each a list of events, and return the answer to each submitted job."""
        data = [{"loaded": loaded, "events": list(case)} for case in cases]
        path = self.folder / "cases.lua"
        path.write_text(f"return {literal(data)}\n")
        words = [self.interpreter, HARNESS, self.script, self.heartbeat, path]
        result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert result.returncode == 0, result.stderr
        return [_answer(line) for line in result.stdout.splitlines()]


def installation(folder: Path, **others: Any) -> Installation:
    """Return an installation into a folder."""
    usual = {
        "folder": folder,
        "plan": folder / "plan.json",
        "cluster": "test",
        "configuration": folder / "slurm.conf",
        "partition": "main",
        "account": "root",
        "slurm_account": "root",
        "mode": "observe",
        "shape": "tasks",
        "run_folder": folder,
        "journal": folder / "decisions.jsonl",
    }
    return Installation(**{**usual, **others})


def lua() -> str:
    """Return a Lua interpreter; without one the test is skipped, or fails on the build server."""
    found = next(filter(None, map(shutil.which, INTERPRETERS)), None)
    if found is None:
        reason = "no Lua interpreter; install one with: make engines"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return found


def heartbeat(rows: Mapping[str, str], **others: Any) -> str:
    """Return a heartbeat of the time NOW."""
    usual = {"time": NOW, "mode": "loss", "plan": "0123456789ab", "idle": 8, "partition": "main"}
    usual |= {"default": True, "shapes": ("tasks",), "rows": rows}
    return str(Heartbeat(**{**usual, **others}))


def submitted(comment: str = "moldable:solver", time: int = NOW, **fields: Any) -> dict[str, Any]:
    """Return the event of a submission, with Slurm's values of what is not given."""
    unset = {"priority": 4294967294, "min_nodes": 4294967294, "max_nodes": 4294967294}
    unset |= {"ntasks_per_node": 65534, "cpus_per_task": 65534, "het_job_offset": 4294967294}
    unset |= {"shared": 65534, "num_tasks": 4294967294, "begin_time": 0, "script": "#!/bin/sh\n"}
    return {"time": time, "job": {**unset, "comment": comment, **fields}}


def literal(value: object) -> str:
    """Return a value in the syntax of Lua."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"[{literal(k)}] = {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(literal, value)) + "}"
    return (
        {True: "true", False: "false", None: "nil"}.get(value)
        if isinstance(value, bool)
        else ("nil" if value is None else repr(value))
    )


def _answer(line: str) -> Answer:
    case, code, changes, environment, messages = line.split("\t")
    pairs = [
        dict(pair.split("=", 1) for pair in cell.split(",") if pair)
        for cell in (changes, environment)
    ]
    return Answer(int(case), int(code), *pairs, [m for m in messages.split("|") if m])
