"""Text and lists mean the same in Python as on the command line."""

from __future__ import annotations

import pytest

from moldable import (
    JobClass,
    Scenario,
    SpeedUp,
    Workload,
    compare,
    evaluate,
    optimum,
    simulate,
    tune,
)
from moldable.arrivals import Renewal
from moldable.errors import InputError, MoldableError, SimulationError
from moldable.exact import stationary_law
from moldable.files import parse_speedup
from moldable.policies import FixedWidth
from moldable.sizes import Lognormal
from moldable.theory import bounds

CURVE = SpeedUp([1, 1.8, 2.5])
FILE = """servers = 6
[[class]]
name = "jobs"
arrival_rate = 4.0
speedup = [1, 1.8, 2.5]
"""


@pytest.fixture
def cluster(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(FILE)
    return path


def test_a_class_takes_lists_mappings_and_text():
    assert JobClass("a", 1.0, [1, 1.8, 2.5]) == JobClass("a", 1.0, CURVE)
    assert JobClass("a", 1.0, {1: 1, 2: 1.8, 3: 2.5}) == JobClass("a", 1.0, CURVE)
    assert JobClass("a", 1.0, "1,1.8,2.5") == JobClass("a", 1.0, CURVE)
    assert JobClass("a", 1.0, CURVE, size="lognormal:2").size == Lognormal(2.0)


def test_a_scenario_takes_arrivals_as_text():
    workload = Workload([JobClass("a", 1.0, CURVE)])
    assert Scenario(workload, 4, "renewal:3").arrivals == Renewal(Lognormal(3.0))
    single = Scenario.single("linear:3", 0.8, 4, size="lognormal:2", arrivals="renewal:3")
    assert single.arrivals == Renewal(Lognormal(3.0))
    assert single.workload.classes[0].speedup == SpeedUp.linear(3)


def test_an_optimum_and_bounds_take_lists_and_text():
    assert optimum([1, 1.8, 2.5], 0.8) == optimum(CURVE, 0.8) == optimum("1,1.8,2.5", 0.8)
    assert optimum("amdahl:0.9:8", 0.5) == optimum(parse_speedup("amdahl:0.9:8"), 0.5)
    assert bounds("1,1.8,2.5", 0.8, 10).blocking == bounds(CURVE, 0.8, 10).blocking


def test_a_file_is_a_scenario_and_a_spelling_is_a_policy(cluster):
    scenario = Scenario.read(cluster)
    assert scenario == Scenario(Workload([JobClass("jobs", 4.0, CURVE)]), 6)
    assert Scenario.read(str(cluster), servers=9).servers == 9
    plain = evaluate(scenario, FixedWidth(2))
    for given in (cluster, str(cluster), scenario):
        assert evaluate(given, "fixed:2").blocking == plain.blocking
    assert stationary_law(cluster, "fixed:2").performance().blocking == plain.blocking
    found = simulate(cluster, "fixed:2", jobs=100, seed=1).blocking
    assert found == simulate(scenario, FixedWidth(2), jobs=100, seed=1).blocking
    assert evaluate(cluster, "greedy-p").blocking == evaluate(cluster).blocking
    names = [part.name for part in compare(cluster, ["greedy-p", "fixed:2", "equi"]).policies]
    assert names == ["greedy-p", "fixed:2", "equi"]
    assert tune(cluster, max_blocking=0.2).performance.blocking <= 0.2


def test_a_policy_file_is_a_policy(cluster, tmp_path):
    (tmp_path / "two.json").write_text('{"policy": "fixed", "width": 2}')
    plain = evaluate(cluster, "fixed:2").blocking
    assert evaluate(cluster, str(tmp_path / "two.json")).blocking == plain
    assert evaluate(cluster, tmp_path / "two.json").blocking == plain


def test_text_that_cannot_be_read_is_refused_as_on_the_command_line(cluster):
    with pytest.raises(MoldableError, match=r"class 'a': unknown size law 'lognorm:2'; did you"):
        JobClass("a", 1.0, CURVE, size="lognorm:2")
    with pytest.raises(MoldableError, match=r"class 'a': unknown model 'amdal'"):
        JobClass("a", 1.0, "amdal:0.9:3")
    with pytest.raises(InputError, match=r"unknown policy 'fixd:3'; did you mean 'fixed'"):
        evaluate(cluster, "fixd:3")
    with pytest.raises(MoldableError, match=r"pass a list: \['greedy,fixed:2'\]"):
        compare(cluster, "greedy,fixed:2")
    with pytest.raises(SimulationError, match=r"policy=equi is preemptive"):
        simulate(cluster, "equi")
