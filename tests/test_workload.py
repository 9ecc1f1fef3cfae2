"""Classes, workloads and the spelling of size laws."""

from __future__ import annotations

import pytest

from moldable import JobClass, SizeLaw, SpeedUp, Workload
from moldable.errors import SizeLawError, WorkloadError

CURVE = SpeedUp([1, 1.8])


def test_a_single_class_is_the_papers_workload():
    workload = Workload.single(CURVE, 0.8, 100)
    assert workload.arrival_rate == pytest.approx(80)
    assert workload.classes[0].offered == pytest.approx(80)


@pytest.mark.parametrize("field", ["arrival_rate", "mean_size", "weight"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_impossible_rates_are_refused(field, value):
    with pytest.raises(WorkloadError, match=f"class 'a': {field}="):
        JobClass(**{"name": "a", "arrival_rate": 1.0, "speedup": CURVE, field: value})


def test_workloads_need_distinct_classes_and_a_known_sharing():
    one = JobClass("a", 1, CURVE)
    with pytest.raises(WorkloadError, match="no class"):
        Workload(())
    with pytest.raises(WorkloadError, match="two classes are called 'a'"):
        Workload((one, one))
    with pytest.raises(WorkloadError, match="did you mean 'reserved'"):
        Workload((one,), "reservd")


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("exponential", SizeLaw("exponential")),
        ("mixed-erlang", SizeLaw("mixed-erlang", (0.4, 0.6))),
        ("mixed-erlang:0.25,0.75", SizeLaw("mixed-erlang", (0.25, 0.75))),
        ("pareto", SizeLaw("pareto", (1.5,))),
        ("lognormal:2", SizeLaw("lognormal", (2.0,))),
    ],
)
def test_size_laws_are_spelled_as_text(text, law):
    assert SizeLaw.parse(text) == law
    assert SizeLaw.parse(str(law)) == law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expo", "did you mean 'exponential'"),
        ("pareto:1", "infinite mean"),
        ("pareto:x", "not a list of numbers"),
        ("lognormal", "takes 1 parameters: coefficient of variation"),
        ("weibull:-1", "finite and above 0"),
        ("hyperexponential:0.5", "at least 1"),
        ("mixed-erlang:0.5,0.4", "sum to 0.9"),
        ("deterministic:3", "takes 0 parameters"),
    ],
)
def test_impossible_size_laws_are_refused(text, message):
    with pytest.raises(SizeLawError, match=message):
        SizeLaw.parse(text)
