"""Piecewise tables of quantiles: accuracy, number of pieces, and laws that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from moldable.kernels.bucket_ring import look_up_pieces
from moldable.simulation.quantiles import MOST_PIECES, Inverse, grid_table, piece_table
from moldable.sizes import FromScipy, Hyperexponential, PhaseType
from naive import quantiles as naive

# Between 1 and 2 there is nothing: the quantiles jump.
GAP = stats.rv_histogram(([3.0, 0.0, 5.0, 1.0], [0.0, 1.0, 2.0, 3.0, 9.0]), density=False)
LAWS = {
    "rates far apart": PhaseType([0.9, 0.1], [[-1000.0, 0.0], [0.0, -1.0]]).phases,
    "rates out of sight of each other": Hyperexponential(1e8).phases,
    "tail out of sight": Hyperexponential(1e12).phases,
    "smooth": Hyperexponential(2.0).phases,
    "steep": FromScipy(stats.weibull_min(0.02)),
    "steeper": FromScipy(stats.gamma(0.001)),
    "gap": FromScipy(GAP()),
    "kink": FromScipy(stats.triang(0.3)),
    "vanishing end": FromScipy(stats.semicircular(loc=1.0)),
}
SMALL = 2.0**-499


def cdf_of(law, sizes):
    return 1.0 - law.survival(np.asarray(sizes))


@pytest.fixture(scope="module")
def tables():
    return {name: piece_table(Inverse.of(law)) for name, law in LAWS.items()}


@pytest.mark.parametrize("name", LAWS)
def test_the_distribution_function_is_right_to_1e_10(name, tables):
    law, table = LAWS[name], tables[name]
    rng = np.random.default_rng(2)
    e = np.concatenate((rng.standard_exponential(20_000), 2.0 ** rng.uniform(-36, 5, 2000)))
    sizes = e.copy()
    look_up_pieces(sizes, table)
    # What is smaller than this is the same to any run.
    seen = sizes > SMALL
    assert np.all(cdf_of(law, SMALL) > -np.expm1(-e[~seen]) - 1e-10)
    error = cdf_of(law, sizes[seen]) + np.expm1(-e[seen])
    assert np.abs(error).max() < 1.1e-10
    assert np.abs(cdf_of(law, sizes * 1.2) + np.expm1(-e)).max() > 1e-5


@pytest.mark.parametrize("name", LAWS)
def test_pieces_are_few_and_rise(name, tables):
    table = tables[name]
    rows = table[4 + int(table[2]) :].reshape(-1, 6)
    assert len(rows) < MOST_PIECES / 4
    ends = np.append(rows[1:, 0], 64.0)
    assert rows[:, 0] + 1.0 / rows[:, 1] == pytest.approx(ends, rel=1e-9)
    shares = np.linspace(0.0, 1.0, 9) ** np.arange(4)[:, None]
    logarithms = (rows[:, 2:] @ shares).ravel()
    assert np.all(np.diff(logarithms) > -1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_pieces_are_found_as_the_naive_twin_does(name, tables):
    law, table = LAWS[name], tables[name]
    rng = np.random.default_rng(4)
    e = np.concatenate((rng.standard_exponential(50), 2.0 ** rng.uniform(-36, 6, 50), [1.0, 2.0]))
    sizes = e.copy()
    look_up_pieces(sizes, table)
    assert sizes == pytest.approx([naive.look_between(table, one) for one in e], rel=1e-12)
    if name != "steeper":  # half of whose sizes are too small to be told from 0
        some = e[(e > 0.05) & (e < 10)][:20]
        exact = [naive.quantile(lambda x: float(cdf_of(law, x)), one) for one in some]
        assert [naive.look_between(table, one) for one in some] == pytest.approx(exact, rel=1e-5)


def test_compiled_and_plain_searches_are_the_same_bit_for_bit(tables):
    compiled = np.random.default_rng(5).standard_exponential(5000)
    compiled[:3] = [0.0, 1e-30, 50.0]
    plain = compiled.copy()
    look_up_pieces(compiled, tables["gap"])
    look_up_pieces.py_func(plain, tables["gap"])
    assert compiled.tobytes() == plain.tobytes()


def test_scripted_numbers_find_their_pieces():
    # Two cells from 1 to 2 and 2 to 4; three pieces: from 1, from 2.5 and from 3.
    first = float(np.array([1.0]).view(np.int64)[0] >> 52)
    rows = [[1.0, 1 / 1.5, 0.0, 1.5, 0, 0], [2.5, 2.0, 3.0, 0, 4.0, 0], [3.0, 1.0, 5.0, 0, 0, 8.0]]
    table = np.array([52.0, first, 2.0, 0.0, 0.0, 2.0, *np.ravel(rows)])
    sizes = np.array([1.0, 2.0, 2.5, 2.75, 3.0, 3.5, 0.25])
    look_up_pieces.py_func(sizes, table)
    # What lies before the first piece is taken as its beginning.
    assert np.log(sizes) == pytest.approx([0.0, 1.0, 3.0, 4.0, 5.0, 6.0, 0.0])


class Rounded:
    """Exponential sizes whose tail is known to a few digits only."""

    def __init__(self, digit):
        self.digit = digit

    def survival(self, x):
        return np.round(np.exp(-np.asarray(x)) / self.digit) * self.digit

    def density(self, x):
        return np.exp(-x)


@pytest.mark.parametrize(("digit", "error"), [(1e-16, 1e-10), (3e-14, 1e-10), (3e-10, 1e-7)])
def test_a_law_known_to_fewer_digits_is_drawn_to_those(digit, error):
    table = piece_table(Inverse.of(Rounded(digit)))
    e = np.random.default_rng(6).standard_exponential(20_000)
    sizes = e.copy()
    look_up_pieces(sizes, table)
    assert np.abs(np.expm1(-sizes) - np.expm1(-e)).max() < error


def test_a_law_that_is_noise_gets_no_table():
    inverse = Inverse.of(Rounded(1e-4))
    assert grid_table(inverse) is None
    assert piece_table(inverse) is None
