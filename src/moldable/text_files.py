"""Bounded reading, atomic writing and locking: all file access of the package."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, final

from moldable.errors import InputError, ResultsError

MOST_BYTES: Final = 16 * 2**20
STANDARD_INPUT: Final = Path("<stdin>")
"""The name of standard input, which is written "-" where a file is expected."""
OTHER_NAME: Final = "choose another name"
LOCK: Final = ".moldable-lock"
_NUMBER: Final = re.compile(r"[-+.,;eE\d\s]{1,24}|[-+]?(nan|inf)", re.ASCII)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Read UTF-8 text of at most `most` bytes; line endings become newlines.

    The file must be regular; other pipes than standard input are refused.
    """
    content = _read_input(most) if path == STANDARD_INPUT else _read_regular(path, most)
    if len(content) > most:
        raise InputError(
            f"{path} is larger than {most / 2**20:g} MiB, the most that is read of such a file; "
            f"keep only what matters"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text; save the file as plain text"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_regular(path: Path, most: int) -> bytes:
    try:
        # O_NONBLOCK: opening a FIFO would otherwise wait for a writer.
        with open(path, "rb", opener=lambda p, f: os.open(p, f | os.O_NONBLOCK)) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(most + 1) if regular else b""  # devices and pipes may never end
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(
            f"{path} cannot be read: {_reason(error)}; check the name and folder"
        ) from None
    if not regular:
        raise InputError(f"{path} cannot be read: not a regular file; save its content to a file")
    return content


def _read_input(most: int) -> bytes:
    """Read standard input to its end; it can be read only once."""
    try:
        content = sys.stdin.buffer.read(most + 1)
    except (AttributeError, OSError, ValueError):  # closed, or replaced by something else
        content = b""
    if not content:
        raise InputError(
            "standard input is empty; pipe a file to the command, and write '-' for one file only"
        )
    return content


def read_lines(path: Path, most: int = MOST_BYTES) -> Iterator[tuple[int, str]]:
    """Yield the number and text of the lines of a data file; `#` starts a comment."""
    for line, content in enumerate(read_text(path, most).split("\n"), start=1):
        if text := content.partition("#")[0].strip():
            yield line, text


def read_column(path: Path, header: str) -> list[tuple[int, float]]:
    """Read one number per line, under an optional header, and return (line, number) pairs."""
    found: list[tuple[int, float]] = []
    for line, cell in read_lines(path):
        if not found and cell.strip('"').lower() == header:
            continue
        if "," in cell or ";" in cell:
            raise InputError(
                f"{path}, line {line}: several columns{quoted(cell)}; keep only the {header}s"
            )
        try:
            found.append((line, float(cell)))
        except ValueError:
            raise InputError(
                f"{path}, line {line}: the {header}{quoted(cell)} is not a number; write one "
                f"{header} on each line, under an optional header {header}"
            ) from None
    if not found:
        raise InputError(f"{path}: there is no {header} in the file; write one on each line")
    return found


def quoted(cell: str) -> str:
    """Return a cell of a data file for an error message if it looks like a number, otherwise "".

    A workload file may name any file as its data, including a private file of the user who reads
    it. Messages about data files therefore never repeat their text.
    """
    return f" {cell!r}" if _NUMBER.fullmatch(cell) else ""


def write_whole(path: Path, content: bytes, what: str) -> None:
    """Write a file atomically; error messages call it `what`.

    A symbolic link is followed. Devices, pipes and folders are refused.
    """
    try:
        target = path.resolve()
        refused = target.exists() and not target.is_file()
        if not refused:
            _replace(target, content)
    # Python reports a loop of links as RuntimeError, a NUL in the name as ValueError.
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{what} {path} cannot be written: {_reason(error)}; {OTHER_NAME}"
        ) from None
    if refused:
        raise InputError(f"{what} {path} cannot be written: not a regular file; {OTHER_NAME}")


def _replace(target: Path, content: bytes) -> None:
    """Write and sync a temporary file, rename it to `target`, and sync the folder.

    The target holds its old or its new content at any time, even after a power failure.
    """
    # The name is shortened so that the longest names a file system allows still fit.
    unfinished = target.with_name(f".{target.name[:40]}.{os.urandom(4).hex()}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY)
    with suppress(OSError):  # some network file systems cannot sync folders
        os.fsync(folder)
    os.close(folder)


@final
class FolderLock:
    """A lock that makes this process the only writer of a folder.

    It is released by `close`, or when the process ends for whatever reason.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._descriptor: int | None = None
        try:
            while not self._is_current():
                self._release()
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._release()
            raise ResultsError(
                f"{folder} is being written by another run; wait until it has ended, or choose "
                f"another --out"
                if isinstance(error, BlockingIOError)
                else f"{folder} cannot be written to: {_reason(error)}; choose another --out"
            ) from None

    def close(self) -> None:
        """Release the lock and remove its file."""
        if self._descriptor is not None:
            with suppress(OSError):
                self._path.unlink()
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _is_current(self) -> bool:
        """Return whether the locked file is still the one in the folder: owners remove theirs."""
        try:
            return self._descriptor is not None and os.path.samestat(
                os.fstat(self._descriptor), self._path.stat()
            )
        except FileNotFoundError:
            return False

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
