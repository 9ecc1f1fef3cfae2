"""The whole reproduction at a tiny scale: every file of every experiment, and the report."""

from __future__ import annotations

import csv
import json
from xml.etree import ElementTree as ET

import pytest

from moldable.errors import MoldableError
from moldable.paper.catalogue import ALL, MODULES, experiments
from moldable.paper.experiment import Scale
from moldable.paper.report import write_report
from moldable.paper.reproduction import reproduce
from moldable.paper.run_folder import RunFolder

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_experiment_leaves_its_files_and_is_reported(tmp_path):
    """One run serves every check, for it takes a while."""
    folder = RunFolder.create(tmp_path / "out", {"scale": "tiny", "seed": 1})
    found = reproduce(experiments(ALL), Scale.TINY, folder, seed=1)
    assert list(found) == list(MODULES)
    check_files(folder, found)
    check_names(found)
    check_timings(folder)
    check_report(folder, found, tmp_path)


def check_files(folder, found):
    for experiment in experiments(ALL):
        results = found[experiment.name]
        summary = json.loads((folder.path / "results" / f"{experiment.name}.json").read_text())
        assert summary["cells"] == results.cells
        assert summary["provenance"]["parameters"] == {"scale": "tiny", "seed": 1}
        for name, rows in experiment.tables(results).items():
            with (folder.path / "results" / f"{name}.csv").open() as file:
                assert len(list(csv.DictReader(file))) == len(rows) > 0
        for drawing in experiment.drawings(results):
            path = folder.path / "figures" / drawing.name
            assert path.with_suffix(".png").read_bytes().startswith(PNG)
            ET.parse(path.with_suffix(".svg"))  # noqa: S314 - our own file


def check_names(found):
    tables = [name for e in experiments(ALL) for name in e.tables(found[e.name])]
    drawings = [d.name for e in experiments(ALL) for d in e.drawings(found[e.name])]
    assert len(set(tables)) == len(tables)
    assert len(set(drawings)) == len(drawings)
    for experiment in experiments(ALL):
        keys = [cell.key for cell in experiment.cells(Scale.TINY)]
        assert len(set(keys)) == len(keys)


def check_timings(folder):
    assert set(folder.timings) == {
        cell.key for e in experiments(ALL) for cell in e.cells(Scale.TINY)
    }
    for path in folder.path.rglob("*.json"):
        if path.name != "timings.json":
            assert "seconds" not in path.read_text()


def check_report(folder, found, tmp_path):
    write_report(RunFolder.read(folder.path), tmp_path)
    write_report(RunFolder.read(folder.path), tmp_path)  # again, over the first
    summary = (tmp_path / "REPRODUCTION.md").read_text()
    for experiment in experiments(ALL):
        page = (tmp_path / "docs" / "paper" / f"{experiment.name}.md").read_text()
        assert page.startswith(f"# {experiment.title}\n")
        assert f"(docs/paper/{experiment.name}.md)" in summary
        for drawing in experiment.drawings(found[experiment.name]):
            assert f"](figures/{drawing.name}.png)" in page
            assert (tmp_path / "docs" / "paper" / "figures" / f"{drawing.name}.png").exists()
        for sentence in experiment.findings(found[experiment.name]):
            assert sentence in summary.replace("\\*", "*")
    assert "0.9930 / " in summary  # the table itself


def test_a_report_of_half_a_run_is_refused(tmp_path):
    folder = RunFolder.create(tmp_path / "out", {"scale": "tiny", "seed": 1})
    with pytest.raises(MoldableError, match=r"misses \d+ cells.*--resume"):
        write_report(folder, tmp_path)


def test_an_unknown_experiment_is_corrected():
    with pytest.raises(MoldableError, match="did you mean 'table'"):
        experiments("tabel")
