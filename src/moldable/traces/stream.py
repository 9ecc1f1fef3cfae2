"""The lines of a log: plain text or gzip, a file or standard input, in bounded memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, final

from moldable.errors import InputError
from moldable.text_files import STANDARD_INPUT, open_input

PIECE: Final = 2**20
MOST_BYTES: Final = 16 * 2**30
"""Most text that is read, after decompression."""
LONGEST_LINE: Final = 2**20
MOST_EXPANSION: Final = 200.0
"""Logs shrink 5 to 50 times under gzip; a file that grows more than this is refused."""
EXPANSION_FROM: Final = 64 * 2**20
"""Bytes of text below which any expansion is accepted."""
GZIP: Final = b"\x1f\x8b"
OTHER_COMPRESSION: Final = {
    b"\xfd7zXZ": ("xz", "xz -dc"),
    b"BZh": ("bzip2", "bzip2 -dc"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
    b"PK\x03\x04": ("zip", "unzip -p"),
}


@final
class LogLines:
    """The lines of a log, with their numbers; they can be read once.

    Attributes:
        undecodable: lines so far with bytes that are not UTF-8, which are replaced.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.undecodable = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line, without its end."""
        number, carried = 0, b""
        for piece in self._text():
            block = carried + piece
            end = block.rfind(b"\n") + 1
            carried = block[end:]
            if len(carried) > LONGEST_LINE:
                last = number + block.count(b"\n") + 1
                raise InputError(
                    f"{self.path}, line {last}: longer than {LONGEST_LINE / 2**20:g} MiB; this is "
                    f"not a job log"
                )
            for line in self._decoded(block[:end], number).split("\n")[:-1]:
                number += 1
                yield number, line
        if carried:
            yield number + 1, self._decoded(carried, number).removesuffix("\r")

    def _decoded(self, block: bytes, before: int) -> str:
        if b"\0" in block:
            line = before + block.count(b"\n", 0, block.index(b"\0")) + 1
            raise InputError(
                f"{self.path}, line {line}: a zero byte, so this is a binary file or UTF-16 text; "
                f"save the log as plain UTF-8 text"
            )
        try:
            text = block.decode("utf-8-sig" if before == 0 else "utf-8")
        except UnicodeDecodeError:
            text = block.decode("utf-8", errors="replace")
            self.undecodable += sum("\ufffd" in line for line in text.split("\n"))
        return text.replace("\r\n", "\n") if "\r" in text else text

    def _text(self) -> Iterator[bytes]:
        """Yield the content in pieces, decompressed."""
        total = 0
        for piece in self._pieces():
            total += len(piece)
            if total > MOST_BYTES:
                raise InputError(
                    f"{self.path} has more than {MOST_BYTES / 2**30:g} GiB of text; split the log"
                )
            yield piece

    def _pieces(self) -> Iterator[bytes]:
        with open_input(self.path) as file:
            yield from self._opened(file)

    def _opened(self, file: BinaryIO) -> Iterator[bytes]:
        first = _first_piece(file)
        if not first and self.path == STANDARD_INPUT:
            raise InputError("standard input is empty; pipe a log to the command")
        for mark, (name, command) in OTHER_COMPRESSION.items():
            if first.startswith(mark):
                raise InputError(
                    f"{self.path} is compressed by {name}; only gzip is read: decompress it, such "
                    f"as {command} LOG | moldable trace -"
                )
        pieces = _read_on(first, file)
        yield from self._inflated(pieces) if first.startswith(GZIP) else pieces

    def _inflated(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Decompress gzip data, also of several members."""
        engine = zlib.decompressobj(wbits=31)
        taken = given = 0
        inside = True
        try:
            for piece in pieces:
                taken += len(piece)
                rest, more = piece, True
                while more:
                    text = engine.decompress(rest, PIECE)
                    given += len(text)
                    self._check_expansion(taken, given)
                    yield text
                    rest = engine.unconsumed_tail
                    inside = not engine.eof
                    if engine.eof:
                        rest = engine.unused_data.lstrip(b"\0")  # members may be padded
                        engine = zlib.decompressobj(wbits=31)
                        if rest and not GZIP.startswith(rest[:2]):
                            return  # gzip ignores other data after the last member, too
                    more = bool(rest) or (inside and len(text) == PIECE)
        except zlib.error as error:
            raise InputError(
                f"{self.path} has damaged gzip data ({error}); copy the file again"
            ) from None
        if inside:
            raise InputError(
                f"{self.path} ends in the middle of its gzip data: the file is truncated; copy it "
                f"again"
            )

    def _check_expansion(self, taken: int, given: int) -> None:
        if given > max(EXPANSION_FROM, MOST_EXPANSION * taken):
            raise InputError(
                f"{self.path} expands to more than {MOST_EXPANSION:g} times its size, unlike any "
                f"job log; decompress it and check its content"
            )


def _read_on(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    while first:
        yield first
        first = file.read(PIECE)


def _first_piece(file: BinaryIO) -> bytes:
    try:
        return file.read(PIECE)
    except ValueError:  # closed
        return b""
