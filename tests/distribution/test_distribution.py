"""`make dist` refuses wheels and sdists with wrong contents. The whole of it runs in .ci/run."""

from __future__ import annotations

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from scripts import distribution
from scripts.distribution import DistributionError

ROOT = Path(__file__).parents[2]
FILES = {"moldable/__init__.py", "moldable/py.typed", "moldable/examples/gpus.toml"}
INFO = "moldable-1.dist-info/METADATA"
MAN = "moldable-1.data/data/share/man/man1/moldable.1"


def make_wheel(folder: Path, names: set[str]) -> Path:
    path = folder / "moldable-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def make_sdist(folder: Path, names: tuple[str, ...]) -> Path:
    (folder / "empty").touch()
    path = folder / "moldable-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.add(folder / "empty", f"moldable-1/{name}")
    return path


def test_a_wheel_with_the_files_of_the_package_is_accepted(tmp_path):
    distribution.check_wheel(make_wheel(tmp_path, {*FILES, INFO, MAN}), FILES)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ({*FILES, INFO, MAN} - {"moldable/py.typed"}, "py.typed"),
        ({*FILES, INFO, MAN, "moldable/__pycache__/a.nbi"}, "__pycache__"),
        ({*FILES, INFO, MAN, "tests/test_a.py"}, "tests/test_a.py"),
        ({*FILES, INFO}, "has no share/man"),
    ],
)
def test_a_wheel_with_other_files_is_refused(tmp_path, names, reason):
    with pytest.raises(DistributionError, match=reason):
        distribution.check_wheel(make_wheel(tmp_path, names), FILES)


def test_an_sdist_needs_its_files_and_no_caches(tmp_path):
    needed = distribution.IN_SDIST
    distribution.check_sdist(make_sdist(tmp_path, needed))
    few = make_sdist(tmp_path, tuple(name for name in needed if name != "LICENSE"))
    with pytest.raises(DistributionError, match="lacks LICENSE"):
        distribution.check_sdist(few)
    for unwanted in ("tests/test_a.py", "src/__pycache__/a.pyc", ".mypy_cache/a"):
        more = make_sdist(tmp_path, (*needed, unwanted))
        with pytest.raises(DistributionError, match=f"has {re.escape(unwanted)}"):
            distribution.check_sdist(more)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no git checkout")
def test_files_that_the_package_reads_are_tracked():
    names = distribution.tracked_files()
    assert "moldable/py.typed" in names
    assert {"moldable/__init__.pyi", "moldable/files/published_curves.json"} <= names
    for folder in ("examples", "live/slurm/templates", "reporting/html"):
        present = {
            str(path.relative_to(ROOT / "src"))
            for path in (ROOT / "src" / "moldable" / folder).iterdir()
            if path.is_file()
        }
        assert present
        assert present <= names


def test_the_first_examples_of_the_readme_are_found():
    text = (ROOT / "README.md").read_text()
    command, shown = distribution.first_command(text)
    assert command == "moldable optimum --speedup 1,1.8,2.5,3,3.4 --load 0.8"
    assert shown.startswith("Optimal widths at load 0.8\n")
    assert ">>> from moldable import SpeedUp, optimum\n" in distribution.first_python(text)


def test_versions_are_those_of_the_classifiers():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    first = project["requires-python"].removeprefix(">=")
    assert distribution.python_versions()[0] == first


def test_a_program_that_fails_ends_the_build():
    with pytest.raises(DistributionError, match=r"exit 3.* failed"):
        distribution.run(["sh", "-c", "echo no >&2; exit 3"])


def test_older_files_are_replaced_and_others_kept(tmp_path):
    out = tmp_path / "dist"
    out.mkdir()
    for name in ("moldable-0.0.1.tar.gz", "moldable-0.0.1-py3-none-any.whl", "notes.txt"):
        (out / name).touch()
    wheel = make_wheel(tmp_path, FILES)
    distribution.publish(out, wheel)
    assert {path.name for path in out.iterdir()} == {wheel.name, "notes.txt"}
