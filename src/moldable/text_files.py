"""Bounded reading, atomic writing and locking: every file of the package goes through here."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, final

from moldable.errors import InputError, ResultsError

MOST_BYTES: Final = 16 * 2**20
OTHER_NAME: Final = "choose another name"
UNFINISHED: Final = ".unfinished"
"""Ending of files that are being written; a killed process leaves one behind."""
LOCK: Final = ".moldable-lock"
_NUMBER: Final = re.compile(r"[-+.,;eE\d\s]{1,24}|[-+]?(nan|inf)", re.ASCII)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Read a text file of at most `most` bytes; line endings become newlines."""
    try:
        text = read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text; save the file as plain text"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file of at most `most` bytes; devices and pipes may never end."""
    try:
        # O_NONBLOCK: opening a FIFO would otherwise wait for a writer.
        with open(path, "rb", opener=lambda p, f: os.open(p, f | os.O_NONBLOCK)) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(most + 1) if regular else b""
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(
            f"{path} cannot be read: {_reason(error)}; check the name and folder"
        ) from None
    if not regular:
        raise InputError(f"{path} cannot be read: not a regular file; save its content to a file")
    if len(content) > most:
        raise InputError(
            f"{path} is larger than {most / 2**20:g} MiB, the most that is read of such a file; "
            f"keep only what matters"
        )
    return content


def read_column(path: Path, header: str) -> list[tuple[int, float]]:
    """Read numbers, one on each line, with their line numbers; `#` starts a comment.

    The header is optional. Every complaint has the file and the line.
    """
    found: list[tuple[int, float]] = []
    for line, content in enumerate(read_text(path).split("\n"), start=1):
        cell = content.partition("#")[0].strip()
        if not cell or (not found and cell.strip('"').lower() == header):
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
    """Return a cell of a data file for a message if it looks like a number, otherwise nothing.

    A workload file may name any file as its data, also a private one of whoever reads it. So
    messages about data files give the line and what is expected there; they never repeat text.
    """
    return f" {cell!r}" if _NUMBER.fullmatch(cell) else ""


def write_whole(path: Path, content: bytes, what: str) -> None:
    """Write a file atomically; an error names it as `what`.

    A link stays one: what it leads to is replaced. Devices, pipes and folders are refused.
    """
    try:
        target = path.resolve()
        refused = target.exists() and not target.is_file()
        if not refused:
            replace_file(target, content)
    # Python reports links that lead in a circle as RuntimeError, a NUL in the name as ValueError.
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{what} {path} cannot be written: {_reason(error)}; {OTHER_NAME}"
        ) from None
    if refused:
        raise InputError(f"{what} {path} cannot be written: not a regular file; {OTHER_NAME}")


def replace_file(target: Path, content: bytes) -> None:
    """Write a file that holds its old or its new content at any time, even after a power failure.

    It is written under another name, synced, renamed, and the renaming synced.
    """
    # The name is cut: the longest names that a system takes leave no room for a longer one.
    unfinished = target.with_name(f".{target.name[:40]}.{os.urandom(4).hex()}{UNFINISHED}")
    try:
        write_synced(unfinished, content)
        unfinished.replace(target)
        _sync_folder(target.parent)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@final
class FolderLock:
    """A lock that makes this process the only writer of a folder.

    It lasts until it is closed or the process ends, however it ends.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._descriptor: int | None = None
        try:
            while not self._is_current():
                self._release()
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._release()
            raise ResultsError(
                f"{folder} is being written by another run; wait until it has ended, or choose "
                f"another --out"
            ) from None
        except OSError as error:
            self._release()
            raise ResultsError(
                f"{folder} cannot be written to: {_reason(error)}; choose another --out"
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
        """Tell whether the locked file is the one in the folder: its last owner removes it."""
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


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems cannot sync folders; the file itself is synced
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
