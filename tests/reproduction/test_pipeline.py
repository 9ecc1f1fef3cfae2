"""What every experiment publishes, and how a run becomes files and a report."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from moldable import MoldableError
from reproduction.experiment import Scale
from reproduction.report import write_report
from reproduction.run import EXPERIMENTS, chosen, reproduce, results_of
from reproduction.run_folder import RunFolder, begin
from tiny_results import published, tiny

PNG = b"\x89PNG\r\n\x1a\n"
ROOT = Path(__file__).parents[2]
BY_RESULT = {"table", "insensitivity"}
"""Experiments whose sentences depend on their results, not only the numbers in them."""


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_tables_figures_a_page_and_findings(name):
    made, figures = published(name)
    for rows in made.tables.values():
        assert rows
        assert {tuple(row) for row in rows} == {tuple(rows[0])}
    for drawing in made.drawings:
        assert f"](figures/{drawing.name}.png)" in made.page
    for png, svg in zip(figures[::2], figures[1::2], strict=True):
        assert png.startswith(PNG)
        ET.fromstring(svg)  # noqa: S314 - our own file
    assert made.findings
    if name == "table":
        assert "0.9930 / " in made.overview


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_pages_in_the_repository_have_the_text_that_is_generated(name):
    made, _ = published(name)
    page = masked((ROOT / "docs" / "paper" / f"{name}.md").read_text())
    lines = made.page.splitlines()
    fixed = [line for line in lines if line.startswith(("#", "*", "!["))]
    assert [line for line in fixed if masked(line) not in page] == []
    for text in ("REPRODUCTION.md", "docs/paper/index.md"):
        summary = masked((ROOT / text).read_text())
        assert masked(EXPERIMENTS[name].title) in summary
        if name not in BY_RESULT:
            assert [s for s in made.findings if masked(s) not in summary] == []


def masked(text):
    """Replace every number; those of another scale differ."""
    return re.sub(r"[-+]?\d[\d,.]*(e[-+]\d+)?( ± #)?", "#", text.replace("\\*", "*"))


def test_names_of_tables_figures_and_cells_differ():
    made = [e.publish(tiny(name)[1]) for name, e in EXPERIMENTS.items()]
    tables = [name for each in made for name in each.tables]
    drawings = [drawing.name for each in made for drawing in each.drawings]
    assert len(set(tables)) == len(tables)
    assert len(set(drawings)) == len(drawings)
    for experiment in EXPERIMENTS.values():
        keys = [cell.key for cell in experiment.cells(Scale.TINY)]
        assert len(set(keys)) == len(keys)


def test_a_run_leaves_its_files_and_is_reported(tmp_path, monkeypatch):
    few = {name: EXPERIMENTS[name] for name in ("collapse", "fluid")}
    monkeypatch.setattr("reproduction.report.EXPERIMENTS", few)
    with begin(tmp_path / "out", {"scale": "tiny", "seed": 1}) as folder:
        made = reproduce(list(few.values()), Scale.TINY, folder, seed=1)
    assert list(made) == list(few)
    for name in few:
        check_files(folder, name, made[name])
    check_timings(folder, few)
    for _ in range(2):  # again, over the first
        write_report(RunFolder.read(folder.path), tmp_path)
    for name in few:
        check_page(tmp_path, name, made[name])


def check_files(folder, name, made):
    summary = json.loads((folder.path / "results" / f"{name}.json").read_text())
    assert summary["cells"] == results_of(EXPERIMENTS[name], Scale.TINY, folder).cells
    assert summary["provenance"]["parameters"] == {"scale": "tiny", "seed": 1}
    for table, rows in made.tables.items():
        with (folder.path / "results" / f"{table}.csv").open() as file:
            assert len(list(csv.DictReader(file))) == len(rows) > 0
    for drawing in made.drawings:
        path = folder.path / "figures" / drawing.name
        assert path.with_suffix(".png").read_bytes().startswith(PNG)
        ET.parse(path.with_suffix(".svg"))  # noqa: S314 - our own file


def check_timings(folder, few):
    assert set(folder.timings) == {c.key for e in few.values() for c in e.cells(Scale.TINY)}
    for path in folder.path.rglob("*.json"):
        if path.name != "timings.json":
            assert "seconds" not in path.read_text()


def check_page(target, name, made):
    summary = (target / "REPRODUCTION.md").read_text()
    page = (target / "docs" / "paper" / f"{name}.md").read_text()
    assert page.startswith(f"# {EXPERIMENTS[name].title}\n")
    assert f"(docs/paper/{name}.md)" in summary
    for drawing in made.drawings:
        assert (target / "docs" / "paper" / "figures" / f"{drawing.name}.png").exists()
    for sentence in made.findings:
        assert sentence in summary.replace("\\*", "*")


def test_a_report_of_half_a_run_is_refused(tmp_path):
    with (
        begin(tmp_path / "out", {"scale": "tiny", "seed": 1}) as folder,
        pytest.raises(MoldableError, match=r"misses \d+ cells.*--resume"),
    ):
        write_report(folder, tmp_path)


def test_a_report_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.report.EXPERIMENTS", {})
    with begin(tmp_path / "out", {"scale": "tiny", "seed": 1}) as folder:
        (tmp_path / "docs").write_text("")  # a file where a folder is needed
        with pytest.raises(MoldableError, match="report cannot be written: not a directory"):
            write_report(folder, tmp_path)


def test_experiments_are_chosen_by_name_and_each_once():
    assert [e.name for e in chosen(["fluid", "time", "fluid"])] == ["fluid", "time"]
    assert [e.name for e in chosen(["fluid", "all"])] == list(EXPERIMENTS)


def test_an_unknown_experiment_is_corrected():
    with pytest.raises(MoldableError, match="did you mean 'table'"):
        chosen(["fluid", "tabel"])
