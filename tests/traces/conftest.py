"""Logs as files, and the real logs that are not part of the project."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def log(tmp_path):
    """Write a log and return its path."""

    def write(text: str | bytes, name: str = "log.txt", *, compressed: bool = False) -> Path:
        content = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if compressed else content)
        return path

    return write


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """Return the folder of the real logs; tests that need them skip without."""
    folder = Path(os.environ.get("MOLDABLE_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "slurm").is_dir():
        pytest.skip(f"no real logs in {folder}; set MOLDABLE_DATA to their folder")
    return folder
