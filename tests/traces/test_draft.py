from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from moldable import Scenario, SpeedUp, read_trace, tune
from moldable.errors import InputError, MoldableError
from moldable.planning.from_log import drafted as planned
from moldable.traces import draft_scenario
from moldable.traces.draft import speedup_at
from moldable.traces.size_fit import fit_size_law, weibull_shape

EXAMPLE = Path(__file__).parents[2] / "examples" / "slurm-week.txt"
RULE = "name:^(train|eval|solve)"


def drafted(tmp_path, trace, **options) -> Scenario:
    path = tmp_path / "draft.toml"
    path.write_text(draft_scenario(trace, **options))
    return Scenario.read(path)


def test_rates_and_sizes_are_those_of_the_log(tmp_path):
    trace = read_trace(EXAMPLE, class_by=RULE)
    scenario = drafted(tmp_path, trace, servers=64, curve="amdahl:0.9", time_unit="minutes")
    assert scenario.servers == 64
    assert math.isinf(scenario.waiting)
    assert scenario.time_unit == "minutes"
    for job_class in scenario.workload.classes:
        chosen = trace.job_class == trace.classes.index(job_class.name)
        span = (trace.submit[-1] - trace.submit[0]) / 60
        assert job_class.arrival_rate == pytest.approx(chosen.sum() / span, rel=1e-5)
        # Amdahl's law, written out: 1 / (0.1 + 0.9 / w).
        sizes = trace.run_time[chosen] / (0.1 + 0.9 / trace.servers[chosen])
        assert job_class.mean_size == pytest.approx(sizes.mean() / 60, rel=1e-5)
        asked = trace.servers[chosen]
        common = [w for w in set(asked.tolist()) if 5 * (asked >= w).sum() >= asked.size]
        assert job_class.speedup.widths[-1] == max(common)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.5, 1.0])
def test_a_class_is_not_wider_than_a_share_of_its_jobs_asked_for(tmp_path, share):
    trace = read_trace(EXAMPLE, class_by=RULE)
    scenario = drafted(tmp_path, trace, servers=64, widest=share)
    whole = drafted(tmp_path, trace, servers=64, widest=0)
    for job_class, other in zip(scenario.workload.classes, whole.workload.classes, strict=True):
        asked = trace.servers[trace.job_class == trace.classes.index(job_class.name)]
        common = [w for w in set(asked.tolist()) if (asked >= w).sum() >= share * asked.size]
        assert job_class.speedup.widths[-1] == max(common)
        # Sizes follow from the recorded widths, whatever the allowed ones are.
        assert job_class.mean_size == other.mean_size
    text = " ".join(draft_scenario(trace, servers=64, widest=share).replace("\n#", " ").split())
    assert ("The widest planned width is 4: 13 % of the jobs asked for more." in text) == (
        share == 0.2
    )


def test_only_guessed_curves_are_limited_unless_asked_for(tmp_path):
    trace = read_trace(EXAMPLE, class_by=RULE)
    for curve, widest in (("power:0.8", 4), ("power:0.8:16", 16), ("1=1,4=3,16=8", 16)):
        found = drafted(tmp_path, trace, servers=64, curve={"train": curve})
        (train,) = (part for part in found.workload.classes if part.name == "train")
        assert train.speedup.widths[-1] == widest, curve
        limited = drafted(tmp_path, trace, servers=64, curve={"train": curve}, widest=0.2)
        (train,) = (part for part in limited.workload.classes if part.name == "train")
        assert train.speedup.widths[-1] == 4, curve
    wide = drafted(tmp_path, trace, servers=64, curve={"eval": "8=6,16=9"}, widest=0.2)
    (narrowest,) = (part for part in wide.workload.classes if part.name == "eval")
    assert narrowest.speedup.widths.tolist() == [8]
    with pytest.raises(InputError, match=r"widest=1.5 must be from 0 to 1; 0.2 is 20 %"):
        draft_scenario(trace, widest=1.5)


def test_a_plan_of_a_log_says_where_its_curves_are_guesses():
    trace = read_trace(EXAMPLE, class_by=RULE)
    asked = trace.servers[trace.job_class == trace.classes.index("train")]
    fewer, more = (100 * share for share in ((asked < 4).mean(), (asked > 4).mean()))
    note = next(note for note in planned(trace, servers=64).notes if "guess" in note)
    assert "a job may get more servers than its user asked for" in note
    assert f"train 4 ({fewer:.3g} % of the jobs asked for fewer, {more:.3g} % for more)" in note
    assert "--widest SHARE" in note


def test_what_a_short_log_does_not_show_is_called_unknown(log):
    notes = planned(read_trace(log("submit,run_time,servers\n0,60,2\n30,90,4\n"))).notes
    assert "2 jobs of log.txt; 6 servers, the most in use at a time" in notes[0]
    assert "the times between them is unknown (Poisson: 1)" in notes[3]


def test_on_linear_curves_the_load_is_the_offered_load_of_the_log(tmp_path):
    trace = read_trace(EXAMPLE, class_by=RULE)
    scenario = drafted(tmp_path, trace, servers=64, curve="linear")
    work = (trace.run_time * trace.servers).sum()
    assert scenario.load == pytest.approx(work / (64 * trace.span), rel=1e-5)


