"""What does a file hold, or why can it not be read or written?"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from moldable.errors import InputError

OTHER_NAME: Final = "choose another name"


def read_text(path: Path) -> str:
    """Read a text file, or say in words why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text; save the file as plain text"
        ) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path} cannot be read: {reason}; check the name and folder") from None


def write_whole(path: Path, content: bytes, what: str) -> None:
    """Write a file under another name and rename it, so that it is there whole or not at all.

    A link stays one: what it leads to is replaced. Devices, pipes and folders are refused.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            raise InputError(f"{what} {path} cannot be written: it is no plain file; {OTHER_NAME}")
        _renamed_into(target, content)
    except (OSError, RuntimeError) as error:  # Python tells links that lead in a circle by the last
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"{what} {path} cannot be written: {reason}; {OTHER_NAME}") from None


def _renamed_into(target: Path, content: bytes) -> None:
    # The longest names that a system takes leave no room for a longer one.
    unfinished = target.with_name(f".{target.name[:40]}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
