"""What an administrator installs: job_submit.lua, a TaskProlog, a systemd unit and a README.

All of it is written into one folder and takes no effect there. Names that cannot be quoted safely
in every file are refused.
"""

from __future__ import annotations

import pwd
import re
import stat
import sys
from pathlib import Path
from typing import Final

from moldable.checks import choice
from moldable.errors import InputError, shown
from moldable.live.plan_file import LivePlan, read_plan
from moldable.live.slurm.agent import MODES
from moldable.live.slurm.installed_files import (
    FILES,
    PLAIN_NAME,
    Installation,
    digest,
    installed_files,
)
from moldable.live.slurm.service import refuse_wrong_loss
from moldable.live.slurm.shapes import shape_named
from moldable.text_files import write_whole

_SIGNATURE: Final = re.compile(rb"\n\S+ moldable slurm install ([0-9a-f]{16})[^\n]*\n\Z")
_ACCOUNT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")


def write_installation(found: Installation) -> list[Path]:
    """Check everything, then write the files; return their paths."""
    _refuse_unsafe(found)
    contents = installed_files(found)
    try:
        found.folder.mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"folder {found.folder} cannot be created: {reason}") from None
    for name in contents:
        _refuse_foreign(found.folder / name)
    for name, content in contents.items():
        path = found.folder / name
        # Slurm loads job_submit.lua again if its time has changed.
        if not path.exists() or path.read_bytes() != content:
            write_whole(path, content, "file")
        path.chmod(FILES[name][1])
    return [found.folder / name for name in contents]


def refuse_wrong_plan(path: Path, mode: str, shape: str) -> LivePlan:
    """Read the plan, and refuse one that the agent would refuse at its start."""
    choice(mode, MODES, "mode", InputError)
    found_shape, plan = shape_named(shape), read_plan(path)
    if mode == "loss":
        refuse_wrong_loss(plan, found_shape)
    return plan


def _refuse_unsafe(found: Installation) -> None:
    """Refuse names that cannot be written safely into all files."""
    for what, path in {
        "folder": found.folder,
        "plan": found.plan,
        "slurm.conf": found.configuration,
        "folder of the heartbeat": found.run_folder,
        "journal": found.journal,
        "Python": Path(sys.executable),
    }.items():
        if not (path.is_absolute() and str(path).isprintable()):
            raise InputError(
                f"the path of the {what}, {shown(str(path))}, must be absolute and without control "
                f"characters; choose another"
            )
    if re.search(r"[\s#\"'\\%]", str(found.folder)):
        raise InputError(
            f"folder {shown(str(found.folder))} cannot be named in slurm.conf: paths there have no "
            f"spaces, quotes, backslashes, '#' or '%'; choose another"
        )
    _refuse_shared(found.folder, "DIR")
    _refuse_shared(found.run_folder, "--run-folder")
    for what, name in {"cluster": found.cluster, "partition": found.partition}.items():
        if not PLAIN_NAME.fullmatch(name):
            raise InputError(
                f"{what} {shown(name)} may only contain letters, digits, '_', '-' and '.'"
            )
    if not _ACCOUNT.fullmatch(found.account):
        raise InputError(f"{shown(found.account)} is not the name of an account; give --account")
    try:
        pwd.getpwnam(found.account)
    except KeyError:
        raise InputError(
            f"there is no account {found.account} here; name one with --account"
        ) from None


def _refuse_shared(folder: Path, option: str) -> None:
    """Refuse a folder that other users could make or change: slurmctld runs or trusts its files."""
    try:
        known = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"folder {shown(str(folder))} cannot be used: {reason}; choose another {option}"
        ) from None
    if known.stat().st_mode & stat.S_IWOTH:
        raise InputError(
            f"{known} can be written by every user, so what job_submit.lua reads in {folder} could "
            f"be forged; choose another {option}"
        )


def _refuse_foreign(path: Path) -> None:
    """Refuse to replace a file that was not written here, or was changed since."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(f"{path} exists and is not a regular file; choose another folder")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path} cannot be read: {reason}; choose another folder") from None
    signature = _SIGNATURE.search(content)
    if signature is None:
        raise InputError(
            f"{path} exists and was not written by moldable slurm install; nothing was changed: "
            f"move it away, or choose another folder"
        )
    if signature[1].decode() != digest(content[: signature.start()]):
        raise InputError(
            f"{path} was changed after it was written; nothing was replaced: move it away to have "
            f"it written again"
        )
