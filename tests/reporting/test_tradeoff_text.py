"""Trade-offs as text."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import Scenario, SpeedUp, Thresholds
from moldable.optimal import tradeoff
from moldable.reporting.tradeoff_text import show_tradeoff
from moldable.system.estimate import Estimate
from moldable.tuning.tradeoff import ValuePoint, ValueTradeoff
from reporting.answers import performing

SYSTEM = Scenario.single(SpeedUp([1.0, 1.8]), 0.8, 4)
COSTS = (2.0, 16.0)
TABLE = Thresholds({"jobs": {1: 1}})


@pytest.fixture(scope="module")
def answer():
    return ValueTradeoff(
        optimum=tradeoff(SYSTEM, COSTS),
        why_no_optimum="",
        value_policy=(
            ValuePoint(2.0, TABLE, performing(Estimate.exact(0.2), 0.5)),
            ValuePoint(16.0, TABLE, performing(Estimate.exact(0.1), 0.8)),
        ),
        greedy_p=performing(Estimate.exact(0.25), 0.4),
        greedy=performing(Estimate.exact(0.3), 0.35),
    )


def test_every_cost_has_a_row_with_the_optimum_and_the_value_policy(shown, answer):
    found = shown(show_tradeoff, answer)
    cheap, dear = (
        f"{control.blocking:.4f} / {control.mean_execution_time:#.4g}"
        for control in answer.optimum.controls
    )
    assert cheap != dear
    rows = [
        f"2 {cheap} 0.2000 / 0.5000",
        f"16 {dear} 0.1000 / 0.8000",
    ]
    assert [line for line in found if line in rows] == rows
    assert "greedy(p*): 0.2500 / 0.4000; greedy: 0.3000 / 0.3500." in found


def test_the_largest_gap_of_the_optimum_is_printed(shown, answer):
    first, second = answer.optimum.controls
    doubtful = dataclasses.replace(first, lower_bound=first.cost * (1.0 - 0.003))
    curve = dataclasses.replace(answer.optimum, controls=(doubtful, second))
    found = shown(show_tradeoff, dataclasses.replace(answer, optimum=curve))
    assert found[-1] == "The cost of the true optimum is computed to within 0.3 %."


def test_rare_blocking_keeps_its_digits_and_long_times_their_first_four(shown, answer):
    rare = performing(Estimate.exact(1.234e-5), 123.456)
    found = shown(show_tradeoff, dataclasses.replace(answer, greedy_p=rare))
    assert "greedy(p*): 1.2e-5 / 123.5; greedy: 0.3000 / 0.3500." in found


def test_a_missing_optimum_is_explained(shown, answer):
    found = shown(
        show_tradeoff, dataclasses.replace(answer, optimum=None, why_no_optimum="too many states")
    )
    assert "2 - 0.2000 / 0.5000" in found
    assert found[-1] == "No true optimum: too many states."


def test_a_load_that_cannot_be_carried_is_called_so(shown, answer):
    found = shown(show_tradeoff, dataclasses.replace(answer, greedy_p=None))
    assert "greedy(p*): overloaded; greedy: 0.3000 / 0.3500." in found
