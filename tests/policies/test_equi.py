"""EQUI's rule, and its birth-death chain against a simulation event by event."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import JobClass, SpeedUp
from moldable.errors import PolicyError, SpeedUpError
from moldable.policies import Equi
from moldable.sizes import Deterministic, Exponential, Hyperexponential
from naive import equi
from strategies import curves

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
DIPS = SpeedUp({2: 3.0, 4: 2.0, 6: 4.0})


def as_dict(speedup):
    return dict(zip(speedup.widths.tolist(), speedup.speedups.tolist(), strict=True))


def test_shares_between_widths_are_interpolated_and_dips_are_not_used():
    assert Equi.speed(PAPER, [0, 0.5, 1, 1.5, 5, 9]) == pytest.approx([0, 0.5, 1, 1.4, 3.4, 3.4])
    # From (0, 0) up to width 2; flat over the dip until the curve is above 3 again, at 5.
    shares = [1, 2, 3, 4, 5, 5.5, 6, 7]
    assert Equi.speed(DIPS, shares) == pytest.approx([1.5, 3, 3, 3, 3, 3.5, 4, 4])
    assert float(Equi.speed(PAPER, 2)) == 1.8


@given(curves(40), st.lists(st.floats(0, 60), min_size=1, max_size=20))
def test_the_speed_is_that_of_the_obvious_twin(speedup, shares):
    expected = [equi.speed(as_dict(speedup), share) for share in shares]
    assert Equi.speed(speedup, shares) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_departure_rates_count_jobs_speeds_and_mean_size():
    job_class = JobClass("jobs", 3.0, PAPER, mean_size=2.0)
    # 4 servers: one job runs on 4, two on 2 each, three on 4/3, four on one each.
    expected = [0, 3.0 / 2, 2 * 1.8 / 2, 3 * (1 + 0.8 / 3) / 2, 4 / 2]
    assert Equi.departure_rates(job_class, 4) == pytest.approx(expected)


def test_widths_above_the_servers_are_left_out():
    wide = JobClass("jobs", 1.0, SpeedUp({1: 1.0, 10: 8.0}))
    assert Equi.departure_rates(wide, 4).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(SpeedUpError, match="narrowest allowed width is 10"):
        Equi.departure_rates(JobClass("jobs", 1.0, SpeedUp({10: 8.0})), 4)


def birth_death(job_class, servers):
    """Blocking and mean time from the stationary law of the number of jobs."""
    deaths = Equi.departure_rates(job_class, servers)[1:]
    logs = np.concatenate(([0.0], np.cumsum(np.log(job_class.arrival_rate / deaths))))
    law = np.exp(logs - logs.max())
    law /= law.sum()
    let_in = job_class.arrival_rate * (1.0 - law[-1])
    return float(law[-1]), float(law @ np.arange(servers + 1)) / let_in


@pytest.mark.parametrize("law", [Exponential(), Deterministic(), Hyperexponential(2.0)], ids=str)
@pytest.mark.parametrize(("speedup", "rate"), [(PAPER, 3.8), (DIPS, 5.0)], ids=["concave", "dips"])
def test_event_by_event_it_is_the_birth_death_chain_whatever_the_sizes(law, speedup, rate):
    servers, mean_size = 10, 2.0
    job_class = JobClass("jobs", rate, speedup, mean_size)
    found = equi.simulate(
        as_dict(speedup),
        job_class.arrival_rate,
        lambda rng, count: mean_size * law.sample(rng, count),
        servers,
        arrivals=25_000,
        replications=40,
        warmup=1000,
        seed=8,
    )
    blocking, mean_time = birth_death(job_class, servers)
    assert abs(found.blocking - blocking) < 4 * found.blocking_error
    assert abs(found.mean_time - mean_time) < 4 * found.mean_time_error
    wrong = JobClass("jobs", 1.03 * rate, speedup, mean_size)
    wrong_blocking, wrong_time = birth_death(wrong, servers)
    assert abs(found.blocking - wrong_blocking) > 4 * found.blocking_error
    assert abs(found.mean_time - wrong_time) > 4 * found.mean_time_error


@pytest.mark.parametrize("share", [-1, [1, float("nan")]])
def test_a_share_must_be_one(share):
    with pytest.raises(PolicyError, match="must be at least 0 servers"):
        Equi.speed(PAPER, share)


def test_it_needs_a_server_and_can_be_pickled():
    with pytest.raises(PolicyError, match="servers=0 must be a whole number from 1"):
        Equi.departure_rates(JobClass("jobs", 1.0, PAPER), 0)
    assert pickle.loads(pickle.dumps(Equi())) == Equi()  # noqa: S301 - our own bytes
    assert Equi().name == "equi"
