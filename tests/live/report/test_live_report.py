"""Reports cover the truth, warn of what has changed and seldom of anything else."""

from __future__ import annotations

import io
import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from live.clusters import Remembered, journal, sacct, slower, with_classes
from moldable import JobClass, Scenario, Workload, evaluate, value_policy
from moldable.errors import InputError
from moldable.live.plan_file import read_plan, write_plan
from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal
from moldable.live.report import live_report
from moldable.live.report.comparison import ABSOLUTE, RELATIVE, differing
from moldable.policies import queue_value_policy

LOSS = replace(Scenario.single([1, 1.8, 2.5], 0.8, 10), time_unit="minutes")
QUEUE = Scenario.single([1, 1.8, 2.5], 0.6, 10, waiting="unlimited")
TWO = Scenario(
    Workload([JobClass("a", 3.0, [1, 1.8, 2.5]), JobClass("b", 1.0, {2: 1.7, 4: 3.0}, 2.0)]), 10
)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Return the plan of a scenario, as a file would give it, and a quick form of its policy."""
    folder, kept = tmp_path_factory.mktemp("plans"), {}

    def plan(scenario):
        if scenario not in kept:
            made = queue_value_policy if scenario.waiting else lambda s: value_policy(s, 10.0)
            policy = made(scenario)
            path = folder / f"{len(kept)}.json"
            write_plan(path, policy, evaluate(scenario, policy))
            kept[scenario] = read_plan(path), Remembered(policy)
        return kept[scenario]

    return plan


@pytest.fixture
def reported(planned, tmp_path):
    """Report on a simulated cluster that may differ from the plan's scenario."""

    def report(scenario, truth=None, *, jobs=3000, seed=1, together=1, **options):
        plan, policy = planned(scenario)
        path = tmp_path / f"{seed}-{jobs}-{len(list(tmp_path.iterdir()))}.jsonl"
        entries = journal(truth or scenario, policy, jobs, seed, plan.digest)
        if together > 1:
            drawn = list(poisson_jobs(scenario, jobs, seed))
            times = [job.submitted for job in drawn[::together] for _ in range(together)]
            drawn = [job._replace(submitted=t) for job, t in zip(drawn, times, strict=True)]
            entries = rehearse(scenario, policy, drawn, plan.digest)
        write_journal(path, entries)
        return live_report(path, plan, **{"grace": 0.0, **options})

    return report


@pytest.mark.long
@pytest.mark.parametrize("scenario", [LOSS, QUEUE, TWO], ids=["loss", "queue", "two classes"])
def test_intervals_cover_the_truth_and_false_alarms_are_rare(scenario, reported):
    # The predictions are exact, and the clusters are as planned.
    reports = [reported(scenario, seed=seed) for seed in range(60)]
    inside = {}
    for report in reports:
        for each in report.figures:
            if each.observed.interval is not None and each.jobs >= 30:
                low, high = each.observed.interval
                inside.setdefault(each.figure, []).append(low <= each.expected <= high)
    assert len(inside) == (5 if scenario.waiting else 4)
    assert 0.92 <= np.mean([hit for hits in inside.values() for hit in hits]) <= 0.98
    assert min(map(np.mean, inside.values())) > 0.88  # 60 journals: 3 standard errors are 8 %
    # One in a hundred is allowed; three of sixty would have a probability of 2 %.
    assert sum(bool(report.warnings) for report in reports) < 3


@pytest.fixture(params=[1, pytest.param(5, marks=pytest.mark.long)])
def seeds(request):
    return request.param


@pytest.mark.parametrize("scenario", [LOSS, QUEUE], ids=["loss", "queue"])
@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_a_load_that_drifts_by_a_fifth_is_noticed_and_the_rate_is_given(
    scenario, factor, reported, seeds
):
    for seed in range(seeds):
        report = reported(scenario, scenario.at_load(scenario.load * factor), seed=seed, jobs=4000)
        (rate,) = [each for each in report.figures if each.figure == "arrival rate"]
        assert rate.differs
        assert f"plan again with arrival_rate = {rate.observed:.4g}" in report.warnings[0]
        assert rate.ratio == pytest.approx(factor, rel=0.06)


def test_a_width_that_is_slower_than_its_curve_by_a_tenth_is_named(reported, seeds):
    named = []
    for seed in range(seeds):
        report = reported(LOSS, slower(LOSS, 2, 1.1), seed=seed, jobs=30_000)
        named += [each.width for each in report.figures if each.figure == "execution time"
                  and each.differs]  # fmt: skip
        assert "at width 2 jobs take" in " ".join(report.warnings)
        assert "min instead of 0.5556 min (+" in " ".join(report.warnings)
    assert named == [2] * seeds


