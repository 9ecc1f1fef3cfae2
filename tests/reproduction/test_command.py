"""`python -m reproduction` as a user sees it, killed and resumed too."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reproduction.__main__ import main
from reproduction.run import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
# An experiment of 20 cells that take a moment each; the last ones wait while the file HOLD exists,
# so that a run can be stopped between two cells on any machine.
SLOW = """
import functools, os, sys, time
from reproduction import __main__, run
from reproduction.experiment import Cell, Drawing, Experiment, Publication
def compute(number, effort):
    time.sleep(0.03)
    while number >= 15 and os.path.exists(os.environ.get("HOLD", "")):
        time.sleep(0.01)
    return {"drawn": effort.next_seed()}
def publish(results):
    drawing = Drawing("slow", "A line.", lambda figure: figure.subplots().plot([1, 2]))
    return Publication({"slow": list(results.cells.values())}, "", ["Done."], [drawing])
cells = [Cell(f"slow/{k}", functools.partial(compute, k)) for k in range(20)]
run.EXPERIMENTS["slow"] = Experiment("slow", "Slow", lambda _: cells, publish)
sys.exit(__main__.main(sys.argv[1:]))
"""
COMMAND = (sys.executable, "-c", SLOW, "slow", "--scale", "tiny")
RED = "\x1b[31mred\x07"
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


def finished_cells(folder: Path) -> int:
    """Count the finished cells by name: unfinished files may vanish while they are counted."""
    return sum(path.suffix == ".json" for path in (folder / "cells").rglob("*"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = [*COMMAND, *arguments]
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture
def hold(tmp_path_factory):
    """A file that keeps runs from ending while it exists."""
    path = tmp_path_factory.mktemp("hold") / "hold"
    path.touch()
    return path


@contextmanager
def working(folder: Path, hold: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run and wait until it has finished a cell."""
    words = [*COMMAND, "--out", str(folder), *arguments]
    finished = finished_cells(folder)
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    environment = {**os.environ, "HOLD": str(hold)}
    with subprocess.Popen(words, **pipes, cwd=ROOT, text=True, env=environment) as process:
        while finished_cells(folder) <= finished:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.005)
        yield process


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    result = run("--out", str(folder))
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_the_module_is_a_command_that_writes_its_results(tmp_path):
    words = [sys.executable, "-m", "reproduction", "fluid", "--scale", "tiny", "--out", tmp_path]
    result = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("fluid: Simulated paths converge to the solution of the fluid")
    assert result.stdout.endswith(f"Results and figures: {tmp_path}\n")
    assert {"manifest.json", "results/fluid.csv", "figures/fluid.png"} <= set(files(tmp_path))


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments_and_resumed_it_gives_the_same_files(
    unbroken, tmp_path, hold, seed
):
    folder, _ = unbroken
    delays = random.Random(seed)  # noqa: S311 - moments, not secrets
    with working(tmp_path, hold, "--resume") as process:
        time.sleep(delays.uniform(0.0, 0.3))
        process.kill()
    assert 0 < finished_cells(tmp_path) < 20
    assert run("--out", str(tmp_path), "--resume").returncode == 0
    assert files(tmp_path) == files(folder)


def test_a_finished_folder_is_refused_and_kept(unbroken, in_process):
    folder, _ = unbroken
    before = files(folder)
    out = ("errata", "--scale", "tiny", "--out", str(folder))
    for arguments, advice in (
        (out, "--resume to continue it, --overwrite to delete it"),
        ((*out, "--seed", "2", "--resume"), "seed 1, not 2"),
        ((*out, "--resume", "--overwrite"), "choose one of them"),
    ):
        code, _, said = in_process(*arguments)
        assert code == 2
        assert advice in said
    assert files(folder) == before


def test_json_is_one_object(unbroken):
    folder, _ = unbroken
    answer = json.loads(run("--out", str(folder), "--resume", "--json").stdout)
    assert answer["parameters"] == {"scale": "tiny", "seed": 1}
    assert answer["findings"] == {"slow": ["Done."]}
    assert answer["folder"] == str(folder)
    assert set(answer) == {"folder", "parameters", "versions", "machines", "findings"}


def test_a_full_disk_is_explained_and_finished_cells_are_kept(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, *COMMAND, "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        # Coverage's own data would not fit.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert "cannot be written" in result.stderr
    assert "--resume" in result.stderr
    assert "Traceback" not in result.stderr
    assert any((tmp_path / "cells").rglob("*.json"))


@pytest.fixture
def in_process(capsys):
    """Call the command's function: its exit code, and what it prints."""

    def called(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return called


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("tabel",), "did you mean 'table'"),
        (("table", "--scale", "ful"), "did you mean 'full'"),
        (("table", "--seed", "-1"), "--seed -1 must be a non-negative integer"),
        (("table", "--threads", "0"), "--threads 0 must be at least 1"),
        (("table", "--out", "/dev/null/results"), "choose another --out"),
        (("table", "--dask", "nowhere"), "see python -m reproduction --help"),
        (("table", "--seed", "x"), "--seed: invalid int value: 'x'"),
        (("report", "/dev/null/results"), "compute them with: python -m reproduction --out"),
        ((RED,), "\\x1b[31mred\\x07"),
        ((f"--{RED}",), "\\x1b[31mred\\x07"),
        (("table", "--out", f"/dev/null/{RED}"), "\\x1b[31mred\\x07"),
    ],
)
def test_errors_about_bad_input_name_the_fix(in_process, arguments, advice):
    code, _, said = in_process(*arguments)
    assert code == 2
    assert said.startswith("reproduction: error: ")
    assert advice in said
    assert "\x1b" not in said


def test_help_names_every_experiment(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(name in text for name in EXPERIMENTS)
    assert "python -m reproduction report" in text


def test_an_interrupt_keeps_finished_cells(tmp_path, hold):
    with working(tmp_path, hold) as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "continue with --resume" in said


def test_another_programs_folder_is_left_alone_whatever_is_asked(in_process, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "precious.txt").write_text("mine")
    (tmp_path / "manifest.json").write_text('{"name": "another program"}')
    for option in ((), ("--overwrite",), ("--resume",)):
        code, _, said = in_process("errata", "--scale", "tiny", "--out", str(tmp_path), *option)
        assert code == 2
        assert "was not written by python -m reproduction" in said
    assert (tmp_path / "results" / "precious.txt").read_text() == "mine"
    assert len(files(tmp_path)) == 2


def test_a_second_run_during_another_one_is_refused_and_changes_nothing(in_process, tmp_path, hold):
    with working(tmp_path, hold) as first:
        options = ("--scale", "tiny", "--seed", "2", "--out", str(tmp_path), "--overwrite")
        code, _, said = in_process("errata", *options)
        hold.unlink()
        first.communicate(timeout=300)
    assert code == 2
    assert "is being written by another run; wait until it has ended" in said
    assert first.returncode == 0
    assert json.loads((tmp_path / "manifest.json").read_text())["parameters"]["seed"] == 1
    assert len(files(tmp_path / "cells")) == 20