def test_a_drafted_scenario_can_be_tuned(log, tmp_path):
    rng = np.random.default_rng(1)
    rows = zip(np.cumsum(rng.exponential(60, 400)), rng.exponential(90, 400), strict=True)
    text = "submit,run_time,servers\n" + "".join(f"{s},{r},1\n" for s, r in rows)
    scenario = drafted(tmp_path, read_trace(log(text)), servers=4, curve="1,1.5")
    assert str(scenario.workload.classes[0].size) == "exponential"
    answer = tune(scenario)
    assert answer.optimum is not None
    assert answer.performance.method == "chain"


def test_every_assumption_is_a_comment():
    trace = read_trace(EXAMPLE, class_by=RULE)
    text = draft_scenario(trace, servers=64)
    gaps = np.diff(trace.submit)
    plain = " ".join(text.replace("\n#", " ").split())
    for told in (
        "Drafted from slurm-week.txt: 512 jobs",
        "a log does not show one job at several widths",
        "size = run time x speed-up of the recorded width",
        "Jobs ran at the widths that users asked for",
        "Arrivals are taken to be Poisson",
        f"coefficient of variation of {gaps.std() / gaps.mean():.3g} (Poisson: 1)",
        f'arrivals = "renewal:{gaps.std() / gaps.mean():.3g}"',
        "The curve power:0.8 is a guess",
        "no curve was inferred from them",
        "All are powers of two, so only these are allowed",
        "gpus, as given",
    ):
        assert told in plain, told
    given = draft_scenario(read_trace(EXAMPLE), servers=64, curve="amdahl:0.9")
    assert "is a guess" not in given


def test_curves_may_differ_by_class_and_come_from_anywhere(tmp_path):
    trace = read_trace(EXAMPLE, class_by=RULE)
    curves = {"train": SpeedUp({1: 1, 2: 1.9, 4: 3.5}), "solve": "1=1,8=6,32=16"}
    scenario = drafted(tmp_path, trace, servers=64, curve=curves)
    found = {part.name: part.speedup for part in scenario.workload.classes}
    assert found["train"].widths.tolist() == [1, 2, 4]
    assert found["solve"][8] == 6
    assert found["eval"].widths.tolist() == [1]  # 5 % of the jobs asked for 2
    with pytest.raises(InputError, match=r"curve='trian' is not a class; did you mean 'train'"):
        draft_scenario(trace, curve={"trian": "linear"})
    with pytest.raises(MoldableError, match=r"class 'eval': model 'amdahl:2:3:4'"):
        draft_scenario(trace, curve="amdahl:2:3:4")


def test_speedups_between_measured_widths_are_interpolated():
    curve = SpeedUp({2: 1.8, 4: 3.0, 8: 4.0})
    found = speedup_at(curve, np.array([1, 2, 3, 4, 6, 8, 20]))
    assert found == pytest.approx([0.9, 1.8, 2.4, 3.0, 3.5, 4.0, 4.0])


@pytest.mark.parametrize(
    "name", ['quo"te', "back\\slash", "new\x85line", "t\x7fab", "#", "[[class]]"]
)
def test_odd_names_of_classes_are_written_as_text(log, tmp_path, name):
    path = log(f"submit;run_time;servers;class\n0;60;2;{name}\n9;60;2;{name}\n")
    trace = read_trace(path, class_by="class")
    text = draft_scenario(trace)
    (only,) = tomllib.loads(text)["class"]
    assert only["name"] == name or not name.isprintable()
    assert drafted(tmp_path, trace).workload.classes[0].arrival_rate > 0


def test_jobs_submitted_at_one_time_have_no_rate(log):
    trace = read_trace(log("submit,run_time,servers\n0,60,2\n0,90,4\n"))
    with pytest.raises(InputError, match=r"all jobs were submitted at the same time"):
        draft_scenario(trace)


@pytest.mark.parametrize("unit", ["seconds", "minutes", "hours", "days"])
def test_the_unit_of_time_suits_the_run_times(log, unit):
    length = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}[unit]
    text = f"submit,run_time,servers\n0,{3 * length},2\n9,{3 * length},4\n"
    assert f'time_unit = "{unit}"' in draft_scenario(read_trace(log(text)))


@pytest.mark.parametrize(
    ("law", "draw"),
    [
        ("exponential", lambda rng: rng.exponential(5.0, 20_000)),
        ("lognormal", lambda rng: rng.lognormal(1.0, 1.2, 20_000)),
        ("lognormal", lambda rng: rng.lognormal(1.0, 0.3, 20_000)),
        ("weibull", lambda rng: rng.weibull(0.5, 20_000)),
        ("weibull", lambda rng: rng.weibull(3.0, 20_000)),
        ("deterministic", lambda _: np.full(100, 7.0)),
        (
            "hyperexponential",
            lambda rng: rng.exponential(rng.choice([0.5, 20.0], 20_000, p=[40 / 41, 1 / 41])),
        ),
    ],
)
def test_the_law_that_sizes_were_drawn_from_is_found(law, draw):
    fit = fit_size_law(draw(np.random.default_rng(3)))
    assert fit.law.split(":")[0] == law
    assert fit.distance < 0.03


def test_the_shape_of_a_weibull_law_follows_from_its_variation():
    for shape in (0.4, 0.7, 1.0, 2.5, 9.0):
        law = stats.weibull_min(shape)
        assert weibull_shape(law.std() / law.mean()) == pytest.approx(shape, rel=1e-9)
