"""Replays: figures, baselines, ranges of widths, tuning, and bad input."""

from __future__ import annotations

import json
import math
from dataclasses import replace as changed

import numpy as np
import pytest

from moldable import Greedy, Policy, SpeedUp, Thresholds, read_trace, replay
from moldable.errors import MoldableError, PolicyError, SimulationError, WorkloadError
from moldable.policies import EvenPrice, FixedWidth, IdleShare
from moldable.traces import decision_rows, replay_tuning
from moldable.traces.replay_figures import median
from moldable.traces.request_curves import as_request_curve
from traces.replay_cases import ROOT, make_trace, random_trace


@pytest.fixture
def few_candidates(monkeypatch):
    """Tune among few policies, which is quicker."""
    monkeypatch.setattr(replay_tuning, "PRICES", (0.0, 1.5))
    monkeypatch.setattr(replay_tuning, "LENGTHS", (1.0, 4.0))


QUICK = {"copies": 0, "seed": 1}


@pytest.fixture(scope="module")
def week():
    return read_trace(ROOT / "examples/slurm-week.txt", class_by="name:^(train|eval|solve)")


def test_figures_are_those_of_a_schedule_worked_out_by_hand():
    # 4 servers. Job 0 runs from 0 to 100 on 4; job 1 from 100 to 150 on 2, job 2 next to it from
    # 100 to 104; job 3 comes to an empty cluster.
    trace = make_trace(
        [0, 10, 20, 200], [100, 50, 4, 20], [4, 2, 2, 4], start=[0, 110, 120, 220], capacity=4
    )
    found = replay(trace, Greedy(), least=1.0, judged_from=0.0, **QUICK)
    rigid = found["rigid EASY"].figures
    assert rigid.mean_wait == (0 + 90 + 80 + 0) / 4
    assert rigid.median_wait == 40
    assert rigid.mean_response == (100 + 140 + 84 + 20) / 4
    assert rigid.bounded_slowdown == (1 + 140 / 50 + 84 / 10 + 1) / 4
    # Between the first submission, 0, and the last, 200.
    assert rigid.utilisation == pytest.approx((400 + 100 + 8) / 800, abs=1e-12)
    past = found["recorded"]
    assert past.figures.mean_wait == (0 + 100 + 100 + 20) / 4
    assert past.changes["mean_wait"] == pytest.approx(220 / 170 - 1)
    assert (past.earlier, past.later) == (0.0, 0.5)  # 150 > 1.1 x 140 fails, 104 and 40 are later
    assert found["greedy"].figures == rigid  # with a least share of 1 nothing may shrink


