"""Tables on wide and on narrow pages."""

from __future__ import annotations

import pytest

from moldable.cli.output import console
from moldable.reporting.tables import boxed_table, plain_table, print_table


@pytest.mark.parametrize(("columns", "blocks"), [("120", False), ("60", True)])
def test_a_table_that_does_not_fit_becomes_a_block_for_each_row(
    capsys, monkeypatch, columns, blocks
):
    monkeypatch.setenv("COLUMNS", columns)
    table = boxed_table("Title", "policy", "blocking", "", right=())
    table.add_row("a" * 70, "0.123456789", "marked")
    table.add_row("short", "", "")
    print_table(console(), table)
    found = capsys.readouterr().out
    assert max(map(len, found.splitlines())) <= int(columns)
    assert "".join(found.split()).count("a" * 70) == 1
    assert "0.123456789" in found
    assert ("  blocking: 0.123456789\n  marked\npolicy: short\n" in found) == blocks


@pytest.mark.parametrize(("columns", "form"), [("80", "line"), ("70", "stacked"), ("60", "block")])
def test_half_widths_go_below_their_values_before_a_table_becomes_blocks(
    capsys, monkeypatch, columns, form
):
    monkeypatch.setenv("COLUMNS", columns)
    table = plain_table("policy", right=("blocking", "mean time"))
    name = "largest that fits, with a long name as well"
    table.add_row(name, "0.0192 ± 0.0003", "0.7640 ± 0.0012")
    table.add_row("greedy", "0.2775", "0.5123 ± 0.0004", end_section=True)
    print_table(console(), table)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    expected = {
        "line": f"{name} 0.0192 ± 0.0003 0.7640 ± 0.0012",
        "stacked": f"{name} 0.0192 0.7640|± 0.0003 ± 0.0012|greedy 0.2775 0.5123|± 0.0004",
        "block": f"policy: {name}|blocking: 0.0192 ± 0.0003|mean time: 0.7640 ± 0.0012",
    }
    assert expected[form] in "|".join(" ".join(line.split()) for line in lines)
