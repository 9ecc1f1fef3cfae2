"""Comparison of policies whose chain cannot be solved."""

from __future__ import annotations

import pytest

from moldable import Scenario, SpeedUp, Thresholds, compare
from moldable.errors import ChainError


def unsolvable(*_):
    raise ChainError("no window holds it")


def test_policies_whose_chain_fails_are_simulated_together_and_said_to_be(monkeypatch):
    """They used to be simulated one by one and passed off as exact, without seed or precision."""
    monkeypatch.setattr("moldable.evaluation.evaluate.solve_system", unsolvable)
    scenario = Scenario.single(SpeedUp([1, 1.2]), 0.9, 40)
    policies = {
        "early": Thresholds({"jobs": {1: 1, 10: 2}}),
        "late": Thresholds({"jobs": {1: 1, 11: 2}}),
    }
    reported = []
    found = compare(
        scenario,
        policies,
        precision=0.2,
        seed=3,
        threads=1,
        progress=lambda *done: reported.append(done),
    )
    assert reported
    for part in found.policies:
        own = part.performance
        assert own.method == "simulate"
        assert own.detail.seed == 3
        assert "no window holds it" in own.reason
        assert own.blocking.half_width > 0.0
    assert found.policies[1].blocking_difference.half_width > 0.0
    again = compare(scenario, policies, precision=0.2, seed=3, threads=2)
    assert again.policies[1].blocking_difference == found.policies[1].blocking_difference


def test_a_chain_that_was_asked_for_is_never_replaced(monkeypatch):
    monkeypatch.setattr("moldable.evaluation.evaluate.solve_system", unsolvable)
    scenario = Scenario.single(SpeedUp([1, 1.2]), 0.9, 40)
    with pytest.raises(ChainError, match="no window"):
        compare(scenario, [Thresholds({"jobs": {1: 1, 10: 2}})], method="chain")
