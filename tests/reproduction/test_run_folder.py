"""Folders of results: what is refused, what is kept, and what a full disk leaves behind."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import pytest

from moldable import MoldableError
from reproduction import run_folder
from reproduction.experiment import Cell, Drawing, Experiment, Publication, Results, Scale
from reproduction.run import cell_seed, reproduce, results_of
from reproduction.run_folder import RunFolder, begin

PARAMETERS = {"scale": "tiny", "seed": 1}
OTHER = {"scale": "tiny", "seed": 2}


def started(path: Path, parameters=PARAMETERS, **options) -> RunFolder:
    """Start or resume a run, and stop at once."""
    with begin(path, parameters, **options) as folder:
        return folder


def with_a_cell(path: Path) -> RunFolder:
    with begin(path, PARAMETERS) as folder:
        folder.keep("a/one", {"x": 1}, seconds=0.1, arrivals=5)
    return folder


def experiment(keys: list[str], computed: list[str]) -> Experiment:
    def cell(key: str) -> Cell:
        def compute(effort):
            computed.append(key)
            return {"seed": effort.seed, "drawn": effort.next_seed()}

        return Cell(key, compute)

    return Experiment(
        name="made-up",
        title="Made up",
        cells=lambda _: [cell(key) for key in keys],
        publish=lambda results: Publication({"made-up": list(results.cells.values())}, "", []),
    )


def test_cells_are_computed_once_and_read_back(tmp_path):
    computed: list[str] = []
    made_up = experiment(["a/one", "a/two"], computed)
    reported: list[tuple[float, int]] = []
    with begin(tmp_path / "out", PARAMETERS) as folder:
        reproduce(
            [made_up], Scale.TINY, folder, seed=1, progress=lambda *step: reported.append(step)
        )
    found = results_of(made_up, Scale.TINY, folder)
    assert reported == [(1.0, 2), (2.0, 2)]
    with begin(tmp_path / "out", PARAMETERS, resume=True) as folder:
        reproduce([made_up], Scale.TINY, folder, seed=1)
    assert computed == ["a/one", "a/two"]
    assert results_of(made_up, Scale.TINY, RunFolder.read(tmp_path / "out")) == found
    assert found["a/one"]["seed"] == cell_seed(1, "a/one") != cell_seed(1, "a/two")
    lines = (tmp_path / "out" / "results" / "made-up.csv").read_text().splitlines()
    assert lines[0] == "seed,drawn"
    assert len(lines) == 3
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["parameters"] == PARAMETERS
    assert {"moldable", "numpy", "numba", "python"} <= set(manifest["versions"])


def test_a_folder_with_results_is_refused_unless_told(tmp_path):
    with_a_cell(tmp_path)
    with pytest.raises(MoldableError, match=r"holds the results of a run \(scale tiny, seed 1\)"):
        started(tmp_path)
    timing = RunFolder.read(tmp_path).timings["a/one"]
    assert (timing["seconds"], timing["arrivals"]) == (0.1, 5)
    assert not started(tmp_path, overwrite=True).has("a/one")


def test_a_folder_with_other_files_is_refused_even_if_told(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    for overwrite in (False, True):
        with pytest.raises(MoldableError, match=r"thesis\.tex"):
            started(tmp_path, overwrite=overwrite)
    with pytest.raises(MoldableError, match=r"thesis\.tex"):
        started(tmp_path, resume=True)
    assert (tmp_path / "thesis.tex").exists()


def test_overwriting_leaves_what_is_not_a_runs_own(tmp_path):
    started(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    started(tmp_path, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_resuming_with_other_parameters_shows_the_difference(tmp_path):
    started(tmp_path)
    with pytest.raises(MoldableError, match="scale tiny, not full; seed 1, not 2"):
        started(tmp_path, {"scale": "full", "seed": 2}, resume=True)


def test_resuming_with_another_version_shows_the_difference(tmp_path):
    started(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["versions"]["numpy"] = "1.0"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(MoldableError, match=r"numpy 1\.0, not 2"):
        started(tmp_path, resume=True)


def test_resuming_removes_what_a_killed_run_left_unfinished(tmp_path):
    started(tmp_path)
    (tmp_path / "cells" / "a").mkdir(parents=True)
    left = tmp_path / "cells" / "a" / ".one.json.123.unfinished"
    left.write_text("{")
    folder = started(tmp_path, resume=True)
    assert not left.exists()
    assert not folder.has("a/one")


def test_another_machine_is_written_down(tmp_path, monkeypatch):
    started(tmp_path)
    monkeypatch.setattr("os.cpu_count", lambda: 96)
    started(tmp_path, resume=True)
    machines = json.loads((tmp_path / "manifest.json").read_text())["machines"]
    assert len(machines) == 2
    assert "96 cores" in machines[1]


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_a_damaged_cell_is_named(tmp_path, content):
    folder = started(tmp_path)
    folder.keep("a/one", {}, seconds=0.0, arrivals=0)
    (tmp_path / "cells" / "a" / "one.json").write_bytes(content)
    with pytest.raises(MoldableError, match=r"one\.json is damaged.*delete it and resume"):
        folder.load("a/one")


def test_a_manifest_of_something_else_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "web app"}')
    with pytest.raises(MoldableError, match="was not written by python -m reproduction"):
        started(tmp_path, resume=True)


def test_a_folder_without_results_cannot_be_read(tmp_path):
    with pytest.raises(MoldableError, match="has no results"):
        RunFolder.read(tmp_path)


def test_a_full_disk_is_named_and_finished_cells_are_kept(tmp_path, monkeypatch):
    computed: list[str] = []
    made_up = experiment(["a/one", "a/two"], computed)
    write = run_folder._write_synced  # noqa: SLF001 - a disk that is full

    def full(path: Path, content: bytes) -> None:
        if "two" in path.name:
            write(path, content[:3])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(run_folder, "_write_synced", full)
    with pytest.raises(MoldableError, match=r"no space left on device.*--resume"):
        reproduce([made_up], Scale.TINY, started(tmp_path), seed=1)
    monkeypatch.undo()
    kept = [path.name for path in (tmp_path / "cells").rglob("*") if path.is_file()]
    assert kept == ["one.json"]
    reproduce([made_up], Scale.TINY, started(tmp_path, resume=True), seed=1)
    assert computed == ["a/one", "a/two", "a/two"]


def test_a_folder_that_cannot_be_written_at_the_start_keeps_no_cells(tmp_path, monkeypatch):
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(run_folder, "_write_synced", refused)
    with pytest.raises(MoldableError, match=r"permission denied; .*choose another --out") as error:
        started(tmp_path / "out")
    assert "kept" not in str(error.value)


def test_a_run_without_finished_cells_is_started_again(tmp_path):
    started(tmp_path)
    assert started(tmp_path, OTHER).manifest["parameters"] == OTHER


def test_another_programs_folder_is_not_cleared_even_if_told(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "web app"}')
    for name in ("results", "figures"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "p.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(MoldableError, match="was not written by python -m reproduction"):
            started(tmp_path, overwrite=overwrite)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 3


def test_resuming_with_other_code_is_refused_unless_the_run_kept_no_fingerprint(tmp_path):
    with_a_cell(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["versions"]["source"] = "0123456789ab"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(MoldableError, match="source 0123456789ab, not "):
        started(tmp_path, resume=True)
    del manifest["versions"]["source"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert started(tmp_path, resume=True).has("a/one")


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(MoldableError, match="choose"):
        started(tmp_path / "out")
    with pytest.raises(MoldableError, match="not a directory; choose another --out"):
        started(tmp_path / "out" / "deeper")


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    with begin(tmp_path, PARAMETERS) as folder:
        folder.keep("a/one", {"seed": 1}, seconds=0.1, arrivals=5)
        for opened in (
            lambda: started(tmp_path, OTHER, overwrite=True),
            lambda: started(tmp_path, OTHER),
            lambda: started(tmp_path, resume=True),
        ):
            with pytest.raises(MoldableError, match="being written by another run; wait until"):
                opened()
        assert folder.load("a/one") == {"seed": 1}
        assert RunFolder.read(tmp_path).has("a/one")
    with begin(tmp_path, OTHER, overwrite=True) as folder:
        assert not folder.has("a/one")


def test_a_refused_start_leaves_no_lock(tmp_path):
    with_a_cell(tmp_path)
    with pytest.raises(MoldableError, match="holds the results") as refused:
        started(tmp_path)
    with pytest.raises(MoldableError, match="seed 1, not 2") as differing:
        started(tmp_path, OTHER, resume=True)
    started(tmp_path, resume=True)
    assert refused.tb is not None  # its frames are alive, and so would be a forgotten lock
    assert differing.tb is not None


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        (None, "machines", None),
        (None, "machines", "one"),
        ("parameters", "scale", "huge"),
        ("parameters", "seed", None),
        ("versions", "numpy", 2),
    ],
)
def test_an_edited_manifest_is_named_and_may_be_overwritten(tmp_path, part, name, value):
    started(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (manifest if part is None else manifest[part]).update({name: value})
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for opened in (lambda: started(tmp_path, resume=True), lambda: RunFolder.read(tmp_path)):
        with pytest.raises(MoldableError, match=rf"manifest\.json has no valid {name}; undo"):
            opened()
    started(tmp_path, overwrite=True)


@pytest.mark.parametrize("timings", ['{"a/one": 3}', '{"a/one": {"seconds": 1}}'])
def test_edited_timings_are_named(tmp_path, timings):
    started(tmp_path)
    (tmp_path / "timings.json").write_text(timings)
    with pytest.raises(MoldableError, match=r"timings\.json is damaged.*delete it and resume"):
        RunFolder.read(tmp_path)


def test_a_run_without_matplotlib_has_tables_and_can_be_resumed_with_it(tmp_path):
    made = Publication(
        {"numbers": [{"n": 1}]},
        "",
        [],
        drawings=(Drawing("curve", "A curve.", lambda figure: figure.add_subplot()),),
    )
    results = Results(Scale.TINY, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        with begin(tmp_path, PARAMETERS) as folder:
            folder.publish(experiment([], []), results, made)
    assert (tmp_path / "results" / "numbers.csv").exists()
    assert not (tmp_path / "figures").exists()
    with begin(tmp_path, PARAMETERS, resume=True) as folder:
        folder.publish(experiment([], []), results, made)
    assert (tmp_path / "figures" / "curve.svg").exists()


def test_a_name_too_long_for_a_folder_is_refused(tmp_path):
    with pytest.raises(MoldableError, match="file name too long; choose another --out"):
        started(tmp_path / ("a" * 300), resume=True)


def test_an_edited_cell_is_refused(tmp_path):
    with_a_cell(tmp_path)
    (tmp_path / "cells" / "a" / "one.json").write_text('{"x": 2}')
    with pytest.raises(MoldableError, match=r"one\.json is damaged: it was edited.*delete it"):
        RunFolder.read(tmp_path).load("a/one")
