"""Ctrl-C ends a plan, also where a simulation was stopped after some of its replications."""

from __future__ import annotations

from dataclasses import replace

import pytest

from moldable import Scenario, simulate
from moldable.planning import predictor
from moldable.planning.predictor import Predictor
from moldable.simulation.paired import simulate_together

SCENARIO = Scenario.single([1, 1.8, 2.5], 0.8, 200, size="lognormal:2")


def stopped(answer):
    return replace(answer, detail=replace(answer.detail, interrupted=True))


def test_a_stopped_run_cannot_be_continued_with():
    answer = simulate(SCENARIO, jobs=1_000, replications=2, seed=1)
    assert answer.whole() is answer
    with pytest.raises(KeyboardInterrupt):
        stopped(answer).whole()


def test_a_stopped_prediction_ends_the_plan(monkeypatch):
    def partial(*arguments, **options):
        found = simulate_together(*arguments, **options)
        return {
            n: replace(each, performance=stopped(each.performance)) for n, each in found.items()
        }

    predict = Predictor(precision=0.2, seed=1, threads=1)
    assert predict(SCENARIO, "greedy-p").blocking > 0.0
    monkeypatch.setattr(predictor, "simulate_together", partial)
    with pytest.raises(KeyboardInterrupt):
        predict(SCENARIO, "greedy-p")
