"""The user's runtime folder, where locks and running jobs are recorded."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from moldable.errors import InputError

PRIVATE: Final = 0o700


def runtime_folder(*, make: bool = True) -> Path:
    """Return the runtime folder of this user, created if it does not exist.

    It is $XDG_RUNTIME_DIR/moldable if that variable is set and names a folder of the user,
    otherwise /tmp/moldable-UID.

    Args:
        make: whether to create it.
    """
    folder = _runtime_folder()
    return private_folder(folder) if make or os.path.lexists(folder) else folder


def _runtime_folder() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    session = Path(given)
    if session.is_absolute() and _is_own(session):
        return session / "moldable"
    return Path(f"/tmp/moldable-{os.getuid()}")  # noqa: S108 - it is checked


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can use, or check that it is one.

    Another user could have created a folder or a symbolic link of this name in /tmp.
    """
    try:
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        found = os.lstat(folder)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(
            f"folder {folder} cannot be used: {reason}; choose another with --dir"
        ) from None
    rule = None
    if stat.S_ISLNK(found.st_mode):
        rule = "it is a symbolic link"
    elif not stat.S_ISDIR(found.st_mode):
        rule = "it is not a folder"
    elif found.st_uid != os.getuid():
        rule = "it belongs to another user"
    elif found.st_mode & 0o077:
        rule = "other users can use it (make it private with chmod 700)"
    if rule is not None:
        raise InputError(f"folder {folder} is not safe to use: {rule}; choose another with --dir")
    return folder


def _is_own(folder: Path) -> bool:
    try:
        found = folder.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
