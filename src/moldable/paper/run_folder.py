"""Where do results live, and how does a stopped run go on?

::

    DIR/manifest.json         versions, machine, parameters: what must agree to resume
    DIR/cells/FAMILY/NAME.json  the result of a cell, written as it finishes
    DIR/results/EXPERIMENT.json, TABLE.csv   what the experiments come to
    DIR/figures/NAME.png, NAME.svg
    DIR/timings.json          seconds and arrivals of each cell: the only file that differs from
                              run to run

Every file is written atomically, so a file that is there is complete. A run holds a lock on its
folder, so that no other run can write there at the same time.
"""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self, final

from moldable.errors import ResultsError
from moldable.paper.drawing import render
from moldable.paper.experiment import Drawing, Experiment, Result, Results, Row
from moldable.paper.manifest import (
    MANIFEST,
    Parameters,
    differences,
    fresh_manifest,
    in_words,
    machine,
    read_json,
    read_manifest,
    refuse_edited,
    to_json,
)
from moldable.text_files import LOCK, UNFINISHED, FolderLock, replace_file

TIMINGS: Final = "timings.json"
OWN: Final = (MANIFEST, TIMINGS, "cells", "results", "figures")


@final
class RunFolder:
    """The results of one reproduction.

    Use `create` for a new run, `resume` for one that was stopped, `read` for a finished one. The
    first two lock the folder against other writers until `close`, or the end of a `with` block.

    Attributes:
        path: where it is.
        manifest: what is written in `manifest.json`.
    """

    def __init__(
        self, path: Path, manifest: dict[str, Any], lock: FolderLock | None = None
    ) -> None:
        self.path, self.manifest = path, manifest
        self._timings: dict[str, Any] = {}
        self._lock = lock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other runs write to the folder."""
        if self._lock is not None:
            self._lock.close()

    @classmethod
    def create(cls, path: Path, parameters: Parameters, *, overwrite: bool = False) -> RunFolder:
        """Begin a run; a folder that holds another run's results must be given up explicitly."""
        manifest = fresh_manifest(parameters)
        with ExitStack() as held:
            folder = cls(path, manifest, held.enter_context(_locked(path)))
            if _begun(path):
                if not overwrite and next((path / "cells").rglob("*.json"), None) is not None:
                    raise ResultsError(
                        f"{path} holds the results of a run ({in_words(read_manifest(path))}); add "
                        f"--resume to go on with it, --overwrite to give it up, or choose another "
                        f"--out"
                    )
                _clear(path)
            folder.write(MANIFEST, to_json(manifest))
            held.pop_all()
        return folder

    @classmethod
    def resume(cls, path: Path, parameters: Parameters) -> RunFolder:
        """Go on with a stopped run; begin one where there is none."""
        if not _begun(path):
            return cls.create(path, parameters)
        now = fresh_manifest(parameters)
        with ExitStack() as held:
            lock = held.enter_context(_locked(path))
            folder = cls.read(path, lock)
            differing = differences(folder.manifest, now)
            if differing:
                raise ResultsError(
                    f"{path} was begun with {'; '.join(differing)}: mixed results would mean "
                    f"nothing; resume with what it was begun with, or choose another --out"
                )
            for left in path.rglob(f"*{UNFINISHED}"):
                left.unlink(missing_ok=True)
            if machine() not in folder.manifest["machines"]:
                folder.manifest["machines"].append(machine())
                folder.write(MANIFEST, to_json(folder.manifest))
            held.pop_all()
        return folder

    @classmethod
    def read(cls, path: Path, lock: FolderLock | None = None) -> RunFolder:
        """Open the folder of a run as it is; without a lock, to read only."""
        if not _begun(path):
            raise ResultsError(
                f"{path} holds no results; make some with: moldable reproduce --out {path}"
            )
        folder = cls(path, read_manifest(path), lock)
        refuse_edited(path, folder.manifest)
        if (path / TIMINGS).exists():
            folder._timings = _read_timings(path / TIMINGS)
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
        content = to_json(result)
        self.write(f"cells/{key}.json", content)
        self._timings[key] = {
            "seconds": round(seconds, 3),
            "arrivals": arrivals,
            "digest": _digest(content),
        }
        self.write(TIMINGS, to_json(self._timings))

    def load(self, key: str) -> Result:
        """Read what a cell found; a file that was edited since is refused."""
        path = self._cell(key)
        result = read_json(path)
        kept = self._timings.get(key, {}).get("digest")
        if kept is not None and kept != _digest(to_json(result)):
            raise ResultsError(f"{path} is damaged: it was edited; delete it and resume")
        return result

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
        self.write(f"results/{experiment.name}.json", to_json(summary))

    def draw(self, drawings: list[Drawing]) -> None:
        """Write figures, each as PNG and SVG."""
        for drawing in drawings:
            for name, content in render(drawing).items():
                self.write(f"figures/{name}", content)

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        target = self.path / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, content)
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


def _begun(path: Path) -> bool:
    """Tell whether a run was begun in a folder."""
    try:
        return (path / MANIFEST).exists()
    except OSError:
        return False  # what is wrong is said where the folder is made


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read_timings(path: Path) -> dict[str, Any]:
    timings = read_json(path)
    for timing in timings.values():
        if not isinstance(timing, dict) or not all(
            isinstance(timing.get(what), int | float) for what in ("seconds", "arrivals")
        ):
            raise ResultsError(f"{path} is damaged: a cell has no time; delete it and resume")
    return timings


def _locked(path: Path) -> FolderLock:
    """Make the folder and lock it; one that is not a run's is left as it is."""
    if _begun(path):
        read_manifest(path)
    elif foreign := _foreign(path):
        raise ResultsError(
            f"{path} holds other files, such as {foreign}; results need a folder of their own: "
            f"choose another --out"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ResultsError(f"{path} cannot be made: {reason}; choose another --out") from None
    return FolderLock(path)


def _foreign(path: Path) -> str | None:
    """Return the name of something in the folder that no run has left there."""
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ResultsError(f"{path} cannot be used: {reason}; choose another --out") from None
    return next((n for n in names if n != LOCK and not n.endswith(UNFINISHED)), None)


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


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
