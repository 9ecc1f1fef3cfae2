"""What a person reads of a trade-off."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import Scenario, SpeedUp, tradeoff
from moldable.reporting.tradeoff_text import show_tradeoff
from moldable.system.performance import Estimate
from moldable.tuning.families import Chosen, Families
from reporting.answers import performing

SYSTEM = (Scenario.single(SpeedUp([1.0, 1.8]), 0.8, 4).workload, 4)
PRICES = (2.0, 16.0)


@pytest.fixture(scope="module")
def families():
    return Families(
        optimum=tradeoff(Scenario(*SYSTEM), PRICES),
        why_no_optimum="",
        price_policy=(
            Chosen(2.0, (-0.54321, 3.14159), performing(Estimate.exact(0.2), 0.5)),
            Chosen(16.0, (2.5, 1.0), performing(Estimate.exact(0.1), 0.8)),
        ),
        static=(
            Chosen(2.0, (0.81234,), performing(Estimate.exact(0.21), 0.51)),
            Chosen(16.0, (0.95,), performing(Estimate.exact(0.11), 0.81)),
        ),
        greedy_p=performing(Estimate.exact(0.25), 0.4),
        greedy=performing(Estimate.exact(0.3), 0.35),
    )


def test_every_price_has_a_row_with_the_best_of_every_family(shown, families):
    found = shown(show_tradeoff, families)
    cheap, dear = (
        f"{control.blocking:.4f} / {control.mean_execution_time:#.4g}"
        for control in families.optimum.controls
    )
    assert cheap != dear
    rows = [
        f"2 {cheap} 0.2000 / 0.5000 -0.543, 3.14 0.2100 / 0.5100 0.8123",
        f"16 {dear} 0.1000 / 0.8000 2.5, 1 0.1100 / 0.8100 0.95",
    ]
    assert [line for line in found if line in rows] == rows
    assert "greedy(p*): 0.2500 / 0.4000; greedy: 0.3000 / 0.3500." in found


def test_a_long_tail_is_starred_and_explained(shown, families):
    plain, long = families.price_policy
    long = dataclasses.replace(long, numbers=(2.5, 1.0, 2.0))
    found = shown(show_tradeoff, dataclasses.replace(families, price_policy=(plain, long)))
    assert any(" -0.543, 3.14 " in line for line in found)
    assert any(" 2.5, 1* " in line for line in found)
    told = "* a long tail: exp(q0) x (1 + idle/(2 ell))^-2."
    assert told in found
    assert told not in shown(show_tradeoff, families)


def test_the_optimum_is_told_with_the_largest_doubt_of_all_prices(shown, families):
    first, second = families.optimum.controls
    doubtful = dataclasses.replace(first, lower_bound=first.cost * (1.0 - 0.003))
    curve = dataclasses.replace(families.optimum, controls=(doubtful, second))
    found = shown(show_tradeoff, dataclasses.replace(families, optimum=curve))
    assert found[-1] == "The true optimum is known to within 0.3 % of its cost."


def test_rare_blocking_keeps_its_digits_and_long_times_their_first_four(shown, families):
    rare = performing(Estimate.exact(1.234e-5), 123.456)
    found = shown(show_tradeoff, dataclasses.replace(families, greedy_p=rare))
    assert "greedy(p*): 1.2e-5 / 123.5; greedy: 0.3000 / 0.3500." in found


def test_a_missing_optimum_is_explained(shown, families):
    found = shown(
        show_tradeoff, dataclasses.replace(families, optimum=None, why_no_optimum="too many states")
    )
    assert "2 - 0.2000 / 0.5000 -0.543, 3.14 0.2100 / 0.5100 0.8123" in found
    assert found[-1] == "No true optimum: too many states."


def test_a_load_that_cannot_be_carried_is_called_so(shown, families):
    found = shown(show_tradeoff, dataclasses.replace(families, greedy_p=None))
    assert "greedy(p*): overloaded; greedy: 0.3000 / 0.3500." in found
