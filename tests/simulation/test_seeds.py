"""Different seeds, and different parts of one run, never share random numbers."""

from __future__ import annotations

import numpy as np

from moldable import Greedy, Scenario, SpeedUp
from moldable.simulation import candidates, descents, plan
from moldable.tuning.judge import Judge
from moldable.tuning.targets import Target
from moldable.tuning.trials import Trials

SCENARIO = Scenario.single(SpeedUp([1, 1.8]), 0.6, 400)


def test_children_of_neighbouring_seeds_differ():
    children = {
        plan.child_seed(seed, *key)
        for seed in range(100)
        for key in (
            (plan.JUDGED,),
            *((part, k) for part in (plan.TRIAL, plan.DESCENT) for k in range(10)),
        )
    }
    assert len(children) == 100 * 21


def test_descents_of_neighbouring_seeds_differ(monkeypatch):
    asked = []

    def note(*_, seed, **__):
        asked.append(seed)
        return 0.5

    monkeypatch.setattr(descents, "rare_blocking", note)
    for seed in (1, 2):
        descents.rare_blocking_interval(SCENARIO, Greedy(), seed=seed)
    assert len(set(asked)) == len(asked) == 16


def test_rounds_of_trials_of_neighbouring_seeds_differ(monkeypatch):
    asked = []

    def note(*_, seed, **__):
        asked.append(seed)
        return candidates.Trials(np.ones((1, 4)), np.zeros((1, 4)), np.ones((1, 4)))

    monkeypatch.setattr("moldable.tuning.trials.try_policies", note)
    for seed in range(1, 5):
        trials = Trials(SCENARIO.workload, 400, seed, 1)
        assert not trials.exact
        for number in range(4):
            trials.measure([Greedy()], number)
    assert len(set(asked)) == len(asked) == 16


def test_a_policy_is_not_evaluated_with_the_seed_of_a_trial():
    trials = Trials(SCENARIO.workload, 400, 1, 1)
    judge = Judge(trials, Target.of(0.1, None, None, 1.0), 0.01)
    assert judge.seed not in {1, *(plan.child_seed(1, plan.TRIAL, number) for number in range(100))}


def test_replications_of_trials_share_nothing_with_long_seeds(monkeypatch):
    """A seed of two words must not be mistaken for a short seed and a replication."""
    states = []

    def note(systems, _models, _jobs, streams):
        states.append(tuple(streams.generate_state(4)))
        return np.ones((3, len(systems)))

    monkeypatch.setattr(candidates, "_run_set", note)
    for seed in (7, 7 + 2**32, 7 + 2**33):
        candidates.try_policies(SCENARIO, [Greedy()], jobs=1, replications=3, seed=seed, threads=1)
    assert len(set(states)) == len(states) == 9
