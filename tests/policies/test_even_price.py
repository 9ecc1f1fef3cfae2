"""The even price: against its definition, width by width."""

from __future__ import annotations

import math

import pytest

from moldable import JobClass, Observation, Scenario, SpeedUp
from moldable.errors import InputError, PolicyError
from moldable.policies import EvenPrice, even_price
from moldable.policies.registry import build_policy

SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
GAPS = SpeedUp({2: 1.9, 4: 3.5, 8: 6.0})
DIPS = SpeedUp({1: 1.0, 2: 1.9, 3: 1.7, 4: 1.9, 6: 2.5})


def naive_width(speedup, idle, waiting, q0, ell):
    """The rule in words: the cheapest of the widths that divide the idle servers evenly."""
    price = math.exp(q0 - (idle - waiting) / ell)
    fitting = [w for w in speedup.widths.tolist() if w <= idle]
    even = [w for w in fitting if any(math.ceil(idle / m) == w for m in range(1, idle + 1))]
    cost = {w: (1.0 + w * price) / speedup[w] for w in even or fitting}
    return min(cost, key=lambda w: (round(cost[w], 12), w), default=0)


@pytest.mark.parametrize("speedup", [SUB_LINEAR, GAPS, DIPS], ids=["concave", "gaps", "dips"])
@pytest.mark.parametrize(("q0", "ell"), [(0.4, 4.0), (1.5, 1.3), (-0.7, 11.0)])
def test_the_cheapest_even_width_is_chosen(speedup, q0, ell):
    policy = EvenPrice(q0, ell)
    jobs = JobClass("jobs", 1.0, speedup)
    for idle in range(30):
        for waiting in (0, 1, 2, 5, 11, 40):
            wanted = naive_width(speedup, idle, waiting, q0, ell)
            # Equally fast widths count as the narrowest of them.
            fastest = max(
                (w for w in speedup.widths.tolist() if w <= wanted),
                key=lambda w: (speedup[w], -w),
                default=0,
            )
            assert policy.grant(jobs, Observation(idle, waiting)) == fastest


def test_five_idle_servers_are_divided_into_three_and_two():
    policy = EvenPrice(-0.5, 2.0)
    jobs = JobClass("jobs", 1.0, SpeedUp([1, 1.9, 2.7, 3.4]))
    assert policy.grant(jobs, Observation(5)) == 3  # width 4 would leave one server


def test_the_default_depends_on_the_number_of_servers():
    scenario = Scenario.single(SUB_LINEAR, 0.8, 64)
    assert even_price(scenario) == EvenPrice(0.4, 8.0)
    assert build_policy("even-price", scenario) == EvenPrice(0.4, 8.0)
    assert build_policy("even-price:1.5,3", scenario) == EvenPrice(1.5, 3.0)
    assert even_price(scenario, ell=2).grant("jobs", idle=3) == 3


@pytest.mark.parametrize("text", ["even-price:1", "even-price:1,2,3", "even-price:a,b"])
def test_spellings_without_two_numbers_are_refused(text):
    with pytest.raises(InputError, match=r"even-price:0\.4,8"):
        build_policy(text, Scenario.single(SUB_LINEAR, 0.8, 64))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [((math.nan, 1.0), "q0=nan"), ((0.4, 0.0), "ell=0"), ((0.4, "x"), "ell='x'"), ((1e9, 1), "q0")],
)
def test_numbers_out_of_range_are_refused(numbers, words):
    with pytest.raises(PolicyError, match=words):
        EvenPrice(*numbers)
