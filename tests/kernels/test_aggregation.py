"""Coarse equations of groups of states against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from moldable.exact import aggregation as coarse
from moldable.kernels import aggregation as compiled


@pytest.fixture
def equations():
    """Twelve random equations in four groups, as dense matrix and by rows."""
    rng = np.random.default_rng(0)
    group = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3])
    near = np.abs(group[:, None] - group) <= 1
    rates = np.where(near & (rng.random((12, 12)) < 0.7), rng.random((12, 12)), 0.0)
    np.fill_diagonal(rates, 0.0)
    out = rates.sum(axis=1) + rng.random(12)
    start = np.concatenate(((0,), np.cumsum((rates > 0.0).sum(axis=1))))
    matrix = (start, np.nonzero(rates)[1], rates[rates > 0.0], out)
    return np.diag(out) - rates, matrix, group, rng


@pytest.fixture
def by_kernels(kernels, monkeypatch):
    for name in ("aggregate", "group_steps", "prolonged", "restricted"):
        monkeypatch.setattr(compiled, name, getattr(kernels.aggregation, name))


@pytest.mark.usefixtures("by_kernels")
def test_corrections_are_those_of_the_dense_coarse_matrix(equations):
    dense, matrix, group, rng = equations
    restrict, prolong = rng.random(12), rng.random(12)
    sums = np.zeros((4, 12))
    sums[group, np.arange(12)] = 1.0
    small = (sums * restrict) @ dense @ (sums * prolong).T
    right, solved = rng.random(12), rng.random(12)
    exact = solved + prolong * np.linalg.solve(small, (sums * restrict) @ right)[group]
    coarse.Coarse(matrix, group, restrict, prolong).correct(right, solved)
    np.testing.assert_allclose(solved, exact, rtol=1e-12)


@pytest.mark.usefixtures("by_kernels")
def test_a_fixed_group_keeps_its_value(equations):
    dense, matrix, group, rng = equations
    law = rng.random(12)
    share = law / np.bincount(group, law)[group]
    sums = np.zeros((4, 12))
    sums[group, np.arange(12)] = 1.0
    small = sums @ dense @ (sums * share).T
    fixed = int(np.argmax(np.bincount(group, law)))
    others = np.arange(4) != fixed
    right, solved = rng.random(12), np.zeros(12)
    values = np.zeros(4)
    values[others] = np.linalg.solve(small[others][:, others], (sums @ right)[others])
    coarse.Coarse.of_law(matrix, group, law).correct(right, solved)
    np.testing.assert_allclose(solved, share * values[group], rtol=1e-12)


def test_functions_that_are_constant_on_groups_are_solved_at_once(equations):
    dense, matrix, group, rng = equations
    values = rng.random(4)[group]
    solved = np.zeros(12)
    coarse.Coarse.of_values(matrix, group, rng.random(12)).correct(dense @ values, solved)
    np.testing.assert_allclose(solved, values, rtol=1e-10)
