"""The folder of a run, and how runs are resumed.

::

    DIR/manifest.json         versions, machine, parameters; they must agree to resume
    DIR/cells/FAMILY/NAME.json  the result of a cell, written when it is finished
    DIR/results/EXPERIMENT.json, TABLE.csv   results of the experiments
    DIR/figures/NAME.png, NAME.svg
    DIR/timings.json          seconds and arrivals of each cell: the only file that differs from
                              run to run

Every file is written atomically, so every existing file is complete. A run holds a lock on its
folder, so that no other run can write to it at the same time.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final

from moldable import MoldableError
from reproduction.experiment import Experiment, Publication, Result, Results, Row
from reproduction.manifest import (
    MANIFEST,
    differences,
    fresh_manifest,
    machine,
    read_json,
    read_manifest,
    reason,
    refuse_edited,
    to_json,
)
from reproduction.presentation import can_draw, render

TIMINGS: Final = "timings.json"
OWN: Final = (MANIFEST, TIMINGS, "cells", "results", "figures")
LOCK: Final = ".lock"
"""Never removed: a lock could be held twice if its file were removed."""
UNFINISHED: Final = ".unfinished"
"""Suffix of files that are being written; a killed process may leave one."""


@contextmanager
def begin(
    path: Path,
    parameters: Mapping[str, str | int],
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> Iterator[RunFolder]:
    """Start or resume a run in a folder, and lock the folder meanwhile.

    Args:
        path: the folder; one with other files than those of a run is refused.
        parameters: scale and seed.
        resume: whether to resume an interrupted run if there is one.
        overwrite: whether to delete the existing run.
    """
    manifest = fresh_manifest(parameters)
    _refuse_foreign(path)
    with _locked(path):
        if resume and _begun(path):
            folder = _resumed(path, manifest)
        else:
            folder = RunFolder(path, manifest)
            if _begun(path):
                _delete_run(path, overwrite=overwrite)
            folder.write(MANIFEST, to_json(manifest))
        yield folder


def _resumed(path: Path, now: dict[str, Any]) -> RunFolder:
    folder = RunFolder.read(path)
    differing = differences(folder.manifest, now)
    if differing:
        raise MoldableError(
            f"{path} was started with {'; '.join(differing)}: results cannot be mixed; "
            f"resume with the original parameters and versions, or choose another --out"
        )
    for left in path.rglob(f"*{UNFINISHED}"):
        left.unlink(missing_ok=True)
    if machine() not in folder.manifest["machines"]:
        folder.manifest["machines"].append(machine())
        folder.write(MANIFEST, to_json(folder.manifest))
    return folder


@final
class RunFolder:
    """The results of one reproduction; `begin` opens it for writing, `read` for reading.

    Attributes:
        path: of the folder.
        manifest: content of `manifest.json`.
        timings: seconds, simulated arrivals and a digest of the result, by cell.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self.timings: dict[str, Any] = {}

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """Open the folder of a run for reading."""
        if not _begun(path):
            raise MoldableError(
                f"{path} has no results; compute them with: python -m reproduction --out {path}"
            )
        folder = cls(path, read_manifest(path))
        refuse_edited(path, folder.manifest)
        if (path / TIMINGS).exists():
            folder.timings = _read_timings(path / TIMINGS)
        return folder

    def has(self, key: str) -> bool:
        """Return whether a cell is finished."""
        return self._cell(key).exists()

    def keep(self, key: str, result: Result, *, seconds: float, arrivals: int) -> None:
        """Write the result of a cell, and its time."""
        content = to_json(result)
        self.write(f"cells/{key}.json", content)
        timing = {"seconds": round(seconds, 3), "arrivals": arrivals, "digest": _digest(content)}
        self.timings[key] = timing
        self.write(TIMINGS, to_json(self.timings))

    def load(self, key: str) -> Result:
        """Read the result of a cell; an edited file is refused."""
        path = self._cell(key)
        result = read_json(path)
        kept = self.timings.get(key, {}).get("digest")
        if kept is not None and kept != _digest(to_json(result)):
            raise MoldableError(f"{path} is damaged: it was edited; delete it and resume")
        return result

    def publish(self, experiment: Experiment, results: Results, made: Publication) -> None:
        """Write the tables of an experiment, its figures if possible, and one file of results."""
        for name, rows in made.tables.items():
            self.write(f"results/{name}.csv", _csv(rows))
        for drawing in made.drawings if can_draw() else ():
            for name, content in render(drawing).items():
                self.write(f"figures/{name}", content)
        summary = {
            "experiment": experiment.name,
            "title": experiment.title,
            "provenance": {k: v for k, v in self.manifest.items() if k != "machines"},
            "findings": made.findings,
            "tables": {name: list(map(dict, rows)) for name, rows in made.tables.items()},
            "cells": dict(results.cells),
        }
        self.write(f"results/{experiment.name}.json", to_json(summary))

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        target = self.path / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, content)
        except OSError as error:
            advice = (
                "finished cells are kept: make room or choose a folder that can be written, then "
                "continue with --resume"
                if self.timings
                else "make room there, or choose another --out"
            )
            raise MoldableError(f"{target} cannot be written: {reason(error)}; {advice}") from None

    def _cell(self, key: str) -> Path:
        return self.path / "cells" / f"{key}.json"


