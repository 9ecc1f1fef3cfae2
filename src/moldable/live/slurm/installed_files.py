"""The contents of the files that an administrator installs.

Paths and names are quoted for the language of each file.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import string
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, final

from moldable.live.slurm.heartbeat import FORGET, MAX_AGE
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.submit import PRELUDES

FILES: Final = {
    "job_submit.lua": ("--", 0o644),
    "task_prolog.sh": ("#", 0o755),
    "moldable-agent.service": ("#", 0o644),
    "README.md": ("<!--", 0o644),
}
"""Installed files, with the beginning of a comment and the mode."""
PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_.,/:=+-]+")
_SYSTEM_FOLDERS: Final = {"/run": "RuntimeDirectory", "/var/lib": "StateDirectory"}


class _Template(string.Template):
    """A text with places such as @{name}: the files themselves are full of dollar signs."""

    delimiter = "@"
    idpattern = r"(?!)"
    braceidpattern = "[a-z_]+"


@final
@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed for a cluster.

    Attributes:
        folder: where the files are written.
        plan: the plan file.
        cluster: the name of the cluster.
        configuration: the path of slurm.conf.
        partition: the partition that the agent decides for.
        account: the account that the agent runs under.
        slurm_account: the account of slurmctld.
        mode, shape: those of the agent.
        run_folder: the folder of the heartbeat.
        journal: the file of the decisions.
    """

    folder: Path
    plan: Path
    cluster: str
    configuration: Path
    partition: str
    account: str
    slurm_account: str
    mode: str
    shape: str
    run_folder: Path
    journal: Path

    @property
    def heartbeat(self) -> Path:
        """The file of the heartbeat."""
        return self.run_folder / "heartbeat"

    @property
    def disable(self) -> Path:
        """The file whose presence switches everything off."""
        return self.folder / "disable"

    @property
    def command(self) -> list[str]:
        """The command line of the agent."""
        return [
            *(sys.executable, "-I", "-m", "moldable", "slurm", "agent", "--operator"),
            *("--plan", str(self.plan), "--mode", self.mode, "--shape", self.shape),
            *("--partition", self.partition, "--heartbeat", str(self.heartbeat)),
            *("--disable", str(self.disable), "--journal", str(self.journal)),
        ]


def installed_files(found: Installation) -> dict[str, bytes]:
    """Return the content of each file, signed so that a later change can be seen."""
    values = _values(found)
    templates = resources.files(__package__) / "templates"
    contents: dict[str, bytes] = {}
    for name, (comment, _) in FILES.items():
        template = "agent.service" if name.endswith(".service") else name
        text = _Template((templates / template).read_text("utf-8")).substitute(values[name])
        body = text.rstrip("\n").encode()
        end = " -->" if comment == "<!--" else ""
        signature = f"\n{comment} moldable slurm install {digest(body)}{end}\n"
        contents[name] = body + signature.encode()
    return contents


def _values(found: Installation) -> dict[str, dict[str, str]]:
    lua = {
        "heartbeat": lua_text(str(found.heartbeat)),
        "disable": lua_text(str(found.disable)),
        "journal": lua_text(str(found.journal)),
        "max_age": f"{MAX_AGE:g}",
        "forget": f"{FORGET:g}",
    }
    unit = {
        "cluster": found.cluster,
        "cluster_text": found.cluster.replace("%", "%%"),
        "command": " ".join(unit_word(word, command=True) for word in found.command),
        "account": found.account,
        "environment": " ".join(
            unit_word(f"{name}={value}")
            for name, value in {
                "SLURM_CONF": str(found.configuration),
                "XDG_RUNTIME_DIR": str(found.run_folder),
            }.items()
        ),
        "writable": "\n".join(
            [_writable(found.run_folder, "0755"), _writable(found.journal.parent, "0700")]
        ),
    }
    return {
        "job_submit.lua": lua,
        "task_prolog.sh": {"shapes": "\n".join(map(_prolog_case, SHAPES))},
        "moldable-agent.service": unit,
        "README.md": _readme_values(found),
    }


def lua_text(text: str) -> str:
    """Quote printable text for Lua."""
    return json.dumps(text, ensure_ascii=False)


def unit_word(text: str, *, command: bool = False) -> str:
    """Quote printable text for a unit file of systemd."""
    if _PLAIN_WORD.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False).replace("%", "%%")
    return quoted.replace("$", "$$") if command else quoted


def _writable(folder: Path, mode: str) -> str:
    """Return the lines of a unit that let it write into a folder, which systemd makes if it can."""
    kind = _SYSTEM_FOLDERS.get(str(folder.parent))
    if kind is None or not PLAIN_NAME.fullmatch(folder.name):
        return f"ReadWritePaths={unit_word(str(folder))}"
    return f"{kind}={folder.name}\n{kind}Mode={mode}"


def _prolog_case(shape: str) -> str:
    """Return the branch of TaskProlog that finds and prints the variables of a shape."""
    exported = shlex.split(PRELUDES[shape].rpartition("export ")[2])
    names = [word.partition("=")[0] for word in exported]
    lines = [PRELUDES[shape], *(f'echo "export {name}=${name}"' for name in names)]
    return "\n".join([f"{shape})", *(f"  {line}" for line in lines), "  ;;"])


def _readme_values(found: Installation) -> dict[str, str]:
    folder = found.configuration.parent
    paths = {
        "lua": found.folder / "job_submit.lua",
        "prolog": found.folder / "task_prolog.sh",
        "unit": found.folder / "moldable-agent.service",
        "disable": found.disable,
        "heartbeat": found.heartbeat,
        "journal": found.journal,
        "run_folder": found.run_folder,
        "link": folder / "job_submit.lua",
        "python": Path(sys.executable),
        "plan": found.plan,
        "folder": found.folder,
    }
    return {
        **{name: shlex.quote(str(path)) for name, path in paths.items()},
        "prolog_path": str(paths["prolog"]),
        "lua_path": str(paths["lua"]),
        "configuration": str(found.configuration),
        "cluster": found.cluster,
        "partition": found.partition,
        "account": found.account,
        "slurm_account": found.slurm_account,
        "mode": found.mode,
        "rights": "" if found.account == found.slurm_account else _rights(found.account),
        "max_age": f"{MAX_AGE:g}",
    }


def _rights(account: str) -> str:
    return (
        f"\nThe agent runs under the account {account}, which must be a Slurm administrator:\n\n"
        f"    sacctmgr modify user {account} set adminlevel=Administrator\n"
    )


def digest(body: bytes) -> str:
    """Return what identifies the content of a file."""
    return hashlib.sha256(body).hexdigest()[:16]
