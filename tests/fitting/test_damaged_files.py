"""Damaged files of measurements are read or refused, never a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.mutate import damaged, damaged_json
from moldable import fit, read_measurements
from moldable.errors import MoldableError

FILES = Path(__file__).parent / "files"
EXAMPLES = Path(__file__).parents[2] / "examples"
SELECT = {
    "hyperfine.json": [],
    "pytest-benchmark.json": ["name=test_solver"],
    "reframe.json": ["variable=elapsed"],
}
INPUTS = 60


@pytest.mark.parametrize("name", ["hyperfine.json", "pytest-benchmark.json", "reframe.json"])
def test_damaged_json_files_are_read_or_refused(name, tmp_path):
    rng = random.Random(1)  # noqa: S311 - inputs are random, not secret
    content = (FILES / name).read_bytes()
    outcomes = {"read": 0, "refused": 0}
    for k in range(INPUTS):
        path = tmp_path / "runs.json"
        path.write_bytes((damaged_json if k % 2 else damaged)(rng, content))
        try:
            answer = fit(read_measurements(path, select=SELECT[name]))
        except MoldableError:
            outcomes["refused"] += 1
        else:
            assert (answer.curve.speedups > 0.0).all()
            outcomes["read"] += 1
    assert min(outcomes.values()) > 5


def test_damaged_csv_files_are_read_or_refused(tmp_path):
    rng = random.Random(2)  # noqa: S311 - the same
    content = (EXAMPLES / "repeats.csv").read_bytes()
    outcomes = {"read": 0, "refused": 0}
    for _ in range(INPUTS):
        path = tmp_path / "runs.csv"
        path.write_bytes(damaged(rng, content))
        try:
            fit(path)
        except MoldableError:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
    assert min(outcomes.values()) > 5


@pytest.mark.parametrize(
    "runs",
    [
        {1: 1e-99, 2: 1e99},
        {1: 1e99, 2: 1e-99},
        {1: [1e-99, 1e99], 2: [1.0, 1.0]},
        {1: 1.0, 10**15: 1.0},
        {2: 1.0, 3: 1e9, 10**12: 1e-9},
        {7: [1.0] * 50, 8: [1.0]},
        dict.fromkeys(range(1, 40), 1.0),
        {w: float(w) ** 3 for w in range(1, 40)},
        {w: 1e6 / w**3 for w in range(1, 40)},
    ],
    ids=range(9),
)
def test_extreme_measurements_give_a_curve_or_a_clear_error(runs):
    try:
        answer = fit(runs)
    except MoldableError:
        return
    assert (answer.curve.speedups > 0.0).all()
    assert answer.to_dict()["models"]
