"""Tables on wide and on narrow pages."""

from __future__ import annotations

import pytest

from moldable.cli.output import console
from moldable.reporting.tables import plain_table, print_table


@pytest.mark.parametrize(("columns", "blocks"), [("120", False), ("60", True)])
def test_a_table_that_does_not_fit_becomes_a_block_for_each_row(
    capsys, monkeypatch, columns, blocks
):
    monkeypatch.setenv("COLUMNS", columns)
    table = plain_table(title="Title")
    for heading in ("policy", "blocking", ""):
        table.add_column(heading)
    table.add_row("a" * 70, "0.123456789", "marked")
    table.add_row("short", "", "")
    print_table(console(), table)
    found = capsys.readouterr().out
    assert max(map(len, found.splitlines())) <= int(columns)
    assert "".join(found.split()).count("a" * 70) == 1
    assert "0.123456789" in found
    assert ("  blocking: 0.123456789\n  marked\npolicy short\n" in found) == blocks
