"""Files are read within bounds and replaced atomically; devices and pipes are left alone."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from moldable import text_files
from moldable.errors import InputError, ResultsError
from moldable.text_files import read_text, write_whole


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "answer.json"
    for content in (b"old", b"new"):
        write_whole(path, content, "answer")
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_to_what_is_replaced(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new", "answer")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_pipe_is_refused_and_still_there(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="cannot be written: not a regular file; choose another"):
        write_whole(pipe, b"new", "answer")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a regular file"):
        write_whole(tmp_path, b"new", "answer")


def test_links_in_a_circle_are_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    with pytest.raises(InputError, match=r"one cannot be written: .*; choose another name"):
        write_whole(one, b"new", "answer")
    assert one.is_symlink()


def test_the_longest_names_are_written_and_longer_ones_refused(tmp_path):
    longest = tmp_path / ("a" * 255)
    write_whole(longest, b"new", "answer")
    assert longest.read_bytes() == b"new"
    with pytest.raises(InputError, match="file name too long; choose another name"):
        write_whole(tmp_path / ("a" * 256), b"new", "answer")
    assert list(tmp_path.iterdir()) == [longest]


def test_a_file_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path, monkeypatch):
    path, done = tmp_path / "answer.json", []
    sync, rename = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        content = Path(f"/proc/self/fd/{descriptor}")
        done.append("folder" if content.is_dir() else content.read_bytes())
        sync(descriptor)

    def renamed(source: Path, target: Path) -> None:
        done.append("renamed")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_whole(path, b"new", "answer")
    assert done == [b"new", "renamed", "folder"]


def test_what_may_never_end_is_not_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # opening it for reading would wait for a writer
    for path in (Path("/dev/zero"), Path("/dev/null"), pipe):
        with pytest.raises(InputError, match="not a regular file; save its content to a file"):
            read_text(path)


def test_a_file_is_read_up_to_its_limit_and_no_further(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"12345678")
    assert read_text(path, 8) == "12345678"
    with pytest.raises(InputError, match="is larger than"):
        read_text(path, 7)
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole: no disk holds it, and no memory
    with pytest.raises(
        InputError, match=r"larger than 16 MiB, the limit .*; keep only what is needed"
    ):
        read_text(path)


def test_line_endings_and_byte_order_marks_of_other_systems_are_understood(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"


def test_a_nul_in_a_name_is_refused(tmp_path):
    for refused in (
        lambda: read_text(tmp_path / "a\0b"),
        lambda: write_whole(tmp_path / "a\0b", b"", "answer"),
    ):
        with pytest.raises(InputError, match=r"a\\x00b cannot be .*: embedded null byte"):
            refused()


@pytest.mark.parametrize("cell", ["1.2.3", "-1e5", "1,5", "nan", "-inf"])
def test_cells_that_look_like_numbers_are_quoted(cell):
    assert text_files.quoted(cell) == f" {cell!r}"


@pytest.mark.parametrize(
    "cell", ["root:x:0:0", "password", "0x12", "", "1" * 25, "\x1b[31m", "deed"]
)
def test_other_cells_are_not_quoted(cell):
    assert text_files.quoted(cell) == ""


HOLDS = """
import sys, time
from pathlib import Path
from moldable.text_files import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(60)
"""


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(ResultsError, match="being written by another run"):
            text_files.FolderLock(tmp_path)
        other.kill()
    with text_files.FolderLock(tmp_path), pytest.raises(ResultsError, match="being written"):
        text_files.FolderLock(tmp_path)
    text_files.FolderLock(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_again(tmp_path, monkeypatch):
    lock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        monkeypatch.undo()
        first.close()  # between the opening and the locking of its file by the second
        lock(descriptor, operation)

    first = text_files.FolderLock(tmp_path)
    monkeypatch.setattr(fcntl, "flock", late)
    with text_files.FolderLock(tmp_path), pytest.raises(ResultsError, match="being written"):
        text_files.FolderLock(tmp_path)
