"""Start the explorer as its user does."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOLDABLE = str(Path(sys.executable).with_name("moldable"))


@contextmanager
def exploring(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the explorer; gives its address and its process."""
    with subprocess.Popen(
        [MOLDABLE, "explore", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            first = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", first)
            assert found, first + process.stderr.read()
            yield found[0], process
        finally:
            process.kill()
