"""The search for a price finds what is known to be best, whatever the landscape looks like."""

from __future__ import annotations

import numpy as np
import pytest

from moldable.tuning.search import Search
from moldable.tuning.targets import Target

FREE = Target.of(None, 4.0, None, 1.0)


def bowl(pairs, _):
    """Blocking falls with q0; time is least at log ell = 1 for any q0."""
    return [
        (float(np.exp(-2 - q0)), float(0.5 + 0.1 * q0 + 0.05 * (np.log(ell) - 1) ** 2))
        for q0, ell in pairs
    ]


def valley(pairs, _):
    """The same, with a q0 that matters the more the larger ell is, as on large clusters."""
    return [
        (float(np.exp(-2 - u)), float(0.5 + 0.1 * u + 0.05 * (np.log(ell) - 1) ** 2))
        for q0, ell in pairs
        for u in [(q0 - 3 / ell) * ell]
    ]


def turning(pairs, _):
    """Blocking falls until q0 = 2 and rises from there on; it is never below exp(-6)."""
    return [
        (float(np.exp(-6 + min((q0 - 2) ** 2, 6.0))), float(1 + 0.1 * q0 + 0.01 * np.log(ell) ** 2))
        for q0, ell in pairs
    ]


def plateau(pairs, _):
    """Up to q0 = 1.3 nothing changes, and is good; 1.42 is best, and more is much worse."""
    return [
        (
            0.0,
            float(1.0 - 0.02 * max(q0 - 1.3, 0.0) + max(q0 - 1.42, 0.0)) + 1e-3 * np.log(ell) ** 2,
        )
        for q0, ell in pairs
    ]


def own(pair):
    return pair


@pytest.mark.parametrize("landscape", [bowl, valley])
def test_a_limit_on_blocking_is_met_where_time_is_least(landscape):
    target = Target.of(0.01, None, None, 1.0)
    q0, ell = Search(landscape, target, own).run(8.0)
    blocking, time = landscape([(q0, ell)], 0)[0]
    assert blocking == pytest.approx(0.01, rel=0.02)
    assert np.log(ell) == pytest.approx(1.0, abs=0.05)
    assert time == pytest.approx(0.5 + 0.1 * (np.log(100) - 2), rel=5e-3)


def test_a_limit_on_time_is_met_where_blocking_is_least():
    target = Target.of(None, None, 0.7, 1.0)
    q0, ell = Search(bowl, target, own).run(8.0)
    assert bowl([(q0, ell)], 0)[0][1] == pytest.approx(0.7, rel=1e-3)
    assert np.log(ell) == pytest.approx(1.0, abs=0.1)


def test_the_least_cost_is_found():
    q0, ell = Search(bowl, FREE, own).run(8.0)
    found = FREE.cost(*bowl([(q0, ell)], 0)[0])
    grid = [(q, np.e) for q in np.linspace(-4, 8, 4001)]
    least = min(FREE.cost(*figures) for figures in bowl(grid, 0))
    assert found == pytest.approx(least, rel=1e-4)


def test_noise_is_averaged_away():
    """With 5 % noise on every figure the limit is missed by far less than that."""
    target = Target.of(0.01, None, None, 1.0)
    missed = []
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def noisy(pairs, number, rng=rng):
            errors = np.exp(0.05 * rng.standard_normal((len(pairs), 1)))
            return [tuple(row) for row in (np.array(bowl(pairs, number)) * errors).tolist()]

        q0, _ = Search(noisy, target, own).run(8.0, repeat=True)
        missed.append(np.log(np.exp(-2 - q0) / 0.01))
    assert np.std(missed) < 0.025


@pytest.mark.parametrize("limit", [0.01, 0.003])
def test_blocking_that_rises_again_is_met_on_its_way_down(limit):
    target = Target.of(limit, None, None, 1.0)
    q0, _ = Search(turning, target, own).run(8.0)
    assert turning([(q0, 1.0)], 0)[0][0] == pytest.approx(limit, rel=0.05)
    assert q0 < 2.0


def test_what_is_out_of_reach_ends_at_the_nearest():
    q0, _ = Search(turning, Target.of(0.001, None, None, 1.0), own).run(8.0)
    assert q0 == pytest.approx(2.0, abs=0.2)


def test_a_good_plateau_does_not_hide_what_is_better_beyond_its_edge():
    search = Search(plateau, FREE, lambda pair: (max(pair[0], 1.3), pair[1]))
    search.run(8.0)
    search.look_again([(32, 0), (16, 0)])
    q0, _ = search.ranked()[0]
    assert 1.37 < q0 < 1.43


def test_tables_are_measured_once_unless_they_are_noisy():
    seen = []

    def counted(pairs, number):
        seen.extend(pairs)
        return bowl(pairs, number)

    Search(counted, FREE, lambda pair: (round(pair[0]), round(np.log(pair[1])))).run(8.0)
    few = len(seen)
    seen.clear()
    Search(counted, FREE, own).run(8.0, repeat=True)
    assert few < len(seen) / 3


def test_the_best_tried_are_ranked_by_the_last_look():
    search = Search(bowl, FREE, own)
    search.run(8.0)
    search.look_again([(32, 0), (16, 0)])
    ranked = search.ranked()
    costs = [FREE.cost(*figures) for figures in bowl(ranked, 0)]
    assert costs == sorted(costs)
    assert len(set(ranked)) == 16


@pytest.mark.parametrize(
    ("looks", "found"), [([(16, 5), (16, 7)], False), ([(48, 5), (12, 7)], True)]
)
def test_luck_in_a_hurried_measurement_wins_only_if_few_are_looked_at_again(looks, found):
    best = (-np.log(0.1 / 3.35) - 2.0, np.e)
    lucky = [(float(q0), np.e) for q0 in np.linspace(4.0, 6.0, 40)]
    hurried = {pair: (pair, (0.0, 0.1)) for pair in lucky} | {best: (best, (0.0, 0.2))}
    search = Search(bowl, FREE, own, tried=hurried)
    search.look_again(looks)
    assert (search.ranked()[0] == best) is found


def test_around_the_limit_come_those_that_break_it_a_little_and_those_that_keep_it_well():
    target = Target.of(0.1, None, None, 1.0)
    figures = [(0.0999, 0.5), (0.0998, 0.51), (0.1004, 0.4), (0.09, 0.7), (0.2, 0.3)]
    lucky, luckier, broken, kept, hopeless = pairs = [(float(i), 1.0) for i in range(5)]
    tried = {pair: (pair, found) for pair, found in zip(pairs, figures, strict=True)}
    search = Search(bowl, target, own, tried=tried)
    assert search.ranked() == [lucky, luckier, kept, broken, hopeless]
    # At 0.1 and 0.10025 the lucky one is best, at 0.09975 the kept one, at 0.1005 the broken one.
    assert search.around_limit() == [lucky, kept, broken, luckier, hopeless]


def test_covering_finds_the_best_that_a_search_from_one_side_misses():
    """Beside a wide bowl there is a narrow hole, half as deep again."""

    def holed(pairs, number):
        hole = [abs(q0 - 6.0) < 0.06 and abs(np.log(ell) - 3.0) < 0.06 for q0, ell in pairs]
        figures = zip(bowl(pairs, number), hole, strict=True)
        return [(0.0, 0.1) if deep else found for found, deep in figures]

    search = Search(holed, FREE, own)
    pair = search.run(8.0)
    assert holed([pair], 0) == bowl([pair], 0)
    search.cover(8.0)
    assert holed(search.ranked()[:1], 0) == [(0.0, 0.1)]
