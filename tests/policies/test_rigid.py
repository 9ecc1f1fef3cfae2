"""Rigid jobs, against the recursion of Kaufman and Roberts."""

from __future__ import annotations

import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.errors import PolicyError
from moldable.policies import Rigid

NARROW = JobClass("narrow", 6.0, SpeedUp({1: 1.0}))
WIDE = JobClass("wide", 3.0, SpeedUp({4: 3.2}), mean_size=2.0)
PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def kaufman_roberts(offered, servers):
    """Blocking of each class; `offered` are (jobs running if none were blocked, width)."""
    weights = [1.0]
    for busy in range(1, servers + 1):
        total = sum(
            mean * width * weights[busy - width] for mean, width in offered if width <= busy
        )
        weights.append(total / busy)
    return [sum(weights[servers - width + 1 :]) / sum(weights) for _, width in offered]


def test_it_is_the_multi_rate_loss_model():
    workload = Workload((NARROW, WIDE))
    answer = simulate(Scenario(workload, 20), Rigid(), jobs=50_000, seed=5)
    right = kaufman_roberts([(6.0, 1), (3.0 * 2.0 / 3.2, 4)], 20)
    wrong = kaufman_roberts([(6.0 * 1.01, 1), (3.0 * 2.0 / 3.2 * 1.01, 4)], 20)
    for found, exact, off in zip(answer.classes, right, wrong, strict=True):
        error = found.blocking.half_width / 2  # as 64 replications have it
        assert abs(found.blocking.value - exact) < 4 * error
        assert abs(found.blocking.value - off) > 4 * error


def test_a_class_with_several_widths_must_have_one_named():
    workload = Workload((JobClass("jobs", 1.0, PAPER), WIDE))
    with pytest.raises(PolicyError, match=r"has the widths 1, 2, 3, 4, 5, .* Rigid\(\{'jobs': 5\}"):
        Rigid().tabulate(workload, (20, 20))
    jobs, wide = Rigid({"jobs": 2, "wide": 4}).tabulate(workload, (20, 20)).rows
    assert jobs.tolist() == [[0.0] * 5, [0.0] * 5, [0.0, 1.0, 0.0, 0.0, 0.0]]
    assert wide.ravel().tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        ({"jobs": 2}, "rigid has no width for class 'wide'; it knows jobs"),
        ({"jobs": 2, "wide": 4, "wid": 4}, "names class 'wid', .* did you mean 'wide'"),
        ({"jobs": 2, "wide": 3}, "class 'wide' has no width 3; choose one of its widths: 4"),
    ],
)
def test_the_widths_named_must_match_the_workload(widths, message):
    workload = Workload((JobClass("jobs", 1.0, PAPER), WIDE))
    with pytest.raises(PolicyError, match=message):
        Rigid(widths).tabulate(workload, (20, 20))


def test_a_width_must_be_one():
    with pytest.raises(PolicyError, match="class 'jobs': width=0 must be a whole number from 1"):
        Rigid({"jobs": 0})