def _begun(path: Path) -> bool:
    """Return whether a run was started in a folder."""
    try:
        return (path / MANIFEST).exists()
    except OSError:
        return False  # the error is reported when the folder is created


def _refuse_foreign(path: Path) -> None:
    """Refuse a folder with files that no run has written."""
    if _begun(path):
        read_manifest(path)
        return
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None
    foreign = [name for name in names if name != LOCK and not name.endswith(UNFINISHED)]
    if foreign:
        raise MoldableError(
            f"{path} holds other files, such as {foreign[0]}; results need a separate folder: "
            f"choose another --out"
        )


def _unusable(path: Path, error: Exception) -> MoldableError:
    return MoldableError(f"{path} cannot be used: {reason(error)}; choose another --out")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Make this process the only writer of a folder; the lock ends with the process."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = (path / LOCK).open("w")
    except OSError as error:
        raise _unusable(path, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MoldableError(
                f"{path} is being written by another run; wait until it has ended, or choose "
                f"another --out"
            ) from None
        except OSError as error:
            raise _unusable(path, error) from None
        yield


def _delete_run(path: Path, *, overwrite: bool) -> None:
    """Delete the files of a run, if requested or if no cell of it is finished.

    The manifest is deleted first, so that a partly deleted folder does not count as a run.
    """
    if not overwrite and next((path / "cells").rglob("*.json"), None) is not None:
        begun = ", ".join(f"{k} {v}" for k, v in read_manifest(path)["parameters"].items())
        raise MoldableError(
            f"{path} holds the results of a run ({begun}); add --resume to continue it, "
            f"--overwrite to delete it, or choose another --out"
        )
    for entry in (path / name for name in OWN):
        try:
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        except OSError as error:
            raise MoldableError(
                f"{entry} cannot be removed: {reason(error)}; remove it by hand"
            ) from None


def _replace(target: Path, content: bytes) -> None:
    """Write a file so that it has its old or its new content, even after a power failure.

    It is written under another name, synced and renamed, and the folder is synced.
    """
    unfinished = target.with_name(f".{target.name}.{os.getpid()}{UNFINISHED}")
    try:
        _write_synced(unfinished, content)
        unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems cannot sync folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read_timings(path: Path) -> dict[str, Any]:
    timings = read_json(path)
    for timing in timings.values():
        if not isinstance(timing, dict) or not all(
            isinstance(timing.get(what), int | float) for what in ("seconds", "arrivals")
        ):
            raise MoldableError(f"{path} is damaged: a cell has no time; delete it and resume")
    return timings


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
