"""Questions: checked data, scenarios, files."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.questions import GAPS, JOBS, LOSS, PLACES, QUEUE, ROOT, gpus
from moldable import Scenario, SpeedUp, evaluate, value_policy
from moldable.errors import MoldableError
from moldable.explorer.question import ClassInput, Question, is_curve, read_question
from moldable.live.plan_file import write_plan

CASES = {"loss": LOSS, "queue": QUEUE, "places": PLACES, "gaps": GAPS, "classes": gpus()}
cases = pytest.mark.parametrize("question", CASES.values(), ids=CASES.keys())


@cases
def test_a_question_survives_json(question):
    text = json.dumps(question.to_data(), allow_nan=False)
    assert Question.from_data(json.loads(text)) == question


@cases
def test_its_file_gives_the_same_scenario_to_the_last_digit(question, tmp_path):
    (tmp_path / "question.toml").write_text(question.to_toml())
    assert Scenario.read(tmp_path / "question.toml") == question.scenario()


@cases
def test_a_question_of_its_scenario_gives_the_same_rates(question):
    again = Question.from_scenario(question.scenario()).scenario()
    rates = [part.arrival_rate for part in question.scenario().workload.classes]
    assert [part.arrival_rate for part in again.workload.classes] == pytest.approx(rates, rel=1e-12)
    assert again.waiting == question.waiting


def test_one_class_is_the_scenario_of_the_options():
    options = Scenario.single(list(JOBS.speedup), 0.8, 8)
    assert LOSS.scenario() == options


def test_shares_are_those_of_the_arriving_jobs():
    classes = (replace(JOBS, share=3.0, mean_size=2.0), replace(JOBS, name="b", share=1.0))
    scenario = Question(classes, servers=14, load=0.5).scenario()
    # Work for 7 servers arrives; 3/4 of the jobs bring 2 and 1/4 bring 1: 4 jobs per unit of time.
    assert [part.arrival_rate for part in scenario.workload.classes] == pytest.approx([3.0, 1.0])
    assert scenario.load == pytest.approx(0.5)


BAD = {
    "no object": [1, 2],
    "unknown key": {"colour": "red"},
    "no classes": {"classes": []},
    "nine classes": {"classes": [{"name": f"c{k}", "speedup": [1]} for k in range(9)]},
    "equal names": {"classes": [{"name": "a", "speedup": [1]}] * 2},
    "many servers": {"servers": 10**6 + 1},
    "half a server": {"servers": 1.5},
    "text for servers": {"servers": "8"},
    "true for servers": {"servers": True},
    "load 0": {"load": 0},
    "endless load": {"load": math.inf},
    "no load": {"load": None},
    "waiting -1": {"waiting": -1},
    "waiting text": {"waiting": "some"},
    "unknown size": {"size": "gamma:2"},
    "size of a file": {"size": "../../etc/sizes.csv"},
    "size of standard input": {"size": "-"},
    "size as a number": {"size": 4},
    "arrivals of a file": {"arrivals": "times.csv"},
    "arrivals with the law of a file": {"arrivals": "renewal:/tmp/x.csv"},
    "arrivals with the law of standard input": {"arrivals": "renewal:-"},
    "arrivals too long": {"arrivals": "mmpp:" + "1," * 1000},
    "unknown target": {"target": ["max_cost", 1]},
    "target without a value": {"target": ["max_blocking"]},
    "blocking above 1": {"target": ["max_blocking", 1.5]},
    "target of a queue": {"target": ["max_mean_wait", 1]},
    "target as text": {"target": "max_blocking"},
    "target of lists": {"target": [["max_blocking"], [0.1]]},
    "unknown unit": {"time_unit": "fortnights"},
    "negative seed": {"seed": -1},
    "curve of a file": {"classes": [{"name": "a", "speedup": "/etc/passwd.csv"}]},
    "curve of phases with a file": {
        "classes": [{"name": "a", "speedup": "0.5*linear:2+0.5*x.csv"}]
    },
    "no curve": {"classes": [{"name": "a"}]},
    "curve of 1025 widths": {"classes": [{"name": "a", "speedup": [1] * 1025}]},
    "text of 1025 widths": {"classes": [{"name": "a", "speedup": "linear:1025"}]},
    "negative speed-up": {"classes": [{"name": "a", "speedup": [1, -2]}]},
    "nested speed-up": {"classes": [{"name": "a", "speedup": [[1]]}]},
    "widths missing": {"classes": [{"name": "a", "speedup": [1, 2], "widths": [1]}]},
    "width twice": {"classes": [{"name": "a", "speedup": [1, 2], "widths": [1, 1]}]},
    "width 0": {"classes": [{"name": "a", "speedup": [1, 2], "widths": [0, 1]}]},
    "wider than the cluster": {"classes": [{"name": "a", "speedup": [9], "widths": [16]}]},
    "no name": {"classes": [{"name": "", "speedup": [1]}]},
    "name as a list": {"classes": [{"name": ["a"], "speedup": [1]}]},
    "share 0": {"classes": [{"name": "a", "speedup": [1], "share": 0}]},
    "size of a class in a file": {"classes": [{"name": "a", "speedup": [1], "size": "a.csv"}]},
    "class as text": {"classes": ["a"]},
    "classes as an object": {"classes": {"a": 1}},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_bad_values_are_refused_with_a_message(change):
    data = LOSS.to_data() | change if isinstance(change, dict) else change
    with pytest.raises(MoldableError) as caught:
        Question.from_data(data)
    assert len(str(caught.value)) > 20


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(key=st.sampled_from(sorted(LOSS.to_data())), value=VALUES)
def test_any_value_of_json_is_accepted_or_refused(key, value):
    try:
        question = Question.from_data(LOSS.to_data() | {key: value})
    except MoldableError:
        return
    assert question.scenario().servers == question.servers


@given(key=st.sampled_from(sorted(JOBS.to_data())), value=VALUES)
def test_any_value_of_a_class_is_accepted_or_refused(key, value):
    try:
        ClassInput.from_data(JOBS.to_data() | {key: value})
    except MoldableError:
        return


def test_a_curve_may_be_text():
    part = ClassInput.from_data({"name": "a", "speedup": "amdahl:0.9:4"})
    assert part.curve == SpeedUp.amdahl(0.9, 4)
    assert ClassInput.from_data({"name": "a", "speedup": "1=1,4=3"}).widths == (1, 4)


def test_times_of_targets_are_read_with_their_units():
    asked = replace(gpus(), target=("max_time", "90 min"))
    assert asked.target == ("max_time", 1.5)


def test_a_plan_is_read_as_the_question_that_it_answers(tmp_path):
    policy = value_policy(LOSS.scenario(), 4.0)
    write_plan(tmp_path / "plan.json", policy, evaluate(LOSS.scenario(), policy))
    assert read_question(tmp_path / "plan.json") == replace(LOSS, target=None)


def test_a_log_becomes_a_question_with_its_assumptions():
    question = read_question(ROOT / "examples" / "slurm-week.txt", class_by="account")
    assert len(question.classes) == 3
    assert math.isinf(question.waiting)
    assert any("Poisson" in note for note in question.notes)


def test_a_curve_becomes_a_question_on_an_example_cluster(tmp_path):
    shutil.copy(ROOT / "examples" / "measured.csv", tmp_path / "Curve.CSV")
    question = read_question(tmp_path / "Curve.CSV")
    assert question.classes[0].curve.widths[0] == 1
    assert "examples" in question.notes[0]


def test_a_csv_log_is_no_curve(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit,runtime,cpus\n0,60,2\n30,90,4\n60,30,1\n90,20,1\n")
    assert not is_curve(path)
    assert read_question(path).time_unit is not None


def test_a_comment_above_the_header_does_not_hide_a_curve(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("# submit 3 runs of each\n\nCores;Time (s)\n1;60\n2;35,5\n")
    assert is_curve(path)


def test_errors_about_a_curve_name_its_line(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("width,time\n1,60\n2,x\n")
    with pytest.raises(MoldableError, match="line 3"):
        read_question(path)


def test_measured_sizes_are_replaced_and_noted(tmp_path):
    (tmp_path / "sizes.csv").write_text("size\n" + "\n".join(map(str, range(1, 50))))
    path = tmp_path / "measured.toml"
    path.write_text(
        'servers = 4\n[[class]]\nname = "a"\narrival_rate = 0.01\nspeedup = [1, 1.8]\n'
        'size = "sizes.csv"\n'
    )
    question = read_question(path)
    assert question.size.startswith("lognormal:0.56")
    assert any("sizes.csv" in note for note in question.notes)


def test_curves_with_too_many_widths_are_thinned(tmp_path):
    path = tmp_path / "wide.toml"
    path.write_text('servers = 5000\n[[class]]\narrival_rate = 9\nspeedup = "power:0.8:4000"\n')
    question = read_question(path)
    widths = question.classes[0].widths
    assert widths is not None
    assert (len(widths) <= 1024, widths[0], widths[-1]) == (True, 1, 4000)
    assert any("widths" in note for note in question.notes)
