"""What happens to a tuned policy where its assumptions fail."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import Scenario, SpeedUp, evaluate, tune
from moldable.arrivals import ArrivalTimes, Renewal
from moldable.model.sizes import Lognormal

SMALL = Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.8, 12)


def test_burstier_arrivals_and_more_load_break_the_limit_visibly():
    tuned = tune(SMALL, max_blocking=0.2)
    bursty, loaded = tuned.stresses
    assert "CV 3" in bursty.case
    assert bursty.performance.blocking.interval[0] > 0.2
    assert loaded.case == "10 % more load"
    exact = evaluate(SMALL.at_load(0.88), tuned.policy)
    assert loaded.performance.blocking.value == pytest.approx(exact.blocking.value, rel=1e-12)
    assert exact.blocking.value > 0.2
    found = tuned.to_dict()["stresses"]
    assert [part["case"] for part in found] == [bursty.case, loaded.case]
    assert found[0]["blocking_interval"] == list(bursty.performance.blocking.interval)


def test_bursty_arrivals_are_those_of_an_independent_simulation():
    tuned = tune(SMALL, max_blocking=0.2, seed=3)
    bursty = dataclasses.replace(SMALL, arrivals=Renewal(Lognormal(3.0)))
    other = evaluate(bursty, tuned.policy, precision=0.005, seed=4).blocking
    own = tuned.stresses[0].performance.blocking
    errors = [(figure.interval[1] - figure.interval[0]) / 3.92 for figure in (own, other)]
    z = (own.value - other.value) / sum(error**2 for error in errors) ** 0.5
    assert abs(z) < 4
    assert abs(own.value - 1.05 * other.value) / sum(e**2 for e in errors) ** 0.5 > 4


def test_answers_without_a_seed_repeat_where_nothing_else_is_simulated():
    one, two = (tune(SMALL, max_blocking=0.2) for _ in range(2))
    assert one.seed is None
    assert [s.to_dict() for s in one.stresses] == [s.to_dict() for s in two.stresses]


@pytest.mark.parametrize(
    ("arrivals", "cases"),
    [
        pytest.param(Renewal(Lognormal(2.0)), ["10 % more load"], marks=pytest.mark.long),
        (ArrivalTimes([0.02 * k for k in range(20_000)]), []),
    ],
)
def test_arrivals_that_are_not_poisson_are_kept(arrivals, cases):
    scenario = dataclasses.replace(SMALL, arrivals=arrivals)
    tuned = tune(scenario, blocking_cost=4, seed=1, precision=0.1)
    assert [stress.case for stress in tuned.stresses] == cases
