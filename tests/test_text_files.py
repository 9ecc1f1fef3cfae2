"""Files are replaced whole; what is no plain file is left alone."""

from __future__ import annotations

import os
import stat

import pytest

from moldable.errors import InputError
from moldable.text_files import write_whole


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
    with pytest.raises(InputError, match="cannot be written: it is no plain file; choose another"):
        write_whole(pipe, b"new", "answer")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="it is no plain file"):
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
