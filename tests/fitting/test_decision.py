"""What noise does to the optimal widths."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import norm

from moldable import fit, optimum
from moldable.errors import InfeasibleError, SpeedUpError
from moldable.fitting import decision_under_uncertainty
from naive.pairs import best_time

TIMES = {1: 10.0, 2: 5.6, 4: 3.3, 8: 2.2}


def test_without_noise_every_resample_decides_alike():
    answer = fit(TIMES, model="measured", noise=0.0)
    found = decision_under_uncertainty(answer, 0.7, resamples=20)
    assert found.supports == {optimum(answer.curve, 0.7).support: 1.0}
    assert found.kept == 1.0
    assert found.infeasible == 0.0
    assert found.time_interval == pytest.approx((found.optimum.mean_execution_time,) * 2)
    assert found.busy_interval == pytest.approx((1.0, 1.0))


def test_supports_are_chosen_as_often_as_in_resamples_of_our_own():
    load, noise, count = 0.78, 0.04, 3000
    answer = fit(TIMES, model="measured", noise=noise)
    found = decision_under_uncertainty(answer, load, resamples=count, seed=1)
    rng = np.random.default_rng(77)
    own: Counter = Counter()
    for _ in range(count):
        times = {w: t * np.exp(noise * rng.standard_normal()) for w, t in TIMES.items()}
        curve = {w: times[1] / t for w, t in times.items()}
        pairs = [(w,) for w in curve] + [(1, 2), (2, 4), (4, 8), (1, 4), (2, 8), (1, 8)]
        best = best_time(curve, 1.0 / load)
        fits = [p for p in pairs if best_time({w: curve[w] for w in p}, 1.0 / load) <= best + 1e-12]
        own[min(fits, key=len)] += 1
    assert (
        len([s for s in found.supports.values() if s > 0.02]) > 1
    )  # there is something to compare
    for widths in set(own) | set(found.supports):
        ours, theirs = found.supports.get(widths, 0.0), own[widths] / count
        error = np.sqrt(max(theirs * (1.0 - theirs), 1.0 / count) * 2.0 / count)
        assert abs(ours - theirs) < 4.0 * error, widths


def test_intervals_of_time_and_busy_servers_follow_from_the_noise_of_two_widths():
    answer = fit(TIMES, model="measured", noise=0.02)
    found = decision_under_uncertainty(answer, 0.5, resamples=4000)
    assert found.optimum.support == (8,)  # slack: only the time at width 8 counts
    reach = np.exp(1.96 * 0.02 * np.sqrt(2.0))
    middle = found.optimum.mean_execution_time
    assert found.time_interval == pytest.approx((middle / reach, middle * reach), rel=0.01)
    busy = 0.5 * 8 * middle
    assert found.busy_interval == pytest.approx((busy / reach, busy * reach), rel=0.01)


def test_one_step_wider_and_narrower_is_worked_by_hand():
    answer = fit(TIMES, model="measured", noise=0.0)
    found = decision_under_uncertainty(answer, 0.8, resamples=1)
    # Server-times 1, 1.12, 1.32, 1.76 at 1/0.8 = 1.25: widths 2 and 4, 0.65 of the way.
    wide = (1.25 - 1.12) / (1.32 - 1.12)
    assert [step.name for step in found.steps] == [
        "optimum",
        "one step narrower",
        "one step wider",
    ]
    best, narrower, wider = found.steps
    assert best.widths == pytest.approx({2: 1.0 - wide, 4: wide})
    assert best.busy_fraction == pytest.approx(1.0)
    assert narrower.mean_execution_time == pytest.approx((1.0 - wide) * 1.0 + wide * 0.56)
    assert narrower.busy_fraction == pytest.approx(0.8 * ((1.0 - wide) * 1.0 + wide * 1.12))
    assert wider.widths == pytest.approx({4: 1.0 - wide, 8: wide})
    assert wider.busy_fraction == pytest.approx(0.8 * ((1.0 - wide) * 1.32 + wide * 1.76))


def test_at_the_ends_of_the_frontier_there_is_one_neighbour():
    answer = fit(TIMES, model="measured")
    narrow = decision_under_uncertainty(answer, 1.0, resamples=1)
    wide = decision_under_uncertainty(answer, 0.3, resamples=1)
    assert [step.name for step in narrow.steps] == ["optimum", "one step wider"]
    assert [step.name for step in wide.steps] == ["optimum", "one step narrower"]


def test_loads_that_some_resamples_cannot_carry_are_counted():
    answer = fit({2: 10.0, 4: 5.0, 8: 2.8}, model="measured", noise=0.03)
    found = decision_under_uncertainty(answer, 1.0, resamples=300)
    assert found.infeasible == 0.0  # width 2 is the reference of its own efficiency
    superlinear = fit({1: 10.0, 2: 4.8}, model="measured", noise=0.03)
    found = decision_under_uncertainty(superlinear, 1.02, resamples=2000)
    # Feasible if the speed-up of width 2, 2.083 with an error of 0.03 sqrt(2), exceeds 2.04.
    expected = norm.cdf(np.log(2.04 / (10 / 4.8)) / (0.03 * np.sqrt(2.0)))
    assert found.infeasible == pytest.approx(expected, abs=4.0 * np.sqrt(0.25 / 2000))


def test_the_same_seed_gives_the_same_decision_and_servers_limit_the_widths():
    answer = fit(TIMES)
    first, again = (decision_under_uncertainty(answer, 0.6, resamples=30, seed=3) for _ in "ab")
    assert first.to_dict() == again.to_dict()
    few = decision_under_uncertainty(answer, 0.6, servers=4, resamples=10)
    assert max(max(widths) for widths in few.supports) <= 4
    with pytest.raises(InfeasibleError):
        decision_under_uncertainty(answer, 1.5)
    with pytest.raises(SpeedUpError, match=r"resamples=0 must be a whole number"):
        decision_under_uncertainty(answer, 0.5, resamples=0)
