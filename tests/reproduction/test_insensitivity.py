"""Insensitivity: exact for one width, not for several."""

from __future__ import annotations

import pytest

from moldable.exact import erlang_b
from reproduction.insensitivity import SYSTEMS, differences
from tiny_results import tiny

ONE_WIDTH, LEFT_OVER, NARROW, WIDE = SYSTEMS


def test_one_width_gives_erlangs_formula_for_phases():
    _, results = tiny("insensitivity")
    exact = [each for each in differences(results, ONE_WIDTH) if each.method != "simulate"]
    assert {each.law for each in exact} == {"exponential", "mixed-erlang", "hyperexponential"}
    for each in exact:
        servers = each.servers
        assert each.value[0].value == pytest.approx(erlang_b(servers // 5, servers * 0.16))
        assert each.none_seen


@pytest.mark.parametrize("system", [LEFT_OVER, NARROW, WIDE], ids=lambda system: system.key)
def test_elsewhere_the_exact_chain_depends_on_the_law(system):
    _, results = tiny("insensitivity")
    (varied,) = (
        each
        for each in differences(results, system)
        if each.law == "hyperexponential" and each.method == "chain"
    )
    assert not varied.none_seen
    assert varied.blocking.value > 1e-3


def test_the_reference_does_not_differ_from_itself():
    _, results = tiny("insensitivity")
    for system in SYSTEMS:
        for each in differences(results, system):
            if each.law == "exponential":
                assert each.blocking.value == 0.0
                assert each.none_seen


def test_simulated_laws_meet_erlangs_formula_for_one_width():
    _, results = tiny("insensitivity")
    assert all(each.none_seen for each in differences(results, ONE_WIDTH))
