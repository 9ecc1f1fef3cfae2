"""Fluid equations beside simulated paths."""

from __future__ import annotations

import numpy as np

from moldable.paper import fluid_paths
from paper.tiny import published, tiny


def test_two_starts_stay_within_capacity_and_one_does_not():
    _, results = tiny("fluid")
    for start in fluid_paths.WITHIN:
        for part in start.along(results):
            assert part["valid_until"] is None
            assert part["largest_busy_fraction"] <= 1.0 + 1e-12
    for part in fluid_paths.BEYOND.along(results):
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
    beyond = fluid_paths.BEYOND.along(results)[-1]["farthest"]
    for start in fluid_paths.WITHIN:
        assert start.along(results)[-1]["farthest"] < beyond


def test_everything_is_published():
    (rows,), figures, page, findings = published("fluid")
    assert len(rows) == 6
    assert len(figures) == 4
    assert "1.349" in page
    assert "1.35 times the servers" in findings[0]
