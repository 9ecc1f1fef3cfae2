"""Files that are not text, damaged, or larger than they seem."""

from __future__ import annotations

import bz2
import gzip
import os
import sys
import tracemalloc
import zlib
from io import BufferedReader, BytesIO, RawIOBase, TextIOWrapper

import pytest

from moldable import read_trace
from moldable.errors import InputError
from moldable.traces import records, stream

HEADER = "submit,run_time,servers\n"
GOOD = HEADER + "".join(f"{k},60,2\n" for k in range(20_000))


def test_gzip_is_recognised_by_content_also_in_several_parts(log):
    whole = len(read_trace(log(GOOD)))
    assert len(read_trace(log(GOOD, "log.csv", compressed=True))) == whole == 20_000
    parts = [GOOD[:1234], GOOD[1234:]]
    joined = b"".join(gzip.compress(part.encode()) for part in parts)
    assert len(read_trace(log(joined))) == whole
    assert len(read_trace(log(joined + b"\0" * 512))) == whole  # padding of tapes


def test_a_truncated_gzip_file_is_refused_wherever_it_ends(log):
    content = gzip.compress(GOOD.encode())
    for end in (5, 12, len(content) // 2, len(content) - 9, len(content) - 1):
        with pytest.raises(InputError, match=r"truncated; copy it again"):
            read_trace(log(content[:end]))


def test_damaged_gzip_data_are_refused(log):
    content = bytearray(gzip.compress(GOOD.encode()))
    content[len(content) // 2] ^= 255
    with pytest.raises(InputError, match=r"damaged gzip data|truncated"):
        read_trace(log(bytes(content)))


@pytest.mark.parametrize("line", [b"1,60,2\n", b"\n", b"x" * 1000])
def test_a_gzip_bomb_is_refused_in_bounded_memory(log, monkeypatch, line):
    monkeypatch.setattr(stream, "EXPANSION_FROM", 2**17)
    monkeypatch.setattr(stream, "PIECE", 2**16)
    size = 2**20
    bomb = gzip.compress(HEADER.encode() + line * (size // len(line)))
    assert len(bomb) < size / 200
    path = log(bomb)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"expands to more than 200 times|longer than 1 MiB"):
        read_trace(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 200 * len(bomb) + 2**20  # ten bytes for each byte of text


def valid_rows(repeats: int):
    """Yield a gzip stream of rows that differ, so that it shrinks like a log, and never ends."""
    engine = zlib.compressobj(wbits=31)
    yield engine.compress(HEADER.encode())
    for k in range(repeats):
        rows = "".join(f"{100 * k + j},{37 * (k + j) % 5003},{j % 16 + 1}\n" for j in range(100))
        yield engine.compress(rows.encode()) + engine.flush(zlib.Z_SYNC_FLUSH)


class Endless(RawIOBase):
    """A stream of valid compressed rows whose end is never reached."""

    def __init__(self) -> None:
        self.pieces, self.left, self.given = valid_rows(10**9), b"", 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self.left = self.left or next(self.pieces)
        piece, self.left = self.left[: len(buffer)], self.left[len(buffer) :]
        buffer[: len(piece)] = piece
        self.given += len(piece)
        return len(piece)


@pytest.mark.parametrize(
    ("module", "limit", "value", "message"),
    [
        (records, "MOST_JOBS", 30_000, r"more than 30,000 jobs"),
        (stream, "MOST_BYTES", 2**19, r"more than \S+ GiB of text; split the log"),
    ],
)
def test_valid_rows_that_never_end_are_refused_at_a_limit(
    monkeypatch, module, limit, value, message
):
    monkeypatch.setattr(module, limit, value)
    monkeypatch.setattr(stream, "PIECE", 2**16)
    endless = Endless()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BufferedReader(endless, 2**13)))
    with pytest.raises(InputError, match=message):
        read_trace("-")
    assert 2**15 < endless.given < 2**21  # it was read up to the limit and hardly beyond


def test_more_text_than_the_limit_is_refused(log, monkeypatch):
    monkeypatch.setattr(stream, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"split the log"):
        read_trace(log(GOOD))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is empty"),
        (b"\n\n  \n", r"is empty"),
        (
            os.urandom(64) + b"\0" + bytes(range(256)) * 20,
            r"zero byte|binary|not recognised|longer",
        ),
        (GOOD[:200].encode("utf-16"), r"line 1: a zero byte, so this is a binary file or UTF-16"),
        (GOOD[:200].encode() + b"5,\x00,2\n", r"line \d+: a zero byte"),
        (bz2.compress(GOOD.encode()), r"compressed by bzip2; only gzip is read: .* bzip2 -dc"),
        (b"PK\x03\x04" + b"x" * 100, r"compressed by zip"),
        (b"x" * (3 * 2**20), r"line 1: longer than 1 MiB"),
        (b"hello world\n", r"not recognised as a job log"),
        (b"1,2,3\n4,5,6\n", r"not recognised as a job log"),
    ],
)
def test_what_is_not_a_log_is_refused(log, content, message):
    with pytest.raises(InputError, match=message):
        read_trace(log(content))


def test_folders_pipes_and_absent_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, message in ((".", "is a directory"), ("pipe", "not a regular"), ("x", "no such fil")):
        with pytest.raises(InputError, match=message):
            read_trace(tmp_path / name)


def test_bytes_that_are_not_utf8_are_replaced_and_counted(log):
    text = HEADER.replace("\n", ",user\n").encode() + b"0,60,2,J\xfcrgen\n1,60,2,ann\n"
    trace = read_trace(log(text), class_by="user")
    assert trace.classes == ("J\ufffdrgen", "ann")
    assert trace.notes[-1] == "bytes that are not UTF-8 were replaced in 1 of the lines"


def test_byte_order_marks_and_windows_line_ends_are_ignored(log):
    text = b"\xef\xbb\xbf" + (HEADER + "0,60,2\n1,60,3").replace("\n", "\r\n").encode()
    assert read_trace(log(text)).servers.tolist() == [2, 3]
    assert read_trace(log(text + b"\r\n")).servers.tolist() == [2, 3]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_dash_is_standard_input(monkeypatch, compressed):
    content = gzip.compress(GOOD.encode()) if compressed else GOOD.encode()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(content)))
    assert len(read_trace("-")) == 20_000
    with pytest.raises(InputError, match=r"standard input is empty"):
        read_trace("-")


@pytest.mark.parametrize("size", [2, 3, 7, 64, 1000])
def test_pieces_of_any_size_give_the_same_lines(log, monkeypatch, size):
    text = HEADER + "".join(f"{k},60,{k % 7 + 1}\n" for k in range(200)) + "\u00e9" * 3
    path = log(text.encode())
    expected = list(enumerate(text.split("\n"), start=1))
    monkeypatch.setattr(stream, "PIECE", size)
    assert list(stream.LogLines(path)) == expected
    packed = log(gzip.compress(text.encode()), "log.gz")
    assert list(stream.LogLines(packed)) == expected
