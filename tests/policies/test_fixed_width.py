"""One width for every job."""

from __future__ import annotations

import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.errors import PolicyError
from moldable.policies import FixedWidth
from naive.erlang import erlang_b

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def test_a_job_shrinks_to_what_is_idle_unless_the_policy_is_strict():
    scenario = Scenario.single(PAPER, 0.8, 10)
    (loose,) = FixedWidth(3).tabulate(scenario.workload, (10,)).rows
    (strict,) = FixedWidth(3, strict=True).tabulate(scenario.workload, (10,)).rows
    assert loose[:, :3].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert strict[:, :3].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert FixedWidth(3) == FixedWidth(3.0) != FixedWidth(3, strict=True)
    assert [FixedWidth(3).name, FixedWidth(3, strict=True).name] == [
        "fixed width 3",
        "fixed width 3, strict",
    ]


def test_strict_it_is_erlangs_system_with_as_many_slots_as_fit():
    scenario = Scenario.single(PAPER, 0.8, 20)  # six slots of three; two servers are never used
    answer = simulate(scenario, FixedWidth(3, strict=True), jobs=50_000, seed=5)
    error = answer.blocking.half_width / 2  # as 64 replications have it
    assert abs(answer.blocking.value - erlang_b(16 / 2.5, 6)) < 4 * error
    assert abs(answer.blocking.value - erlang_b(1.01 * 16 / 2.5, 6)) > 4 * error


def test_every_class_must_have_the_width():
    curves = {"a": PAPER, "b": SpeedUp({2: 1.9, 4: 3.5})}
    workload = Workload(tuple(JobClass(name, 1.0, curve) for name, curve in curves.items()))
    for strict in (False, True):
        with pytest.raises(PolicyError, match=r"class 'b' has no width 3; .* its widths: 2, 4"):
            FixedWidth(3, strict=strict).tabulate(workload, (10, 10))


@pytest.mark.parametrize(
    ("width", "message"),
    [
        (0, "width=0 must be a whole number from 1"),
        (2.5, "must be a whole number"),
        ("3", "'3' is not a number"),
    ],
)
def test_a_width_must_be_one(width, message):
    with pytest.raises(PolicyError, match=message):
        FixedWidth(width)
