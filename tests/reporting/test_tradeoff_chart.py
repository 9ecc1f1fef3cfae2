"""Trade-offs as charts in a terminal."""

from __future__ import annotations

import dataclasses

import pytest

from moldable import Scenario, SpeedUp, Thresholds
from moldable.cli.output import console
from moldable.optimal import tradeoff
from moldable.reporting.tradeoff_chart import ROWS, WIDEST, show_tradeoff_chart
from moldable.reporting.tradeoff_plot import tradeoff_figure
from moldable.system.estimate import Estimate
from moldable.tuning import value_tradeoff
from moldable.tuning.tradeoff import ValuePoint, ValueTradeoff
from reporting.answers import performing


def at(blocking, mean_time):
    return performing(Estimate.exact(blocking), mean_time)


def point(blocking, mean_time):
    return ValuePoint(2.0, Thresholds({"jobs": {1: 1}}), at(blocking, mean_time))


@pytest.fixture
def answer():
    return ValueTradeoff(
        optimum=None,
        why_no_optimum="too many states",
        value_policy=(point(0.2, 1.0), point(0.2, 0.5), point(0.1, 0.8)),
        greedy_p=at(0.3, 0.6),
        greedy=at(0.4, 0.2),
    )


@pytest.fixture
def lines(capsys, monkeypatch):
    def draw(answer, columns=120):
        monkeypatch.setenv("COLUMNS", str(columns))
        show_tradeoff_chart(console(narrowest=0), answer)
        return capsys.readouterr().out.splitlines()

    return draw


def places(picture, mark):
    """Return the rows and columns of a mark, the legend left out."""
    return [(y, x) for y, line in enumerate(picture[:-1]) for x, c in enumerate(line) if c == mark]


def test_higher_is_slower_and_further_right_is_more_blocking(lines, answer):
    picture = lines(answer)
    ((greedy_y, greedy_x),) = places(picture, "▲")
    ((star_y, star_x),) = places(picture, "★")
    (slow_y, slow_x), (first_y, first_x), (second_y, second_x) = places(picture, "●")
    assert slow_y < first_y < star_y < second_y < greedy_y
    assert first_x < second_x == slow_x < star_x < greedy_x
    # Times 1.0, 0.6 and 0.2 are evenly spaced, and so are blockings 0.2, 0.3 and 0.4.
    assert star_y - slow_y == greedy_y - star_y == ROWS // 2
    assert abs((star_x - slow_x) - (greedy_x - star_x)) <= 1


def test_axes_carry_numbers_that_are_short_and_right(lines, answer):
    picture = lines(answer)
    numbered = [line.split()[0] for line in picture if "┤" in line]
    assert numbered == ["1", "0.6", "0.2"]
    assert picture[-3].split() == ["0", "0.2", "0.4"]
    ((y, x),) = places(picture, "▲")
    assert x == len(picture[-3]) - 1  # above the 0.4 at the right end
    assert picture[y].split()[0] == "0.2"


def test_the_true_optimum_is_a_curve_where_it_is_known(lines, answer):
    assert not any("·" in line for line in lines(answer))
    assert "true optimum" not in lines(answer)[-1]
    best = tradeoff(Scenario.single(SpeedUp([1.0, 1.8, 2.5]), 0.8, 8), (1.0, 4.0, 32.0))
    picture = lines(dataclasses.replace(answer, optimum=best))
    assert "· true optimum" in picture[-1]
    columns = {x for _, x in places(picture, "·")}
    assert columns == set(range(min(columns), max(columns) + 1))


@pytest.mark.parametrize("columns", [50, 80, 300])
def test_the_picture_fits_the_terminal(lines, answer, columns):
    assert max(map(len, lines(answer, columns)[:-1])) <= min(columns, WIDEST)


def test_equal_policies_are_all_plotted(lines):
    same = at(0.0, 0.5)
    alike = ValueTradeoff(None, "", (point(0.0, 0.5),), same, same)
    assert len(places(lines(alike), "▲")) == 1


def test_a_load_that_cannot_be_carried_has_no_star(lines, answer):
    picture = lines(dataclasses.replace(answer, greedy_p=None))
    assert not places(picture, "★")
    assert len(places(picture, "▲")) == 1


def test_times_that_differ_by_rounding_are_drawn_on_one_line(lines):
    """With one width all times are alike, and the bound on the best lies a hair below."""
    alike = value_tradeoff(Scenario.single(SpeedUp([1.0]), 0.8, 8), (2.0, 8.0), seed=1)
    picture = lines(alike)
    assert [line.split()[0] for line in picture if "┤" in line] == ["1", "0.5", "0"]
    low, high = tradeoff_figure(alike).axes[0].get_ylim()
    assert high - low > 0.01
