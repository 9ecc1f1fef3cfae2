"""What a person reads, as lines to compare."""

from __future__ import annotations

import pytest

from moldable.cli.output import console


@pytest.fixture
def shown(capsys, monkeypatch):
    """Print an answer and return its lines; spaces side by side count as one."""
    monkeypatch.setenv("COLUMNS", "120")

    def lines(show, answer):
        show(console(), answer)
        return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    return lines
