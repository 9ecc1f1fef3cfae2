"""The table's cells: what is printed, what is exact, and what the comparison says."""

from __future__ import annotations

import pytest

from moldable.exact import erlang_b
from reproduction.experiment import Scale
from reproduction.settings import LAWS, METRICS, SETTINGS, Setting, printed
from reproduction.table_cells import SIZES, cells, compared, has_exact_answer
from reproduction.verdict import Verdict
from tiny_results import tiny

ROW = Setting("sub-linear", "Halfin-Whitt")


def test_the_printed_numbers_stand_where_the_paper_has_them():
    assert printed(ROW, "exponential", "mean_execution_time") == "0.9930"
    assert printed(ROW, "pareto", "blocking") == "0.0041"
    assert printed(SETTINGS[0], "exponential", "blocking") == "0"
    assert printed(SETTINGS[2], "pareto", "blocking") == "0.0219"
    assert len(SETTINGS) * len(LAWS) * len(METRICS) == 48


def test_full_scale_is_the_papers():
    size = SIZES[Scale.FULL]
    assert (size.servers, size.runs, size.arrivals) == (4000, 100, 5_000_000)
    assert SIZES[Scale.QUICK].arrivals == size.arrivals  # the bias depends on it
    assert len([cell for cell in cells(Scale.FULL) if cell.key.startswith("method/")]) == 24


def test_every_law_on_the_linear_curve_is_compared_with_erlangs_formula():
    _, results = tiny("table")
    for each in compared(results):
        if each.setting.curve == "linear" and each.metric == "blocking":
            load = each.setting.load(100)
            assert has_exact_answer(each.setting, each.law)
            assert each.right.value == pytest.approx(erlang_b(20, 20 * load), rel=1e-10)
            assert each.right.standard_error == 0.0


def test_simulations_from_equilibrium_meet_exact_answers():
    _, results = tiny("table")
    assert all(each.simulation_holds for each in compared(results))


def test_numbers_of_another_size_disagree():
    """At the tiny scale n is 100, so the printed numbers must be found wrong."""
    _, results = tiny("table")
    verdicts = [each.verdict for each in compared(results) if each.setting == ROW]
    assert verdicts.count(Verdict.DISAGREES) > len(verdicts) / 2


def test_sentences_count_the_verdicts():
    experiment, results = tiny("table")
    said = experiment.publish(results).findings
    counts = [sum(each.verdict is v for each in compared(results)) for v in Verdict]
    assert said[0].startswith(f"Table 1, 48 numbers: {counts[0]} agree, {counts[1]} agree by")
    assert said[-1].startswith("Disagreements: ")
