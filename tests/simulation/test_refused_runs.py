"""What cannot be simulated is refused, with a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.arrivals import ArrivalTimes, MarkovModulated
from moldable.errors import MoldableError, SimulationError
from moldable.policies import GreedyP
from simulation.systems import CHAIN


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs=0"),
        ({"jobs": float("nan")}, "jobs=nan"),
        ({"replications": 2.5}, "replications=2.5"),
        ({"seed": -1}, "seed=-1"),
        ({"start": None}, "start=None is unknown"),
        ({"policy": "greed"}, "did you mean 'greedy'"),
        ({"policy": "equi"}, "policy=equi is preemptive"),
        ({"policy": GreedyP({"job": {1: 1.0}})}, "names class 'job'"),
        ({"replications": -1}, "replications=-1"),
        ({"max_jobs": 0}, "max_jobs=0"),
        ({"threads": 0}, "threads=0"),
        ({"warmup": -1}, "warmup=-1"),
        ({"precision": 2}, "precision=2"),
        ({"start": "full"}, "start='full' is unknown"),
        ({"start": {9: 1}}, "never have width 9"),
        ({"start": {3: 100}}, "need 300 servers"),
        ({"start": {3: -1}}, "start, width 3: jobs=-1 must be a whole number from 0"),
        ({"start": {("x", 3): 1}}, "unknown class 'x'"),
        ({"estimator": "realized"}, "did you mean 'realised'"),
    ],
)
def test_impossible_requests_are_refused(options, message):
    with pytest.raises(MoldableError, match=message):
        simulate(CHAIN, **options)


def test_arrivals_of_classes_that_are_not_there_are_refused():
    with pytest.raises(MoldableError, match="has class 3"):
        simulate(replace(CHAIN, arrivals=ArrivalTimes([0.0], classes=[3])))


@pytest.mark.parametrize(
    "build",
    [
        lambda: ArrivalTimes([]),
        lambda: ArrivalTimes([2.0, 1.0]),
        lambda: ArrivalTimes([1.0], classes=[0, 1]),
        lambda: MarkovModulated((1.0,), ((0.0,),)),
        lambda: MarkovModulated((1.0, 2.0), ((0, 1.0), (0, 0))),
        lambda: MarkovModulated((-1.0, 2.0), ((0, 1.0), (1.0, 0))),
    ],
)
def test_impossible_arrivals_are_refused(build):
    with pytest.raises(MoldableError):
        build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warmup": "1"}, "warmup='1' is not a number"),
        ({"warmup": [1]}, r"warmup=\[1\] is not a number"),
        ({"precision": "0.1"}, "precision='0.1' is not a number"),
        ({"start": 5}, "start=5 is unknown"),
        ({"start": ["empty"]}, r"start=\['empty'\] is unknown"),
        ({"start": {None: 1}}, "None must be a width, or a pair"),
        ({"start": {("jobs", 3, 1): 1}}, "must be a width, or a pair"),
        ({"start": {("jobs",): 1}}, "must be a width, or a pair"),
        ({"start": {"3": 1}}, "'3' must be a width"),
        ({"start": {3: "1"}}, "width 3: jobs='1' is not a number"),
        ({"start": {3: None}}, "jobs=None is not a number"),
        ({"start": {3: float("nan")}}, "jobs=nan must be a whole number"),
    ],
)
def test_values_of_the_wrong_type_are_refused_by_name(options, message):
    with pytest.raises(SimulationError, match=message):
        simulate(CHAIN, **options)


@pytest.mark.parametrize(
    "workload",
    [
        Scenario.single(SpeedUp([1, 1.5]), 1e20, 5).workload,
        Workload(
            (JobClass("a", 8.0, SpeedUp([1, 1.8])), JobClass("b", 1e-8, SpeedUp([1, 1.5]), 1e8))
        ),
    ],
    ids=["overload", "a rare class of long jobs"],
)
def test_a_warm_up_of_hours_is_refused_before_it_begins(workload):
    mixed = GreedyP({part.name: {1: 0.5, 2: 0.5} for part in workload.classes})
    with pytest.raises(MoldableError, match=r"warm-up of .* arrivals in each replication"):
        simulate(Scenario(workload, 5), mixed, jobs=1000, replications=4, seed=1)


@pytest.mark.parametrize("count", [2**62, 2**63, 10**30, True, 5])
def test_more_jobs_than_servers_at_the_start_are_refused(count):
    """Products of huge counts used to wrap around, and the kernel crashed."""
    with pytest.raises(SimulationError, match="start"):
        simulate(
            Scenario.single(SpeedUp([1, 1.8]), 0.8, 4), jobs=10, replications=2, start={2: count}
        )


def test_a_width_beyond_all_numbers_at_the_start_is_refused():
    with pytest.raises(SimulationError, match="never have width"):
        simulate(Scenario.single(SpeedUp([1, 1.8]), 0.8, 4), jobs=10, start={10**30: 1})
