"""Where do results live, and how does a stopped run go on?

::

    DIR/manifest.json         versions, machine, parameters: what must agree to resume
    DIR/cells/FAMILY/NAME.json  the result of a cell, written as it finishes
    DIR/results/EXPERIMENT.json, TABLE.csv   what the experiments come to
    DIR/figures/NAME.png, NAME.svg
    DIR/timings.json          seconds and arrivals of each cell: the only file that differs from
                              run to run

Every file is written under another name and then renamed, so a file that is there is whole.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, final

from moldable.errors import ResultsError
from moldable.paper.drawing import render
from moldable.paper.experiment import Drawing, Experiment, Result, Results, Row

MANIFEST: Final = "manifest.json"
TIMINGS: Final = "timings.json"
OWN: Final = (MANIFEST, TIMINGS, "cells", "results", "figures")
UNFINISHED: Final = ".unfinished"
PACKAGES: Final = ("moldable", "numpy", "scipy", "numba", "matplotlib")

Parameters = Mapping[str, str | int]


@final
class RunFolder:
    """The results of one reproduction.

    Use `create` for a new run, `resume` for one that was stopped, `read` for a finished one.

    Attributes:
        path: where it is.
        manifest: what is written in `manifest.json`.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self._timings: dict[str, Any] = {}

    @classmethod
    def create(cls, path: Path, parameters: Parameters, *, overwrite: bool = False) -> RunFolder:
        """Begin a run; a folder that holds another run's results must be given up explicitly."""
        if (path / MANIFEST).exists():
            begun = _manifest(path)  # refuses another program's folder, whatever was asked for
            if not overwrite and next((path / "cells").rglob("*.json"), None) is not None:
                raise ResultsError(
                    f"{path} holds the results of a run ({_in_words(begun)}); add "
                    f"--resume to go on with it, --overwrite to give it up, or choose another --out"
                )
            _clear(path)
        elif _foreign(path):
            raise ResultsError(
                f"{path} holds other files, such as {_foreign(path)}; results need a folder of "
                f"their own: choose another --out"
            )
        folder = cls(path, _fresh_manifest(parameters))
        folder.write(MANIFEST, _json(folder.manifest))
        return folder

    @classmethod
    def resume(cls, path: Path, parameters: Parameters) -> RunFolder:
        """Go on with a stopped run; begin one where there is none."""
        if not (path / MANIFEST).exists():
            return cls.create(path, parameters)
        folder = cls.read(path)
        differences = _differences(folder.manifest, _fresh_manifest(parameters))
        if differences:
            raise ResultsError(
                f"{path} was begun with {'; '.join(differences)}: mixed results would mean "
                f"nothing; resume with what it was begun with, or choose another --out"
            )
        for left in path.rglob(f"*{UNFINISHED}"):
            left.unlink(missing_ok=True)
        if _machine() not in folder.manifest["machines"]:
            folder.manifest["machines"].append(_machine())
            folder.write(MANIFEST, _json(folder.manifest))
        return folder

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """Open the folder of a run as it is."""
        if not (path / MANIFEST).exists():
            raise ResultsError(
                f"{path} holds no results; make some with: moldable reproduce --out {path}"
            )
        folder = cls(path, _manifest(path))
        if (path / TIMINGS).exists():
            folder._timings = _read_json(path / TIMINGS)
        return folder

    @property
    def timings(self) -> Mapping[str, Any]:
        """Seconds and simulated arrivals by cell."""
        return self._timings

    def has(self, key: str) -> bool:
        """Tell whether a cell is finished."""
        return self._cell(key).exists()

    def keep(self, key: str, result: Result, *, seconds: float, arrivals: int) -> None:
        """Keep what a cell found, and how long that took."""
        self.write(f"cells/{key}.json", _json(result))
        self._timings[key] = {"seconds": round(seconds, 3), "arrivals": arrivals}
        self.write(TIMINGS, _json(self._timings))

    def load(self, key: str) -> Result:
        """Read what a cell found."""
        return _read_json(self._cell(key))

    def publish(self, experiment: Experiment, results: Results) -> None:
        """Write an experiment's tables and figures, and all of its results in one file."""
        tables = experiment.tables(results)
        for name, rows in tables.items():
            self.write(f"results/{name}.csv", _csv(rows))
        self.draw(experiment.drawings(results))
        summary = {
            "experiment": experiment.name,
            "title": experiment.title,
            "provenance": {k: v for k, v in self.manifest.items() if k != "machines"},
            "findings": experiment.findings(results),
            "tables": {name: list(map(dict, rows)) for name, rows in tables.items()},
            "cells": dict(results.cells),
        }
        self.write(f"results/{experiment.name}.json", _json(summary))

    def draw(self, drawings: list[Drawing]) -> None:
        """Write figures, each as PNG and SVG."""
        for drawing in drawings:
            for name, content in render(drawing).items():
                self.write(f"figures/{name}", content)

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        target = self.path / name
        unfinished = target.with_name(f".{target.name}.{os.getpid()}{UNFINISHED}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                unfinished.write_bytes(content)
                unfinished.replace(target)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ResultsError(f"{target} cannot be written: {reason}; {self._advice}") from None

    @property
    def _advice(self) -> str:
        """What to do when a file cannot be written: a run without cells has nothing to keep."""
        if not self._timings:
            return "make room there, or choose another --out"
        return (
            "finished cells are kept: make room or choose a folder that can be written, then go "
            "on with --resume"
        )

    def _cell(self, key: str) -> Path:
        return self.path / "cells" / f"{key}.json"


def _fresh_manifest(parameters: Parameters) -> dict[str, Any]:
    return {
        "parameters": dict(parameters),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
            "source": _source(),
        },
        "machines": [_machine()],
    }


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{_processor()}"


def _processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = named[0] if named else platform.processor()
    return f" ({name})" if name else ""


def _source() -> str:
    """Return a fingerprint of the package: cells of one run must come from one code."""
    home = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for file in sorted(home.rglob("*.py")):
        digest.update(file.relative_to(home).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _manifest(path: Path) -> dict[str, Any]:
    manifest = _read_json(path / MANIFEST)
    if not all(isinstance(manifest.get(k), dict) for k in ("parameters", "versions")):
        raise ResultsError(
            f"{path / MANIFEST} was not written by moldable reproduce: it has no parameters and "
            f"versions; choose another --out"
        )
    return manifest


def _differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} {begun[part].get(name)}, not {now[part].get(name)}"
        for part in ("parameters", "versions")
        for name in dict.fromkeys([*begun[part], *now[part]])
        # Runs from before fingerprints were kept have none to compare.
        if begun[part].get(name) != now[part].get(name)
        and not (name == "source" and name not in begun[part])
    ]


def _in_words(manifest: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in manifest["parameters"].items())


def _foreign(path: Path) -> str | None:
    """Return the name of something in the folder that no run has left there."""
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ResultsError(f"{path} cannot be used: {reason}; choose another --out") from None
    return next((name for name in names if not name.endswith(UNFINISHED)), None)


def _clear(path: Path) -> None:
    """Remove what a run writes, the manifest first: a folder half cleared is no run's."""
    for name in OWN:
        entry = path / name
        try:
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ResultsError(f"{entry} cannot be removed: {reason}; remove it by hand") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ResultsError(f"{path} cannot be read: {reason}; check the folder") from None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ResultsError(f"{path} is damaged: it is not a JSON object; delete it and resume")
    return content


def _json(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode()


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
