"""Tables of quantiles: accurate to 1e-10, equal to the naive twin, refused if inaccurate."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from moldable.kernels.bucket_ring import look_up_grid
from moldable.simulation.quantiles import Inverse, grid_table
from moldable.sizes import FromScipy, Hyperexponential, MixedErlang, PhaseType
from naive import quantiles as naive


def erlang(phases):
    return PhaseType([1.0] + [0.0] * (phases - 1), np.eye(phases, k=1) - np.eye(phases))


LAWS = {
    "loop": PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]]),
    "Erlang 2": erlang(2),
    "Erlang 50": erlang(50),
    "Coxian": PhaseType([1.0, 0, 0], [[-5.0, 2.0, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, -0.3]]),
    "hyperexponential": Hyperexponential(2.0),
    "mixed Erlang": MixedErlang((0.1, 0.0, 0.0, 0.4, 0.5)),
    "gamma": FromScipy(stats.gamma(0.4)),
    "Pareto tail": FromScipy(stats.genpareto(0.3)),
    "bounded": FromScipy(stats.uniform(0.5, 1.0)),
}


@cache
def table_of(law):
    return grid_table(Inverse.of(law if hasattr(law, "survival") else law.phases))


def test_phases_know_their_tail_and_density():
    x = np.array([[0.3, 0.7, 1.0], [1.5, 3.0, 8.0]])
    exact = stats.gamma(50, scale=1 / 50)
    phases = LAWS["Erlang 50"].phases
    assert phases.survival(x) == pytest.approx(exact.sf(x), rel=1e-11)
    assert phases.density(x) == pytest.approx(exact.pdf(x), rel=1e-11)
    assert np.isnan(phases.survival(np.nan))
    assert phases.survival([0.0, np.inf]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", LAWS)
def test_the_distribution_function_is_right_to_1e_10(name):
    law = LAWS[name]
    table = table_of(law)
    e = np.random.default_rng(2).standard_exponential(20_000)
    e[:2000] = 2.0 ** np.random.default_rng(3).uniform(-40, 5, 2000)
    sizes = e.copy()
    look_up_grid(sizes, table)
    assert np.abs(law.cdf(sizes) + np.expm1(-e)).max() < 1e-10
    assert np.abs(law.cdf(sizes * 1.001) + np.expm1(-e)).max() > 1e-5


@pytest.mark.parametrize(
    "name",
    [pytest.param(k, marks=pytest.mark.long) if k == "Erlang 50" else k for k in LAWS],
)
def test_tables_are_looked_up_as_the_naive_twin_does(name):
    law = LAWS[name]
    table = table_of(law)
    rng = np.random.default_rng(4)
    e = np.concatenate((rng.standard_exponential(50), 2.0 ** rng.uniform(-36, 6, 50), [1.0, 2.0]))
    sizes = e.copy()
    look_up_grid(sizes, table)
    assert sizes == pytest.approx([naive.look_up(table, one) for one in e], rel=1e-13)
    some = (e > 1e-3) & (e < 10)
    exact = [naive.quantile(law.cdf, one) for one in e[some][:20]]
    assert sizes[some][:20] == pytest.approx(exact, rel=1e-6)


def test_compiled_and_plain_look_ups_are_the_same_bit_for_bit():
    table = table_of(LAWS["loop"])
    compiled = np.random.default_rng(5).standard_exponential(5000)
    plain = compiled.copy()
    look_up_grid(compiled, table)
    look_up_grid.py_func(plain, table)
    assert compiled.tobytes() == plain.tobytes()


def test_scripted_numbers_find_their_cells():
    # Two cells to the octave from 1 to 4; the first bits of 1.0 without the last 51 are its number.
    first = float(np.array([1.0]).view(np.int64)[0] >> 51)
    pieces = [10.0, 1, 0, 0, 20.0, 0, 2, 0, 30.0, 0, 0, 4, 40.0, 1, 1, 1]
    table = np.array([51.0, first, *pieces])
    sizes = np.array([1.0, 1.25, 1.75, 2.5, 3.0, 0.0, 0.5, 100.0])
    look_up_grid.py_func(sizes, table)
    # What lies beyond either end goes into the cell there, with its own place within a cell.
    assert sizes.tolist() == [10.0, 10.5, 20.5, 30.5, 40.0, 10.0, 10.0, 40.142578125]


@pytest.mark.parametrize(
    "law",
    [
        PhaseType([0.9, 0.1], [[-1000.0, 0.0], [0.0, -1.0]]),
        Hyperexponential(1e8),
        FromScipy(stats.weibull_min(0.02)),
    ],
    ids=str,
)
def test_a_law_too_rough_for_any_grid_gets_no_table(law):
    assert table_of(law) is None
