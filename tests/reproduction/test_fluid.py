"""Fluid equations and simulated paths."""

from __future__ import annotations

import numpy as np

from reproduction import fluid
from tiny_results import tiny


def test_two_starts_stay_within_capacity_and_one_does_not():
    _, results = tiny("fluid")
    for start in fluid.WITHIN:
        for part in start.along(results):
            assert part["valid_until"] is None
            assert part["largest_busy_fraction"] <= 1.0 + 1e-12
    for part in fluid.BEYOND.along(results):
        assert part["valid_until"] == 0.0
        assert round(part["largest_busy_fraction"], 2) == 1.35


def test_paths_begin_at_the_start_and_stay_within_capacity():
    _, results = tiny("fluid")
    for part in results.cells.values():
        path = np.array(part["path"])
        assert np.allclose(path[0], part["fluid"][0])
        assert (path @ np.arange(1, 6)).max() <= 1.0 + 1e-12


def test_paths_are_near_the_equations_where_those_are_the_limit():
    _, results = tiny("fluid")
    beyond = fluid.BEYOND.along(results)[-1]["farthest"]
    for start in fluid.WITHIN:
        assert start.along(results)[-1]["farthest"] < beyond


def test_tables_and_texts_say_what_was_found():
    experiment, results = tiny("fluid")
    made = experiment.publish(results)
    assert len(made.tables["fluid"]) == 6
    assert len(made.drawings) == 2
    assert "1.349" in made.page
    assert "1.35 times the number of servers" in made.findings[0]
