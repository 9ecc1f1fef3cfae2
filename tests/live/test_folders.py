"""The runtime folder: private to its user, or refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from moldable.errors import InputError
from moldable.live.folders import private_folder, runtime_folder


def test_the_folder_of_the_session_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_folder() == tmp_path / "moldable"
    assert stat.S_IMODE((tmp_path / "moldable").stat().st_mode) == 0o700


@pytest.mark.parametrize("session", ["", "relative", "/nowhere/at/all"])
def test_otherwise_a_folder_in_tmp_is_used(monkeypatch, session):
    used = []
    monkeypatch.setattr("moldable.live.folders.private_folder", used.append)
    monkeypatch.setenv("XDG_RUNTIME_DIR", session)
    runtime_folder()
    assert used == [Path(f"/tmp/moldable-{os.getuid()}")]  # noqa: S108


def test_a_session_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    used = []
    monkeypatch.setattr("moldable.live.folders.private_folder", used.append)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    runtime_folder()
    assert used == [Path(f"/tmp/moldable-{tmp_path.stat().st_uid + 1}")]  # noqa: S108


def test_a_folder_that_others_can_use_or_swap_is_refused(tmp_path, monkeypatch):
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    (tmp_path / "file").touch()
    for name, reason in {
        "open": "other users can use it",
        "link": "symbolic link",
        "file": "file exists",
        "no/where": "no such file or directory",
    }.items():
        with pytest.raises(InputError, match=f"{reason}.*--dir"):
            private_folder(tmp_path / name)
    assert private_folder(tmp_path / "own") == tmp_path / "own"
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(InputError, match="belongs to another user"):
        private_folder(tmp_path / "own")
