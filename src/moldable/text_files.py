"""What does a text file hold, or why can it not be read?"""

from __future__ import annotations

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
