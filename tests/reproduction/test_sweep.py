"""Blocking and mean execution time against n."""

from __future__ import annotations

import pytest

from moldable.exact import erlang_b
from reproduction import sweep
from reproduction.experiment import Effort, Scale
from reproduction.settings import Setting
from tiny_results import tiny

MEAN_FIELD = Setting("sub-linear", "mean-field")


def test_both_figures_share_their_cells():
    blocking, time = (tiny(name)[0].cells(Scale.QUICK) for name in ("blocking", "time"))
    assert [cell.key for cell in blocking] == [cell.key for cell in time]


@pytest.mark.parametrize("scale", [Scale.QUICK, Scale.FULL])
def test_there_are_at_least_twelve_sizes_from_20_to_20000_some_with_a_remainder(scale):
    sizes = sweep.SIZES[scale]
    assert len(sizes) >= 12
    assert (sizes[0], sizes[-1]) == (20, 20_000)
    assert any(n % 5 for n in sizes)


def test_one_width_that_divides_the_servers_is_erlangs():
    _, results = tiny("blocking")
    part = results[sweep.key(Setting("linear", "mean-field"), 200)][sweep.GREEDY_P]
    assert part["blocking"] == pytest.approx(erlang_b(40, 32.0), rel=1e-12)
    assert part["mean_execution_time"] == pytest.approx(0.2, rel=1e-12)


def test_the_design_values_at_4000_servers_come_out():
    cells = {cell.key: cell for cell in sweep.cells(Scale.QUICK)}
    key = sweep.key(Setting("sub-linear", "Halfin-Whitt"), 4000)
    found = cells[key].compute(Effort(1))
    mixed, greedy = found[sweep.GREEDY_P], found[sweep.GREEDY]
    assert mixed["blocking"] == pytest.approx(0.012586284643, abs=1e-11)
    assert mixed["mean_execution_time"] == pytest.approx(0.993745039294, abs=1e-11)
    assert greedy["mean_execution_time"] == pytest.approx(1 / 3.4)


@pytest.mark.parametrize(
    ("policy", "limits"), [(sweep.GREEDY_P, (0.0, 0.375)), (sweep.GREEDY, (0.15, 1 / 3.4))]
)
def test_limits_are_those_of_the_paper(policy, limits):
    assert sweep.limit(MEAN_FIELD, policy, 4000) == pytest.approx(limits)


def test_greedy_has_no_blocking_in_the_limit_on_the_linear_curve():
    assert sweep.limit(Setting("linear", "mean-field"), sweep.GREEDY, 4000) == (0.0, 0.2)


def test_only_wide_mixtures_beyond_the_solved_sizes_are_simulated_and_have_an_interval():
    _, results = tiny("blocking")
    for key, both in results.cells.items():
        for policy, part in both.items():
            simulated = part["method"] == "simulate"
            wide = key.startswith(f"sweep/{MEAN_FIELD.key}-n=") and policy == sweep.GREEDY_P
            assert simulated == (wide and part["servers"] > sweep.WHOLE_CHAIN[Scale.TINY])
            low, high = part["blocking_interval"]
            assert (high > low) == simulated


@pytest.mark.parametrize("name", ["blocking", "time"])
def test_every_cell_is_published_with_its_remainder(name):
    made = tiny(name)[0].publish(tiny(name)[1])
    (rows,) = made.tables.values()
    _, results = tiny(name)
    assert len(rows) == 2 * len(results.cells)
    assert "Where 5 does not divide n (33)" in made.page
    assert "n = 200" in made.findings[0]
