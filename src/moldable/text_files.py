"""Bounded reading, atomic writing and locking: all file access of the package."""

from __future__ import annotations

import fcntl
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Self, final

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
            f"{path} is larger than {most / 2**20:g} MiB, the limit for such files; keep only what "
            f"is needed"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text; save the file as plain text"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; devices, pipes and folders are refused."""
    try:
        # O_NONBLOCK: opening a FIFO would otherwise wait for a writer.
        with open(path, "rb", opener=lambda p, f: os.open(p, f | os.O_NONBLOCK)) as file:
            _refuse_irregular(path, os.fstat(file.fileno()).st_mode)
            yield file
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(
            f"{path} cannot be read: {_reason(error)}; check the name and folder"
        ) from None


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file or standard input for reading; the latter is left open."""
    if path == STANDARD_INPUT:
        yield standard_input()
        return
    with open_regular(path) as file:
        yield file


def standard_input() -> BinaryIO:
    """Return standard input as bytes."""
    try:
        return sys.stdin.buffer
    except AttributeError:  # closed, or replaced by something else
        raise InputError("standard input cannot be read; pipe a file to the command") from None


def standard_input_begins() -> bytes:
    """Return the next bytes of standard input without consuming them; b"" at its end."""
    file = standard_input()
    try:
        return file.peek(1) if isinstance(file, io.BufferedReader) else b""
    except (OSError, ValueError):  # ValueError: closed
        return b""


def _refuse_irregular(path: Path, mode: int) -> None:
    """Refuse devices and pipes, which may never end."""
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} cannot be read: not a regular file; save its content to a file")


def _read_regular(path: Path, most: int) -> bytes:
    with open_regular(path) as file:
        return file.read(most + 1)


def _read_input(most: int) -> bytes:
    """Read standard input to its end; it can be read only once."""
    try:
        content = standard_input().read(most + 1)
    except (InputError, OSError, ValueError):  # ValueError: closed
        content = b""
    if not content:
        raise InputError(
            "standard input is empty; pipe a file to the command, and write '-' for one file only"
        )
    return content


def read_lines(path: Path, most: int = MOST_BYTES) -> Iterator[tuple[int, str]]:
    """Yield the number and text of the lines of a data file; `#` starts a comment."""
    return data_lines(read_text(path, most))


def data_lines(whole: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of the lines of data; `#` starts a comment."""
    for line, content in enumerate(whole.split("\n"), start=1):
        if text := content.partition("#")[0].strip():
            yield line, text


def quoted(cell: str) -> str:
    """Return a cell of a data file for an error message if it looks like a number, otherwise "".

    A workload file may name any file as its data, including a private file of the user who reads
    it. Messages about data files therefore never repeat their text.
    """
    return f" {cell!r}" if _NUMBER.fullmatch(cell) else ""


def check_writable(path: Path, what: str, source: Path | None = None) -> None:
    """Refuse a file that could not be written, before the work begins.

    Args:
        path: of the file.
        what: what error messages call it.
        source: a file that is read, which must not be replaced.
    """
    try:
        problem = _unwritable(path, source)
    except (OSError, RuntimeError, ValueError):  # names that no file can have
        problem = f" cannot be written; {OTHER_NAME}"
    if problem:
        raise InputError(f"{what} {path}{problem}")


def _unwritable(path: Path, source: Path | None) -> str:
    there = path.exists()  # refuses names that are too long
    if path.is_dir():
        return " is a folder; name a file in it"
    if there and not path.is_file():
        return f" is not a regular file; {OTHER_NAME}"
    folder = path.resolve().parent
    if not folder.is_dir():
        return ": there is no such folder; create it first"
    if not os.access(folder, os.W_OK):
        return " cannot be written: the folder is read-only; choose another one"
    if source is not None and there and source.exists() and path.samefile(source):
        return f" would replace the input; {OTHER_NAME}"
    return ""


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
