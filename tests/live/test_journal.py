"""The journal: whole lines from several writers, and a reader that says which line is wrong."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from moldable.errors import InputError
from moldable.live.journal import Entry, Journal, read_journal

GRANTED = {"idle": 5, "waiting": 2, "width": 4, "submitted": 99.5, "plan": "3f2a"}
ENDED = {"width": 4, "started": 100.0, "state": "completed", "plan": "3f2a"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def test_lines_are_read_as_they_were_written(path):
    journal = Journal(path)
    journal.decided("granted", "17", "solver", at=100.0, **GRANTED)
    journal.ended("17", "solver", at=160.0, **ENDED)
    assert list(read_journal(path)) == [
        Entry(100.0, "granted", "17", "solver", 4, "3f2a", 5, 2, 99.5),
        Entry(160.0, "ended", "17", "solver", 4, "3f2a", started=100.0, state="completed"),
    ]
    first, second = path.read_text().splitlines()
    assert first == (
        '{"time": 100.0, "event": "granted", "job": "17", "class": "solver", "idle": 5, '
        '"waiting": 2, "width": 4, "submitted": 99.5, "plan": "3f2a"}'
    )
    assert list(json.loads(second)) == [
        *("time", "event", "job", "class", "width", "started", "state", "plan")
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_file_nothing_is_written(tmp_path):
    Journal(None).decided("granted", "17", "solver", **GRANTED)
    assert not list(tmp_path.iterdir())


def test_a_torn_last_line_is_left_out_and_a_damaged_line_is_named(path):
    journal = Journal(path)
    for job in "ab":
        journal.decided("granted", job, "solver", at=1.0, **GRANTED)
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert [entry.job for entry in read_journal(path)] == ["a"]
    path.write_text(whole[:100] + "\n" + whole)
    with pytest.raises(InputError, match=r"journal\.jsonl, line 1: not a JSON object"):
        list(read_journal(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event": "grant"}, "event='grant' is missing or not valid"),
        ({"event": "ended"}, "started=None is missing"),
        ({"time": None}, "time=None"),
        ({"time": True}, "time=True"),
        ({"width": 1.5}, "width=1.5"),
        ({"width": -1}, "width=-1"),
        ({"idle": "5"}, "idle='5'"),
        ({"time": float("nan")}, "time=nan"),
        ({"time": 10**400}, "time=1000"),
        ({"job": 17}, "job=17"),
    ],
)
def test_fields_of_a_wrong_type_are_refused(path, change, message):
    line = {"time": 1.0, "event": "granted", "job": "1", "class": "a", **GRANTED} | change
    path.write_text("\n" + json.dumps(line) + "\n")
    with pytest.raises(InputError, match=f"line 2: {message}"):
        list(read_journal(path))


def test_several_processes_share_a_journal(path):
    code = (
        "import sys\nfrom moldable.live.journal import Journal\njournal = Journal(sys.argv[1])\n"
        "for k in range(500):\n"
        "    journal.ended(f'{sys.argv[2]}-{k}', 'x' * 300, width=1, started=0.0, state='lost',"
        " plan='')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(k)]) for k in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    jobs = [entry.job for entry in read_journal(path)]
    assert sorted(jobs) == sorted(f"{k}-{n}" for k in range(4) for n in range(500))


def test_a_long_journal_is_read_in_little_memory(path):
    line = json.dumps({"time": 1.0, "event": "granted", "job": "1", "class": "a", **GRANTED})
    path.write_text((line + "\n") * 20_000)  # 2.5 MB
    tracemalloc.start()
    assert sum(1 for _ in read_journal(path)) == 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300_000


def test_a_journal_that_cannot_be_written_is_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="cannot be written: no such file or directory"):
        Journal(tmp_path / "nowhere" / "journal.jsonl")


def test_a_pipe_is_refused_whether_or_not_it_has_a_reader(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="pipe cannot be written: no such device"):
        Journal(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(InputError, match="pipe is a pipe; choose a regular file"):
        Journal(pipe)
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error():
    journal = Journal("/dev/full")
    with pytest.raises(InputError, match="/dev/full cannot be written: no space left"):
        journal.decided("granted", "17", "solver", **GRANTED)


def test_a_line_that_does_not_fit_on_the_disk_leaves_no_half_line(path, monkeypatch):
    journal = Journal(path)
    journal.decided("granted", "a", "solver", **GRANTED)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, content: write(file, content[:30]))
        with pytest.raises(InputError, match="no space left"):
            journal.decided("granted", "b", "solver", **GRANTED)
    journal.decided("granted", "c", "solver", **GRANTED)
    assert [entry.job for entry in read_journal(path)] == ["a", "c"]
