"""The curve between blocking and time as the price of a blocked job grows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from control.systems import SUBLINEAR
from moldable import MoldableError, Workload
from moldable.control.tradeoff import tradeoff


def test_blocking_falls_and_cost_rises_with_the_price():
    curve = tradeoff(Workload.single(SUBLINEAR, 0.8, 20), 20, tolerance=1e-9)
    prices, losses, times, costs = (
        np.array([getattr(control, name) for control in curve.controls])
        for name in ("price", "blocking", "accepted_time", "cost")
    )
    assert (np.diff(prices) > 0).all()
    assert (np.diff(losses) <= 1e-9).all()
    assert (np.diff(times) >= -1e-9).all()
    # The least cost is concave in the price, and blocking is its slope.
    slopes = np.diff(costs) / np.diff(prices)
    assert (slopes <= losses[:-1] + 1e-8).all()
    assert (slopes >= losses[1:] - 1e-8).all()


def test_threads_do_not_change_the_curve():
    workload = Workload.single(SUBLINEAR, 0.8, 15)
    one, two = (tradeoff(workload, 15, threads=threads).to_dict() for threads in (1, 2))
    assert one == two
    json.dumps(one)


def test_the_curve_is_read_between_its_points():
    curve = tradeoff(Workload.single(SUBLINEAR, 0.8, 15), 15, (4.0, 2.0, 2.0))
    cheap, dear = curve.controls
    assert "2 prices" in repr(curve)
    assert curve.mean_time_at(dear.blocking) == pytest.approx(dear.mean_execution_time)
    halfway = 0.5 * (cheap.blocking + dear.blocking)
    expected = 0.5 * (cheap.accepted_time + dear.accepted_time) / (1 - halfway)
    assert curve.mean_time_at(halfway) == pytest.approx(expected)
    with pytest.raises(MoldableError, match="outside this curve"):
        curve.mean_time_at(0.9)


def test_a_curve_needs_a_price():
    with pytest.raises(MoldableError, match="no price was given"):
        tradeoff(Workload.single(SUBLINEAR, 0.8, 10), 10, ())
