"""The ledger: stale files are removed, and what cannot be understood is refused."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from dataclasses import asdict

import pytest

from moldable.errors import InputError
from moldable.live.ledger import Ledger, Record

JOB = Record("1-5", "jobs", 5, 16, "3f2a", 100.0, "sleep 1", 4, 101.0, (0, 1))


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    return Ledger(tmp_path / "run")


@pytest.fixture
def locked(ledger):
    """Write a file into the folder of running jobs, locked as by a process that runs."""
    held = []

    def write(content, name="1-5"):
        file = os.open(ledger.folder / "running" / name, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, content)
        held.append(file)

    yield write
    for file in held:
        os.close(file)


def test_a_job_is_there_as_long_as_its_descriptor_is_open(ledger):
    file = ledger.add_running(JOB)
    copy = os.dup(file)  # as a child process has it
    assert ledger.running() == [JOB]
    ledger.ended(JOB, file)
    assert ledger.running() == [JOB]
    os.close(copy)
    assert ledger.running() == []
    assert list((ledger.folder / "running").iterdir()) == []


def test_jobs_are_listed_in_the_order_of_their_numbers(ledger):
    files = [
        ledger.add_waiting(Record(f"{number}-{9 - number % 9}", "jobs", 5, 16, "", 0.0, ""))
        for number in (10, 9, 100, 2)
    ]
    assert [job.number for job in ledger.waiting()] == [2, 9, 10, 100]
    for file in files:
        os.close(file)


def test_numbers_grow_even_if_the_last_one_is_lost(ledger):
    assert [ledger.next_job() for _ in range(3)] == [f"{k}-{os.getpid()}" for k in (1, 2, 3)]
    file = ledger.add_running(Record("70-5", "jobs", 5, 16, "", 0.0, ""))
    for damaged in ("rubbish", "9" * 12):
        (ledger.folder / "last").write_text(damaged)
        assert ledger.next_job() == f"71-{os.getpid()}"
    os.close(file)


def test_files_are_private(ledger):
    with ledger.locked():
        file = ledger.add_running(JOB)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in ledger.folder.rglob("*")}
    assert found == {
        "running": 0o700,
        "waiting": 0o700,
        "plans": 0o700,
        "lock": 0o600,
        "1-5": 0o600,
    }
    os.close(file)


@pytest.mark.parametrize(
    "change",
    [
        {"width": -4},
        {"width": 17},
        {"width": True},
        {"width": "4"},
        {"width": 10**15},
        {"servers": None},
        {"submitted": float("nan")},
        {"submitted": "now"},
        {"job": "2-5"},
        {"job_class": 3},
        {"cpus": [-1]},
        {"cpus": 3},
        {"cpus": None},
        {"more": 1},
    ],
)
def test_a_locked_file_with_wrong_values_is_refused(ledger, locked, change):
    locked(json.dumps(asdict(JOB) | change).encode())
    with pytest.raises(InputError, match="running/1-5 is locked by a running process, but is not"):
        ledger.running()


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"{}", b"[]", b"[" * 60_000, b"9" * 60_000, b"{" + b" " * 2**17]
)
def test_a_locked_file_that_is_no_record_is_refused(ledger, locked, content):
    locked(content)
    with pytest.raises(InputError, match="is not a record of a job"):
        ledger.running()


def test_files_of_other_names_are_left_alone(ledger, locked):
    for name in ("README", "1-5~", "-5", "1-", "x-5", "1" * 30 + "-5", "1-5.tmp"):
        locked(b"text", name)
    assert ledger.running() == []
    assert len(list((ledger.folder / "running").iterdir())) == 7


def test_links_and_folders_in_place_of_records_are_refused(ledger, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (ledger.folder / "running" / "1-5").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="running/1-5 cannot be used: too many levels"):
        ledger.running()
    (ledger.folder / "running" / "1-5").unlink()
    (ledger.folder / "running" / "1-5").mkdir()
    with pytest.raises(InputError, match="running/1-5 cannot be used"):
        ledger.running()
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_pipe_in_place_of_a_record_does_not_block(ledger):
    os.mkfifo(ledger.folder / "running" / "1-5")
    assert ledger.running() == []


def test_a_linked_lock_is_refused(ledger, tmp_path):
    (ledger.folder / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="lock cannot be used: too many levels"), ledger.locked():
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_full_disk_leaves_no_record(ledger, monkeypatch):
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, content: write(file, content[:10]))
        with pytest.raises(InputError, match="no space left on device"):
            ledger.add_running(JOB)
    assert list((ledger.folder / "running").iterdir()) == []


def test_folders_that_others_can_use_are_refused(tmp_path):
    (tmp_path / "run").mkdir(mode=0o755)
    with pytest.raises(InputError, match="other users can use it"):
        Ledger(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(InputError, match="symbolic link"):
        Ledger(tmp_path / "link")
