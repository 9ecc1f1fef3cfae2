"""Different seeds, and different parts of one run, never share random numbers."""

from __future__ import annotations

from moldable import Greedy, Scenario, SpeedUp
from moldable.simulation import plan, splitting

SCENARIO = Scenario.single(SpeedUp([1, 1.8]), 0.6, 400)


def test_children_of_neighbouring_seeds_differ():
    children = {
        plan.child_seed(seed, *key)
        for seed in range(100)
        for key in (
            (part, k) for part in (plan.CERTIFY, plan.SEARCH, plan.SPLITTING) for k in range(10)
        )
    }
    assert len(children) == 100 * 30


def test_splitting_runs_of_neighbouring_seeds_differ(monkeypatch):
    asked = []

    def note(*_, seed, **__):
        asked.append(seed)
        return 0.5

    monkeypatch.setattr(splitting, "rare_blocking", note)
    for seed in (1, 2):
        splitting.rare_blocking_interval(SCENARIO, Greedy(), seed=seed)
    assert len(set(asked)) == len(asked) == 16