def test_jobs_that_are_longer_at_every_width_are_one_warning(reported):
    (jobs,) = LOSS.workload.classes
    report = reported(LOSS, with_classes(LOSS, replace(jobs, mean_size=1.25)), jobs=15_000)
    told = [text for text in report.warnings if "sizes have changed" in text]
    assert len(told) == 1
    assert "longer than planned at every width" in told[0]
    factor = float(told[0].partition("mean_size ")[2].split()[0])
    assert factor == pytest.approx(1.25, rel=0.05)


@pytest.mark.parametrize(
    "damage",
    [{}, {"blocking": "x"}, {"blocking": -1.0}, {"width_shares": [1]}]
    + [{"width_shares": {width: 1.0}} for width in ("1.5", "0", "-1")],
)
def test_predictions_that_the_plan_does_not_have_are_computed(planned, reported, damage):
    stored = reported(TWO)
    plan, _ = planned(TWO)
    classes = plan.expected["classes"]
    assert classes
    damaged = {"classes": [classes[0] | damage, *classes[1:]]} if damage else {}
    without = replace(plan, expected=damaged)
    path = stored.source
    computed = live_report(path, without, grace=0.0)
    for one, two in zip(stored.figures, computed.figures, strict=True):
        assert (one.figure, one.width, one.observed) == (two.figure, two.width, two.observed)
        assert one.expected == pytest.approx(two.expected, rel=1e-9)


def test_figures_are_in_the_unit_of_the_plan(reported):
    report = reported(LOSS, jobs=20_000)
    found = {(each.figure, each.width): each for each in report.figures}
    assert found["arrival rate", None].expected == 8.0
    assert found["execution time", 1].observed == pytest.approx(1.0, rel=0.1)
    assert report.span == pytest.approx(20_000 / 8.0, rel=0.05)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["time_unit"] == "minutes"
    assert data["figures"][0]["observed_interval"] == list(report.figures[0].observed.interval)
    assert data["inputs"]["scenario"] == LOSS.to_dict()


def test_other_classes_other_plans_and_unknown_widths_are_noted(planned, tmp_path):
    plan, policy = planned(LOSS)
    entries = journal(LOSS, policy, 200, 1, plan.digest)
    entries += [replace(entries[0], job="x", job_class="guests")]
    entries += [replace(entries[0], job="y", event="granted", width=7, plan="another")]
    write_journal(tmp_path / "j.jsonl", entries)
    notes = " ".join(live_report(tmp_path / "j.jsonl", plan).notes)
    assert "1 records are of other classes than the plan's (jobs)" in notes
    assert "1 of 201 decisions were made under another plan" in notes
    assert "1 jobs had a width that the plan's curve does not have" in notes


def test_ends_that_were_never_recorded_do_not_make_jobs_endless(planned, tmp_path):
    plan, policy = planned(LOSS)
    entries = journal(LOSS, policy, 3000, 1, plan.digest)
    lost = [e for k, e in enumerate(entries) if e.event != "ended" or k % 10]
    write_journal(tmp_path / "all.jsonl", entries)
    write_journal(tmp_path / "lost.jsonl", lost)
    whole, some = (live_report(tmp_path / f"{name}.jsonl", plan) for name in ("all", "lost"))
    assert any("was not recorded" in note for note in some.notes)
    times = [{e.width: e.observed for e in r.figures if e.figure == "execution time"}
             for r in (whole, some)]  # fmt: skip
    for width in (1, 2):
        assert times[1][width] == pytest.approx(times[0][width], rel=0.1)


def test_jobs_that_ended_while_no_agent_ran_change_no_figure(planned, tmp_path):
    plan, policy = planned(QUEUE)
    entries = journal(QUEUE, policy, 3000, 1, plan.digest)
    ends = [k for k, entry in enumerate(entries) if entry.event == "ended"]
    lost = set(ends[500:504])
    write_journal(tmp_path / "j.jsonl", [e for k, e in enumerate(entries) if k not in lost])
    report = live_report(tmp_path / "j.jsonl", plan)
    assert report.warnings == ()
    assert any("the end of 4 jobs was not recorded" in note for note in report.notes)


