"""The status of Slurm jobs as text."""

from __future__ import annotations

import io

from rich.console import Console

from moldable.live.slurm.status import Status
from moldable.reporting.slurm_text import show_status


def test_the_heading_of_a_narrow_table_is_on_one_line():
    console = Console(file=io.StringIO(), width=60)
    status = Status("test", None, (), {"solver": {4: 1, 5: 3}}, "running jobs", planned={})
    show_status(console, status)
    lines = [line.strip() for line in console.file.getvalue().splitlines()]
    assert "Widths granted to solver:" in lines
    assert "5     3  75.0%" in lines
