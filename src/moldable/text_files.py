"""What does a file hold, or why can it not be read or written?"""

from __future__ import annotations

import os
from pathlib import Path

from moldable.errors import InputError


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
    """Write a file under another name and rename it, so that it is there whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{what} {path} cannot be written: {reason}; choose another name"
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)