def test_a_log_without_the_plans_classes_is_refused(planned, tmp_path):
    plan, policy = planned(LOSS)
    entries = [replace(e, job_class="others") for e in journal(LOSS, policy, 20, 1)]
    write_journal(tmp_path / "j.jsonl", entries)
    with pytest.raises(InputError, match=r"no job of the plan's classes \(jobs\)"):
        live_report(tmp_path / "j.jsonl", plan)


@pytest.mark.parametrize("grace", [-1, math.inf, math.nan])
def test_a_grace_that_is_no_time_is_refused(planned, tmp_path, grace):
    with pytest.raises(InputError, match="grace"):
        live_report(tmp_path / "j.jsonl", planned(LOSS)[0], grace=grace)


@pytest.mark.parametrize(
    "comment",
    [
        lambda e: f"moldable:{e.job_class};width={e.width};idle=3|",
        lambda e: f"my own words|moldable:{e.job_class};width={e.width}",
    ],
    ids=["of the user", "of the administrator"],
)
def test_the_accounting_of_slurm_gives_the_same_figures_as_the_journal(comment, planned, tmp_path):
    scenario = with_classes(QUEUE, JobClass("solver", 6.0, [1, 1.8, 2.5]))
    scenario = replace(scenario, time_unit="hours")
    plan, policy = planned(scenario)
    entries = journal(scenario, policy, 3000, 3, plan.digest)
    write_journal(tmp_path / "journal.jsonl", entries)
    others = "9999999|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:01|60|1||\n"
    (tmp_path / "sacct.txt").write_text(sacct(entries, comment) + others)
    own = live_report(tmp_path / "journal.jsonl", plan)
    slurm = live_report(tmp_path / "sacct.txt", plan)
    assert any("of other classes" in note for note in slurm.notes)
    assert slurm.warnings == ()
    assert len(own.figures) == len(slurm.figures)
    for one, two in zip(own.figures, slurm.figures, strict=True):
        assert (one.figure, one.width) == (two.figure, two.width)
        assert two.observed == pytest.approx(one.observed, rel=0.03, abs=0.003)


def test_a_journal_and_accounting_are_read_from_standard_input(planned, tmp_path, monkeypatch):
    plan, policy = planned(QUEUE)
    entries = journal(QUEUE, policy, 300, 3, plan.digest)
    path = tmp_path / "journal.jsonl"
    write_journal(path, entries)
    accounting = tmp_path / "sacct.txt"
    accounting.write_text(sacct(entries, lambda e: f"moldable:{e.job_class}|"))
    for log in (path, accounting):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(log.read_bytes())))
        monkeypatch.setattr(sys, "stdin", stream)
        assert live_report("-", plan).figures == live_report(log, plan).figures
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO())))
    with pytest.raises(InputError, match="standard input is empty"):
        live_report("-", plan)


def test_accounting_without_comments_says_which_column_is_missing(planned, tmp_path):
    (tmp_path / "s.txt").write_text(
        "JobID|State|Submit|Start|ElapsedRaw|AllocCPUS\n"
        "1|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:01|60|1\n"
    )
    with pytest.raises(InputError, match="add admincomment or comment to sacct --format"):
        live_report(tmp_path / "s.txt", planned(LOSS)[0])


def test_holms_procedure_rejects_in_the_order_of_the_p_values():
    values = {"a": 0.0024, "b": 0.004, "c": None, "d": 0.02, "e": 0.0001}
    assert differing(values, 0.01) == {"a", "b", "e"}  # 0.0001 < 0.01/4, 0.0024 < 0.01/3, ...
    assert differing({"a": 0.0034, "b": 0.0034, "c": 0.0034}, 0.01) == set()
    assert differing({}, 0.01) == set()


def test_differences_that_do_not_matter_are_small():
    assert max(RELATIVE.values()) <= 0.1
    assert max(ABSOLUTE.values()) <= 0.02


def test_what_follows_from_a_cause_is_one_line_and_what_has_none_is_told_what_to_look_for(reported):
    busier = reported(LOSS, LOSS.at_load(1.2), jobs=10_000)
    follows = [text for text in busier.warnings if "perhaps as a consequence" in text]
    assert len(follows) == 1
    assert "blocking" in follows[0]
    # The rates and times are as planned, but jobs come in groups of four.
    bursts = reported(LOSS, together=4, jobs=20_000)
    told = [text for text in bursts.warnings if "look for bursty arrivals" in text]
    assert any(text.startswith("class jobs: blocking is") for text in told)
    assert not any("plan again" in text for text in bursts.warnings)
