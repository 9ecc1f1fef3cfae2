"""How an estimate is written: only the digits that its interval supports."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle

import pytest

from moldable import Scenario
from moldable.system.estimate import Estimate
from moldable.system.performance import ExactDetail, Performance, SimulationDetail


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.0123456, (0.0121, 0.0125), "0.01235 ± 0.00025"),
        (1234.5678, (1200.0, 1260.0), "1235 ± 35"),
        (8.34e-6, (7.49e-6, 9.19e-6), "(8.34 ± 0.85)e-06"),
        (2e-13, (0.0, 5e-13), "(2.0 ± 3.0)e-13"),
        (9.04e-5, (8.47e-5, 9.61e-5), "0.0000904 ± 0.0000057"),
        (0.123456789, (0.123456789, 0.123456789), "0.123457"),
        (0.0, (0.0, 0.0), "0"),
        (2.5, (2.5 - 1e-14, 2.5 + 1e-14), "2.5"),  # rounding, not chance
        (0.123456789, None, "0.1235"),
        (0.123456789, (-math.inf, math.inf), "0.1235"),
        (math.nan, None, "unknown"),
        (math.nan, (0.1, 0.2), "unknown"),
    ],
)
def test_digits_follow_the_interval(value, interval, text):
    assert str(Estimate(value, interval)) == text


def test_without_an_interval_any_value_is_possible():
    assert Estimate(0.5, None).half_width == math.inf
    assert Estimate(0.5, (0.25, 0.5)).half_width == 0.125
    assert Estimate.exact(0.5).half_width == 0.0


def test_an_estimate_is_a_number():
    found = Estimate(0.0312, (0.0302, 0.0322))
    assert (float(found), found.value, found.interval) == (0.0312, 0.0312, (0.0302, 0.0322))
    assert f"{found:.3f}" == "0.031"
    assert f"{found}" == str(found) == "0.03120 ± 0.00100"
    assert repr([found, Estimate.exact(2 / 3)]) == (
        "[Estimate(0.03120 ± 0.00100), Estimate(0.666667)]"
    )
    assert 0.03 < found < 0.04
    assert found == 0.0312
    assert found != 0.04
    assert found != "0.0312"
    assert 2 * found + 1 == 1.0624
    assert max(found, 0.5) == 0.5
    assert hash(found) == hash(0.0312)
    assert json.dumps([found]) == "[0.0312]"


def test_estimates_are_equal_only_with_their_intervals():
    found = Estimate(0.5, (0.4, 0.6))
    assert found == Estimate(0.5, (0.4, 0.6)) != Estimate(0.5, None)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert copy.deepcopy(found).interval == (0.4, 0.6)
    with pytest.raises(AttributeError):
        found.interval = None


def performance(detail):
    figures = {"blocking": Estimate.exact(0.1), "mean_execution_time": Estimate.exact(2.0)}
    tables = {key: {} for key in ("quantiles", "width_shares", "mean_jobs", "provenance")}
    rates = {"busy_fraction": 0.5, "departure_rate": 1.0}
    words = {"method": "chain", "reason": "asked for", "warnings": (), "classes": ()}
    given = {"scenario": Scenario.single([1], 0.5, 2), "policy": {"policy": "greedy"}}
    return Performance(**figures, **tables, **rates, **words, **given, detail=detail)


EXACT = ExactDetail(states=7, error_bound=1e-12, neglected_mass=0.0)
SIMULATED = SimulationDetail(
    estimator="assigned",
    arrivals=10,
    arrivals_per_second=1e6,
    seed=3,
    kernel="count-chain",
    start="empty",
    warmup=2.0,
    converged=False,
    interrupted=True,
)


@pytest.mark.parametrize("detail", [EXACT, SIMULATED], ids=["exact", "simulated"])
def test_json_has_the_details_of_every_method_and_null_where_they_do_not_apply(detail):
    found = performance(detail).to_dict()
    own = dataclasses.asdict(detail)
    other = dataclasses.asdict(SIMULATED if detail is EXACT else EXACT)
    assert {name: found[name] for name in own} == own
    missing = other.keys() - {"converged", "interrupted"}
    assert all(found[name] is None for name in missing)


def test_an_exact_answer_is_never_interrupted_and_always_converged():
    exact, simulated = performance(EXACT), performance(SIMULATED)
    assert (exact.interrupted, exact.converged) == (False, True)
    assert (simulated.interrupted, simulated.converged) == (True, False)
