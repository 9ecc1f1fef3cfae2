"""Printed results as lines to compare."""

from __future__ import annotations

import pytest

from moldable.cli.output import console


@pytest.fixture
def shown(capsys, monkeypatch):
    """Print a result and return its lines, with repeated spaces replaced by one."""
    monkeypatch.setenv("COLUMNS", "120")

    def lines(show, answer):
        show(console(), answer)
        return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    return lines
