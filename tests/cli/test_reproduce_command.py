"""`moldable reproduce` as a user sees it, killed and resumed too."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("moldable"))
TABLE = ("reproduce", "table", "--scale", "tiny")
# A program of its own: Python between a fork and its exec can hang where there are other threads.
LITTLE_ROOM = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
os.execv(sys.argv[1], sys.argv[1:])
"""


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a run but the one that says how long it took."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timings.json"
    }


@pytest.fixture(scope="module")
def unbroken(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    # Compile first: how long a run takes is what the moments to kill it are chosen by.
    assert run(*TABLE, "--out", str(folder)).returncode == 0
    began = time.monotonic()
    result = run(*TABLE, "--out", str(folder), "--overwrite")
    assert result.returncode == 0, result.stderr
    return folder, time.monotonic() - began, result.stdout


def test_it_says_what_was_found_and_where(unbroken):
    folder, _, said = unbroken
    assert said.startswith("table: Table 1, 48 numbers: ")
    assert said.endswith(f"Results and figures: {folder}\n")
    assert {"manifest.json", "results/table.csv", "figures/table.png"} <= set(files(folder))


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments_and_resumed_it_gives_the_same_files(unbroken, tmp_path, seed):
    folder, seconds, _ = unbroken
    delays = random.Random(seed)  # noqa: S311 - moments, not secrets
    kills = 0
    for _ in range(2):
        with subprocess.Popen(
            [COMMAND, *TABLE, "--out", str(tmp_path), "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                process.wait(delays.uniform(0.2, 0.7) * seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
    assert kills > 0
    last = subprocess.run([COMMAND, *TABLE, "--out", str(tmp_path), "--resume"], check=False)
    assert last.returncode == 0
    assert files(tmp_path) == files(folder)


def test_a_finished_folder_is_refused_and_kept(run, unbroken):
    folder, _, _ = unbroken
    before = files(folder)
    again = run(*TABLE, "--out", str(folder))
    assert again.returncode == 2
    assert "--resume to go on with it, --overwrite to give it up" in again.stderr
    other = run(*TABLE, "--out", str(folder), "--seed", "2", "--resume")
    assert other.returncode == 2
    assert "seed 1, not 2" in other.stderr
    both = run(*TABLE, "--out", str(folder), "--resume", "--overwrite")
    assert both.returncode == 2
    assert "choose one of them" in both.stderr
    assert files(folder) == before


def test_json_is_one_object(run, unbroken):
    folder, _, _ = unbroken
    answer = json.loads(run(*TABLE, "--out", str(folder), "--resume", "--json").stdout)
    assert answer["parameters"] == {"scale": "tiny", "seed": 1}
    assert answer["findings"]["table"][0].startswith("Table 1")
    assert answer["folder"] == str(folder)


@pytest.mark.usefixtures("unbroken")  # so that kernels are compiled and need not be written
def test_a_disk_that_takes_no_more_ends_with_advice_and_keeps_cells(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, COMMAND, *TABLE, "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        # Coverage's own data would not fit.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert "cannot be written" in result.stderr
    assert "--resume" in result.stderr
    assert "Traceback" not in result.stderr
    assert any((tmp_path / "cells").rglob("*.json"))


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("tabel",), "did you mean 'table'"),
        (("table", "--scale", "ful"), "did you mean 'full'"),
        (("table", "--seed", "-1"), "--seed -1 must be a whole number from 0"),
        (("table", "--threads", "0"), "--threads 0 must be a whole number from 1"),
        (("table", "--out", "/dev/null/results"), "choose another --out"),
        (("table", "--dask", "nowhere"), "no Dask scheduler answers"),
    ],
)
def test_bad_input_teaches(run, tmp_path, arguments, advice):
    result = run("reproduce", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert advice in result.stderr
    assert "Traceback" not in result.stderr


def test_an_interrupt_keeps_finished_cells(tmp_path):
    with subprocess.Popen(
        [COMMAND, *TABLE, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True
    ) as process:
        while not any(tmp_path.glob("cells/*/*.json")):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "go on with --resume" in said


def test_another_programs_folder_is_left_alone_whatever_is_asked(run, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "precious.txt").write_text("mine")
    (tmp_path / "manifest.json").write_text('{"name": "another program"}')
    for option in ((), ("--overwrite",), ("--resume",)):
        result = run("reproduce", "errata", "--scale", "tiny", "--out", str(tmp_path), *option)
        assert result.returncode == 2
        assert "was not written by moldable reproduce" in result.stderr
    assert (tmp_path / "results" / "precious.txt").read_text() == "mine"


def test_a_start_that_failed_does_not_stand_in_the_way(run, tmp_path):
    out = str(tmp_path / "run")
    failed = run("reproduce", "errata", "--scale", "tiny", "--out", out, "--dask", "localhost:1")
    assert failed.returncode == 2
    assert "localhost:1" in failed.stderr
    again = run("reproduce", "errata", "--scale", "tiny", "--out", out)
    assert again.returncode == 0, again.stderr


def test_a_second_run_beside_a_running_one_is_refused_and_changes_nothing(run, tmp_path):
    with subprocess.Popen(
        [COMMAND, *TABLE, "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as first:
        while not any(tmp_path.glob("cells/*/*.json")):
            assert first.poll() is None, first.stderr.read()
            time.sleep(0.02)
        first.send_signal(signal.SIGSTOP)  # so that it is still at work whatever the machine
        second = run(*TABLE, "--seed", "2", "--out", str(tmp_path), "--overwrite")
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=60)
    assert second.returncode == 2
    assert "is being written by another run; wait until it has ended" in second.stderr
    assert first.returncode == 0
    assert json.loads((tmp_path / "manifest.json").read_text())["parameters"]["seed"] == 1
    assert run(*TABLE, "--out", str(tmp_path), "--resume").returncode == 0
