"""Tuned policies as text."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import Thresholds
from moldable.policies.decisions import DecisionRow, Decisions
from moldable.reporting.tuning_text import show_tuned
from moldable.system.estimate import Estimate
from moldable.tuning.families import Static
from moldable.tuning.reference import Best
from moldable.tuning.tuned import Tuned
from reporting.answers import performing

TUNED = Tuned(
    blocking_cost=4.56789,
    policy=Thresholds({"jobs": {1: 1}}),
    thresholds="1 server from 1 idle",
    performance=performing(Estimate(0.0312, (0.0311, 0.0313)), 0.71),
    greedy_p=performing(Estimate.exact(0.125), 0.625),
    static=Static(0.87654, performing(Estimate.exact(0.0625), 0.75)),
    optimum=Best(0.03, 0.7, 1e-5),
    target={"max_blocking": 0.05},
    precision=0.01,
    seed=None,
    certified=True,
)


DECIDED = (
    Decisions(
        "jobs",
        (
            DecisionRow(
                1,
                9,
                {"tuned": {1: 1.0}, "greedy_p": {2: 1.0}, "static": {3: 1.0}, "greedy": {4: 1.0}},
            ),
        ),
    ),
)


@pytest.fixture
def printed(shown):
    return lambda answer: shown(lambda to, what: show_tuned(to, what, DECIDED), answer)


def test_decisions_come_first_then_the_performance_of_each_policy(printed):
    found = printed(TUNED)
    assert found[0] == "Give each job, by idle servers: 1 server from 1 idle."
    assert found[1] == "It is the value policy at a blocking cost of 4.568 mean sizes."
    assert "idle tuned greedy(p*) for load 0.8765 greedy" in found
    assert "1 to 9 1 2 3 4" in found
    rows = [
        "tuned 0.03120 ± 0.00010 0.71",
        "greedy(p*) 0.125 0.625",
        "greedy(p*) for load 0.8765 0.0625 0.75",
        "true optimum 0.03 0.7",
    ]
    assert [line for line in found if line in rows] == rows
    stays = "Blocking stays within the limit (exact, Poisson arrivals, exponential sizes)."
    assert found[-1] == stays


def test_a_cluster_that_cannot_carry_the_load_has_no_shares_of_the_papers(printed):
    found = printed(dataclasses.replace(TUNED, greedy_p=None))
    assert "greedy(p*) overloaded" in found
    assert "idle tuned for load 0.8765 greedy" in found


def test_simulated_figures_are_certified_by_their_interval(printed):
    simulated = dataclasses.replace(TUNED.performance, method="simulate")
    found = printed(dataclasses.replace(TUNED, performance=simulated))
    assert found[-1] == (
        "Blocking stays within the limit (95 % confidence, Poisson arrivals, exponential sizes)."
    )


def test_without_a_limit_nothing_is_certified(printed):
    found = printed(dataclasses.replace(TUNED, target={"blocking_cost": 4.0}))
    assert not any("ertified" in line for line in found)


def test_a_family_that_misses_the_target_has_no_figures(printed):
    found = printed(dataclasses.replace(TUNED, static=None))
    assert "greedy(p*) for another load none found" in found
    assert not any("for load" in line for line in found)
    assert "1 to 9 1 2 4" in found


def test_an_optimum_that_is_not_known_is_not_mentioned(printed):
    assert not any("optimum" in line for line in printed(dataclasses.replace(TUNED, optimum=None)))


def test_a_target_that_is_only_met_on_average_is_not_called_certain(printed):
    found = printed(dataclasses.replace(TUNED, certified=False))
    assert found[-1].startswith("Not certified: the limit lies within")


def test_static_widths_have_no_blocking_cost(printed):
    found = printed(dataclasses.replace(TUNED, blocking_cost=None))
    assert not any("blocking cost" in line for line in found)


def test_the_seed_is_printed_where_random_numbers_were_used(printed):
    assert printed(dataclasses.replace(TUNED, seed=7))[-1] == "Random seed: 7."
    assert not any("seed" in line for line in printed(TUNED))
