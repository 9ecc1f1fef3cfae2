"""Cells of experiments: their seeds and simulations, and that partial results are not kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

import reproduction.experiment as experiment_module
from moldable import Scenario, SpeedUp, greedy_p, simulate
from reproduction.experiment import Effort
from reproduction.run import cell_seed

SCENARIO = Scenario.single(SpeedUp.linear(5), 0.8, 20)


def test_seeds_are_fixed_by_the_cell_and_differ_within_it():
    first, second = Effort(7), Effort(7)
    seeds = [first.next_seed() for _ in range(3)]
    assert seeds == [second.next_seed() for _ in range(3)]
    assert len(set(seeds)) == 3
    assert cell_seed(1, "a/b") == 1116655005357934763  # the same on every machine


def test_single_runs_do_not_depend_on_threads():
    def blocking(effort: Effort) -> list[float]:
        answers = effort.runs(4, SCENARIO, None, jobs=1000, warmup=0.0)
        return [answer.blocking.value for answer in answers]

    alone = Effort(3, threads=1)
    found = blocking(alone)
    assert found == blocking(Effort(3, threads=4))
    assert len(set(found)) == 4
    assert alone.arrivals == 4000


def test_an_evaluation_that_simulates_is_seeded_too(monkeypatch):
    def simulated(*arguments, seed, threads, progress):
        options = {"seed": seed, "threads": threads, "progress": progress}
        return simulate(*arguments, jobs=100, replications=2, warmup=0.0, **options)

    monkeypatch.setattr(experiment_module, "evaluate", simulated)
    policy = greedy_p(SCENARIO)
    seeds = [Effort(seed).evaluate(SCENARIO, policy).detail.seed for seed in (3, 3, 4)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_progress_is_told_in_fractions_of_the_cell():
    reported: list[float] = []
    effort = Effort(3, threads=1, progress=reported.append)
    effort.runs(4, SCENARIO, None, jobs=100, warmup=0.0)
    assert reported == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda effort: effort.simulate(SCENARIO, jobs=100, replications=2, warmup=0.0),
        lambda effort: effort.runs(2, SCENARIO, None, jobs=100, warmup=0.0),
    ],
    ids=["simulate", "runs"],
)
def test_a_simulation_that_was_stopped_is_not_kept(monkeypatch, ask):
    def stopped(*arguments, **options):
        answer = simulate(*arguments, **options)
        return replace(answer, detail=replace(answer.detail, interrupted=True))

    monkeypatch.setattr(experiment_module, "simulate", stopped)
    effort = Effort(3)
    with pytest.raises(KeyboardInterrupt):
        ask(effort)
    assert effort.arrivals == 0
