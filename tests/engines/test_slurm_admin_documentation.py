"""The page for administrators shows what happens on a real Slurm."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess

import pytest

from engines.daemons import as_account, wait_for
from engines.private_slurm import USER, PrivateSlurm
from engines.test_slurm_documentation import BLOCK, ROOT, Reader

SLURM = "slurm"


class Administrator(Reader):
    """Does what the page says, in folders of a private Slurm, and without systemd."""

    def __init__(self, cluster: PrivateSlurm) -> None:
        super().__init__(cluster)
        self.units = cluster.folder / "units"
        self.run_folder, self.state = cluster.folder / "run", cluster.folder / "var"
        account = pwd.getpwnam(SLURM)
        for folder in (self.units, self.run_folder, self.state):
            folder.mkdir()
            os.chown(folder, account.pw_uid, account.pw_gid)
        # The last ones are the longest on this side.
        self.places = {
            "/etc/slurm": cluster.folder,
            "/etc/systemd/system": self.units,
            "/run/moldable": self.run_folder,
            "/var/lib/moldable": self.state,
        }

    def run(self, command):
        mine = command
        for shown, place in self.places.items():
            mine = mine.replace(shown, str(place))
        words = shlex.split(mine)
        if words[0] == "systemctl":
            self.systemctl(*words[1:])
            return []
        if words[0] == "moldable" and words[1] != "slurm":
            return super().run(command)
        if words[:3] == ["moldable", "slurm", "install"]:
            mine += f" --run-folder {self.run_folder} --journal {self.state / 'decisions.jsonl'}"
        if words[0] == "moldable":
            mine = shlex.join(self.cluster.moldable()) + mine.removeprefix("moldable")
        user = USER if words[0] == "sbatch" else None
        found = subprocess.run(
            [*as_account(user), "sh", "-c", mine],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        text = found.stderr + found.stdout
        for shown, place in reversed(self.places.items()):
            text = text.replace(str(place), shown)
        lines = [line.rstrip() for line in text.rstrip().splitlines()]
        return [*lines, *([f"[exit code {found.returncode}]"] if found.returncode else [])]

    def systemctl(self, verb, *words):
        if words[-1:] == ("slurmctld",):
            self.cluster.restart_controller()
        elif verb != "daemon-reload":
            self.stop()
            assert words[-1] == "moldable-agent"
            if verb in ("enable", "restart"):
                self.start()

    def start(self):
        """Run the command of the unit in its environment."""
        unit = (self.units / "moldable-agent.service").read_text()
        lines = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
        words = shlex.split(lines["ExecStart"])
        own = dict(pair.split("=", 1) for pair in shlex.split(lines["Environment"]))
        assert lines["User"] == SLURM
        command = self.cluster.moldable(*words[words.index("moldable") + 1 :], user=SLURM)
        with (self.home / "agent.log").open("ab") as log:
            self.agent = subprocess.Popen(
                command, env={**self.environment, **own}, cwd="/", stderr=log
            )
        wait_for((self.run_folder / "heartbeat").exists, "the heartbeat")

    def check(self, page):
        for kind, title, text in BLOCK.findall(page):
            if kind == "toml":
                self.write(text.splitlines()[0].removeprefix("# "), text)
            elif kind == "bash":
                self.write(title, text)
            else:
                self.follow(text)


@pytest.fixture
def administrator(new_cluster):
    found = Administrator(new_cluster)
    yield found
    found.stop()


def test_an_administrator_who_follows_the_page_sees_what_it_shows(administrator):
    administrator.check((ROOT / "docs" / "how-to" / "slurm-admin.md").read_text())
    folder = administrator.cluster.folder
    assert not (folder / "moldable").exists()
    assert "lua" not in administrator.cluster.conf.read_text()
    assert not (administrator.run_folder / "heartbeat").exists()