def test_a_log_may_be_given_as_the_name_of_its_file(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("submit,run_time,servers\n0,60,4\n9,90,4\n9,90,2\n")
    options = {"servers": 6, "judged_from": 0, **QUICK}
    for name in (file, str(file)):
        found = replay(name, "greedy", **options)
        assert (
            found["greedy"].figures
            == replay(read_trace(file), "greedy", **options)["greedy"].figures
        )
    with pytest.raises(MoldableError, match=r"absent\.csv cannot be read"):
        replay("absent.csv", "greedy", **options)


def test_a_trace_is_shown_in_one_line(week):
    assert repr(week).startswith("Trace('")
    assert repr(week).endswith("slurm-week.txt': 512 jobs in 3 classes over 574833 s)")
    assert repr(week.select([])).endswith("0 jobs in 3 classes)")


def test_the_later_share_counts_responses_more_than_a_tenth_above():
    trace = make_trace([0, 0], [100, 100], [1, 1], start=[10, 10.5], capacity=2)
    found = replay(trace, Greedy(), judged_from=0.0, **QUICK)
    assert found["recorded"].later == 0.5
    assert found["recorded"].earlier == 0.0


def test_sizes_follow_from_the_curve_at_the_recorded_servers():
    # Two jobs ask for 4 of 6 servers; the second gets 2, at half the speed on a linear curve.
    trace = make_trace([0, 1], [60, 60], [4, 4], capacity=6)
    for curve, longer in (("linear", 2.0), ("amdahl:0.8", (0.2 + 0.4) / (0.2 + 0.2))):
        found = replay(trace, Greedy(), curves=curve, judged_from=0.0, **QUICK)
        assert found["greedy"].width.tolist() == [4, 2]
        responses = found["greedy"].figures.mean_response
        assert responses == pytest.approx((60 + 60 * longer) / 2, rel=1e-12)


def test_widths_stay_between_the_least_and_the_most_share_of_the_request(week):
    for least, most in ((0.5, 1.0), (0.3, 2.0), (1.0, 1.0)):
        found = replay(
            week, IdleShare(), servers=64, curves="linear", least=least, most=most, **QUICK
        )
        asked = week.servers[-found.jobs :]
        width = found["idle share"].width
        assert (width >= np.ceil(least * asked - 1e-9)).all()
        assert (width <= np.minimum(most * asked, 64)).all()
        assert (width < asked).any() == (least < 1.0)
        assert (width > asked).any() == (most > 1.0)


def test_the_range_rule_is_greedy_within_the_range(week):
    found = replay(week, Greedy(), servers=64, **QUICK)
    assert np.array_equal(found["greedy"].start, found["largest that fits"].start)
    assert np.array_equal(found["greedy"].width, found["largest that fits"].width)


def test_moldable_jobs_wait_less_than_rigid_ones_on_the_example(week):
    found = replay(week, "even-price", servers=64, seed=1, copies=6)
    change = found["even-price"].changes["mean_response"]
    assert change.interval[1] < 0.0  # the whole interval is below 0
    assert found["rigid FCFS"].changes["mean_response"] > 0.5
    assert found[found.baseline].changes["mean_wait"] == 0.0


def test_first_come_first_served_is_its_own_baseline(week):
    found = replay(week, "even-price", servers=64, discipline="fcfs", **QUICK)
    assert found.baseline == "rigid FCFS"
    starts = found["even-price"].start
    assert (np.diff(starts) >= 0.0).all()  # nobody overtakes
    assert (np.diff(found["rigid EASY"].start) < 0.0).any()


def test_every_kind_of_policy_is_replayed(week, tmp_path):
    table = tmp_path / "table.json"
    table.write_text(
        json.dumps(
            {
                "policy": "thresholds",
                "classes": {name: {"1": 1, "8": 4} for name in week.classes},
            }
        )
    )
    rules = ["even-price:0.4,8", "idle-share", "greedy", "fixed:2", "greedy-p:0.7", table]
    found = replay(week, rules, servers=64, curves="amdahl:0.95", **QUICK)
    assert [run.name for run in found.runs[4:]] == [*rules[:-1], "table.json"]
    for run in found.runs[4:]:
        assert run.figures.mean_wait < found["rigid FCFS"].figures.mean_wait


def test_widths_that_a_policy_holds_are_moved_into_the_range():
    trace = make_trace([0, 100, 200], [10, 10, 10], [1, 4, 8], capacity=16)
    found = replay(trace, FixedWidth(3), curves="linear", judged_from=0.0, **QUICK)
    assert found["fixed width 3"].width.tolist() == [1, 3, 4]
    strict = replay(trace, FixedWidth(3, strict=True), judged_from=0.0, **QUICK)
    assert strict["fixed width 3, strict"].width.tolist() == [1, 3, 4]
    table = Thresholds({"jobs": {1: 1, 6: 6}})
    found = replay(trace, table, curves="linear", judged_from=0.0, **QUICK)
    assert found["thresholds"].width.tolist() == [1, 4, 6]


def test_an_own_policy_sees_idle_servers_and_the_jobs_behind():
    seen = set()

    class Watching(Policy):
        def choose(self, job_class, observation):
            seen.add((job_class.name, observation.waiting))
            return {observation.idle: 1.0}

    trace = make_trace([0, 1, 2, 3], [10, 10, 10, 10], [2, 2, 2, 2], capacity=2)
    replay(trace, Watching(), judged_from=0.0, least=1.0, **QUICK)
    assert {waiting for _, waiting in seen} == {0, 1, 2}
    assert {name for name, _ in seen} == {"jobs on 2"}


@pytest.mark.usefixtures("few_candidates")
def test_tuning_uses_only_the_jobs_before_those_judged(week):
    half = len(week) // 2
    later = changed(week, run_time=week.run_time.copy(), servers=week.servers.copy())
    later.run_time[half:] *= 3.0
    first, second = (replay(each, "tuned", servers=64, **QUICK).tuned for each in (week, later))
    assert first == second


@pytest.mark.usefixtures("few_candidates")
def test_tuning_finds_a_policy_better_than_the_default_where_it_was_tuned(week):
    half = week.select(slice(0, len(week) // 2))
    tuned = replay(week, "tuned", servers=64, **QUICK).tuned
    found = replay(
        half, {"tuned": tuned, "default": "even-price"}, servers=64, judged_from=0.0, **QUICK
    )
    assert found["tuned"].figures.mean_response <= 1.005 * found["default"].figures.mean_response


def test_the_same_seed_gives_the_same_figures_and_another_does_not(week):
    first, again, other = (
        replay(week, "greedy", servers=64, copies=6, seed=seed).to_dict() for seed in (1, 1, 2)
    )
    assert first == again
    assert first["runs"] != other["runs"]


def test_classes_have_figures_of_their_own(week):
    found = replay(week, "idle-share", servers=64, **QUICK)
    parts = found["idle-share"].classes
    assert {part.name for part in parts} == {"train", "eval", "solve"}
    assert sum(part.jobs for part in parts) == found.jobs
    mean = sum(part.jobs * part.mean_response for part in parts) / found.jobs
    assert mean == pytest.approx(found["idle-share"].figures.mean_response, rel=1e-12)


def test_intervals_of_medians_have_their_coverage():
    rng = np.random.default_rng(3)
    for copies, trimmed in ((7, 0), (9, 1), (20, 5)):
        values = rng.exponential(1.0, (4000, copies))
        inside = 0
        for row in values:
            low, high = median(row.tolist()).interval
            assert (low, high) == (sorted(row)[trimmed], sorted(row)[copies - 1 - trimmed])
            inside += low <= math.log(2.0) <= high
        assert inside / 4000 > 0.95 - 4 * math.sqrt(0.05 * 0.95 / 4000)
    assert median([1.0, 2.0, 3.0]).interval is None


def test_jobs_wider_than_the_cluster_are_left_out_and_counted():
    trace = make_trace([0, 1, 2, 3], [5, 5, 5, 5], [1, 9, 2, 2], capacity=4)
    found = replay(trace, "greedy", judged_from=0.0, **QUICK)
    assert (found.left_out, found.jobs) == (1, 3)
    with pytest.raises(SimulationError, match=r"servers=1 is too few: 3 of 4 jobs ran on more"):
        replay(trace, "greedy", servers=1, **QUICK)


def test_curves_relative_to_the_request_are_those_of_the_model():
    for text, request, same in (
        ("downey:p:1", 8, SpeedUp.downey(8, 1, 8)),
        ("downey:2p:0.5", 8, SpeedUp.downey(16, 0.5, 8)),
        ("downey:0.5p:2", 8, SpeedUp.downey(4, 2, 8)),
        ("amdahl:0.95", 8, SpeedUp.amdahl(0.95, 8)),
        ("power:0.8", 8, SpeedUp.power_law(0.8, 8)),
        ("linear", 8, SpeedUp.linear(8)),
        ("amdahl:0.95:64", 8, SpeedUp.amdahl(0.95, 64)),
    ):
        assert as_request_curve(text).at(request, 8) == same


def test_classes_may_have_different_curves():
    trace = make_trace(
        [0, 1, 1000, 1001], [60] * 4, [4] * 4, classes=("a", "b"), labels=[0, 0, 1, 1], capacity=6
    )
    found = replay(
        trace, "greedy", curves={"a": "linear", "b": "power:0.5"}, judged_from=0.0, **QUICK
    )
    a, b = found["greedy"].classes
    assert a.mean_response == pytest.approx((60 + 120) / 2)
    assert b.mean_response == pytest.approx((60 + 60 * math.sqrt(2)) / 2)


class Refusing(Policy):
    def decide(self, job_class, idle):  # noqa: ARG002
        return {0: 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"least": 0.0}, r"least=0 must be above 0 and at most 1"),
        ({"least": 1.5}, r"least=1.5 must be above 0"),
        ({"least": "half"}, r"least='half' is not a number"),
        ({"most": 0.5}, r"most=0.5 must be from 1"),
        ({"discipline": "sjf"}, r"discipline='sjf' is unknown"),
        ({"judged_from": 1.0}, r"judged_from=1 must be from 0 to below 1"),
        ({"copies": -1}, r"copies=-1 must be a whole number from 0"),
        ({"shift": -1.0}, r"shift=-1 must be from 0"),
        ({"seed": -1}, r"seed=-1"),
        ({"servers": 0}, r"servers=0"),
        ({"curves": "downey:q:1"}, r"'q' is neither a number nor a multiple of p"),
        ({"curves": "downy:p:1"}, r"unknown model 'downy'"),
        ({"curves": "1=1,2=1.9,8=7"}, r"has no width 3, on which \d+ jobs of the log ran"),
        ({"curves": {"c": "linear"}}, r"name the class 'c', which the log does not have"),
        ({"curves": {"a": "linear"}}, r"class 'b' has no curve"),
        ({"policies": "equi"}, r"equi moves servers between running jobs"),
        ({"policies": "greedyy"}, r"unknown policy 'greedyy'"),
        ({"policies": Refusing()}, r"may refuse a job of class .* would wait for ever"),
        ({"policies": {"rigid EASY": "greedy"}}, r"is the name of a baseline"),
        ({"policies": ["greedy", "greedy"]}, r"two policies are called 'greedy'"),
        ({"policies": "tuned", "judged_from": 0.0}, r"first part of the log has 0 jobs"),
        ({"policies": 3}, r"not a list"),
    ],
)
def test_bad_requests_are_refused_with_a_way_out(options, message):
    with pytest.raises(MoldableError, match=message):
        replay(random_trace(1), options.pop("policies", "greedy"), **(QUICK | options))


