"""Rates of convergence."""

from __future__ import annotations

import pytest

from moldable.exact import stationary_law
from moldable.theory import bounds
from reproduction import rates_cells as rates
from reproduction.rates_cells import BLOCKING, DISTANCE, QUANTITIES, TIME_GAP
from reproduction.settings import CURVES
from tiny_results import tiny


def series():
    _, results = tiny("rates")
    return {(one.words, one.support): one for one in rates.series(results)}


def test_exponents_are_those_of_the_theorem():
    stated = {key: [one.theorem[q] for q in QUANTITIES] for key, one in series().items()}
    assert stated == {
        ("linear, Halfin-Whitt", (5,)): [-0.5, -0.5, -1.0],
        ("sub-linear, Halfin-Whitt", (1, 2)): [-0.25] * 3,
        ("sub-linear, super-Halfin-Whitt", (1, 2)): pytest.approx([-1 / 6] * 3),
        ("sub-linear, mean-field", (3, 4)): [-0.25] * 3,
    }


def test_gaps_in_the_proof_are_named():
    named = [(one.proof, one.gaps) for one in series().values()]
    assert named == [
        ("complete", ()),
        ("gap", ("drift", "sign")),
        ("gap", ("drift", "sign")),
        ("gap", ("collapse", "drift", "sign")),
    ]


def test_every_value_is_below_the_stated_bound():
    for one in series().values():
        for quantity in QUANTITIES:
            for point in one.points[quantity]:
                assert point.bound is None or point.high < point.bound


def test_points_are_exact_values_and_bounds_those_of_the_library():
    (one,) = (one for (words, _), one in series().items() if words == "linear, Halfin-Whitt")
    n = rates.ODD_SIZES[rates.Scale.TINY][-1]
    law = stationary_law(rates.ONE_WIDTH.scenario(n))
    found = law.performance()
    last = {quantity: one.points[quantity][-1] for quantity in QUANTITIES}
    assert last[DISTANCE].value == pytest.approx(law.theory.distance)
    assert last[BLOCKING].value == pytest.approx(found.blocking.value)
    assert last[TIME_GAP].value == pytest.approx(found.mean_execution_time.value - 0.2)
    stated = bounds(CURVES["linear"], rates.ONE_WIDTH.load(n), n, alpha=0.5)
    assert last[DISTANCE].bound == stated.distance
    assert last[BLOCKING].bound == stated.blocking


def test_a_path_gives_the_distance_that_the_chain_gives():
    _, results = tiny("rates")
    (n,) = rates.PATH_SIZES[rates.Scale.TINY]
    part = results[f"rates/path-n={n}"]
    law = stationary_law(rates.FROM_THREE.scenario(n))
    half = (part["distance_interval"][1] - part["distance_interval"][0]) / 2.0
    # A 95 % interval of four stretches reaches 3.2 standard errors, so twice it exceeds four.
    assert abs(part["distance"] - law.theory.distance) < 2.0 * half
    assert half < 0.2 * part["distance"]


def test_tables_and_texts_say_what_was_found():
    experiment, results = tiny("rates")
    made = experiment.publish(results)
    points, slopes = made.tables.values()
    assert len(slopes) == 4 * len(QUANTITIES)
    assert {row["exact"] for row in points} == {True, False}
    assert len(made.drawings) == 1
    assert "the distance is exact up to n = 33" in made.page
    assert len(made.findings) == 2
