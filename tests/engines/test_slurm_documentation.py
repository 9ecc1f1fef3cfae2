"""The pages about Slurm show what the commands print on a real Slurm."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from engines.daemons import as_account
from engines.private_slurm import USER, PrivateSlurm

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^```(toml|bash|console|text)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PATIENCE = 100.0
"""Seconds in which a command must print what the page shows; jobs take time to start."""


def matches(shown, printed):
    """Compare lines; `[...]` stands for anything."""
    if len(shown) != len(printed):
        return False
    patterns = (".*".join(map(re.escape, line.split("[...]"))) for line in shown)
    return all(map(re.fullmatch, patterns, printed))


class Reader:
    """Does what a page says."""

    def __init__(self, cluster: PrivateSlurm) -> None:
        self.cluster, self.home = cluster, cluster.home()
        self.environment = {
            **cluster.environment,
            "XDG_RUNTIME_DIR": str(cluster.home()),
            "COLUMNS": "92",
            "NO_COLOR": "1",
        }
        self.agent: subprocess.Popen | None = None
        self.folder = cluster.home()

    def write(self, name, text):
        path = self.home / name
        path.write_text(text)
        path.chmod(0o755)

    def follow(self, block):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip().splitlines()
            ends, printed = time.monotonic() + PATIENCE, self.run(command)
            while not matches(shown, printed):
                again = any(word in command for word in ("status", "cat ", "squeue"))
                if not again or time.monotonic() > ends:
                    pytest.fail("\n".join([f"{command} prints:", *printed]))
                time.sleep(0.3)
                printed = self.run(command)

    def run(self, command):
        if command == "kill %1":
            self.stop()
            return []
        words = shlex.split(command.removesuffix(" &"))
        into = {}
        while words[-2:-1] in (["2>"], [">"]):
            into[words[-2]] = self.home / words[-1]
            del words[-2:]
        if words[0] == "moldable":
            # Other commands compile, for which they need the folder of the package.
            words = self.cluster.moldable(*words[1:], user=USER if words[1] == "slurm" else None)
        else:
            words = [*as_account(USER), *words]
        if command.endswith(" &"):
            with into["2>"].open("wb") as log:
                self.agent = subprocess.Popen(
                    words, env=self.environment, cwd=self.home, stderr=log
                )
            deadline = time.monotonic() + PATIENCE
            while "mode enforce" not in into["2>"].read_text():
                running = self.agent.poll() is None and time.monotonic() < deadline
                assert running, into["2>"].read_text()
                time.sleep(0.1)
            return []
        found = subprocess.run(
            words, env=self.environment, cwd=self.home, capture_output=True, text=True, check=False
        )
        if ">" in into:
            into[">"].write_text(found.stdout)
        text = found.stderr + ("" if ">" in into else found.stdout)
        lines = [line.rstrip() for line in text.rstrip().splitlines()]
        changing = ("note: compiling", "progress: ")  # with the machine, and what ran before
        lines = [line for line in lines if not any(part in line for part in changing)]
        return [*lines, *([f"[exit code {found.returncode}]"] if found.returncode else [])]

    def stop(self):
        if self.agent is not None:
            self.agent.terminate()
            assert self.agent.wait(60) == 0
            self.agent = None


@pytest.fixture
def reader(new_cluster):
    """Somebody with an account on a new cluster."""
    found = Reader(new_cluster)
    yield found
    found.stop()


def test_a_user_who_follows_the_page_sees_what_it_shows(reader):
    page = (ROOT / "docs" / "how-to" / "slurm-user.md").read_text()
    for kind, title, text in BLOCK.findall(page):
        if kind == "toml":
            reader.write(text.splitlines()[0].removeprefix("# "), text)
        elif kind == "bash":
            reader.write(title, text)
        else:
            reader.follow(text)
    lines = (reader.home / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines].count("granted") == 7