def test_a_trace_is_needed_with_jobs_and_servers():
    with pytest.raises(SimulationError, match=r"pass a trace: read_trace"):
        replay([1.0, 2.0], "greedy")
    trace = random_trace(1)
    with pytest.raises(SimulationError, match=r"the log has no job"):
        replay(trace.select(slice(0, 0)), "greedy")
    with pytest.raises(SimulationError, match=r"does not have the number of servers; give it"):
        replay(changed(trace, capacity=None), "greedy")


def test_tables_that_would_not_fit_into_memory_are_refused(monkeypatch):
    wide = make_trace([0, 1], [5, 5], [2_000, 3], capacity=100_000)
    with pytest.raises(PolicyError, match=r"needs a table of 100,001 idle counts"):
        replay(wide, EvenPrice(0.4, 10.0), judged_from=0.0, **QUICK)
    many = make_trace(np.arange(40), np.ones(40), 1_000_000 + np.arange(40), capacity=2_000_000)
    with pytest.raises(WorkloadError, match=r"widths together, but at most 30,000,000 are kept"):
        replay(many, "greedy", judged_from=0.0, **QUICK)
    monkeypatch.setattr(decision_rows, "MOST_CELLS", 100)
    with pytest.raises(PolicyError, match=r"needs more than 11 rows .* count whole nodes instead"):
        replay(random_trace(1, jobs=200), IdleShare(), judged_from=0.0, **QUICK)
