"""Plan files are read back as written; what live decisions cannot use is refused."""

from __future__ import annotations

import json

import pytest

from moldable import Greedy, JobClass, Scenario, Workload, evaluate, read_policy_file, tune
from moldable.errors import InputError
from moldable.files.scenario_data import scenario_from_data
from moldable.live.plan_file import read_plan, write_plan

TWO = Scenario(
    Workload([JobClass("a", 2.0, [1, 1.8, 2.5]), JobClass("b", 1.0, {2: 1.7, 4: 3})]),
    12,
    waiting="unlimited",
    time_unit="minutes",
)
LOSS = Scenario.single([1, 1.8, 2.5], 0.7, 8)


@pytest.fixture(scope="module")
def tuned():
    return tune(LOSS, max_blocking=0.1)


@pytest.fixture
def plan_file(tuned, tmp_path):
    write_plan(tmp_path / "plan.json", tuned.policy, tuned.performance)
    return tmp_path / "plan.json"


def changed(path, **keys):
    data = json.loads(path.read_text())
    scenario = keys.pop("scenario", {})
    for key, value in {**data["scenario"], **scenario}.items():
        data["scenario"][key] = value
    data.update(keys)
    path.write_text(json.dumps(data))
    return path


def test_a_plan_file_is_a_policy_file_with_its_scenario(plan_file):
    plan, policy = read_plan(plan_file), read_policy_file(plan_file)
    assert plan.scenario == LOSS
    assert plan.policy.tables == policy.tables
    assert plan.policy.grant("jobs", idle=8) == policy.grant(plan.job_class(), idle=8)


def test_the_expected_figures_are_those_of_the_evaluator(plan_file):
    plan = read_plan(plan_file)
    answer = evaluate(LOSS, plan.policy)
    assert plan.expected["blocking"] == pytest.approx(answer.blocking.value, rel=1e-9)
    (jobs,) = plan.expected["classes"]
    assert jobs["arrival_rate"] == pytest.approx(5.6)
    assert jobs["width_shares"] == {
        str(width): pytest.approx(share) for width, share in answer.classes[0].width_shares.items()
    }


def test_json_output_of_tune_and_plan_is_a_plan_file(run, tmp_path):
    (tmp_path / "jobs.toml").write_text(
        "servers = 6\n[[class]]\nname = 'jobs'\narrival_rate = 4\nspeedup = [1, 1.8]\n"
    )
    asked = ("jobs.toml", "--max-blocking", "0.2")
    commands = {
        "plan": ("plan", *asked, "--seed", "1"),
        "tune": ("tune", "--workload", *asked),
        "queue": ("tune", "--workload", "jobs.toml", "--waiting", "unlimited"),
    }
    for name, words in commands.items():
        result = run(*words, "--json", "--policy-out", f"{name}.json", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert f"policy was written to {name}.json" in result.stderr or name == "plan"
        written = read_plan(tmp_path / f"{name}.json")
        (tmp_path / "output.json").write_text(result.stdout)
        printed = read_plan(tmp_path / "output.json")
        assert printed.digest == written.digest
        assert printed.scenario == written.scenario
        for key in ("blocking", "mean_execution_time"):
            assert printed.expected[key] == written.expected[key]
    assert written.scenario.waiting == float("inf")
    assert written.expected["mean_wait"] > 0.0


def test_the_digest_depends_on_what_decides_and_on_nothing_else(plan_file):
    before = read_plan(plan_file).digest
    assert len(before) == 12
    same = changed(plan_file, expected={}, scenario={"arrivals": "renewal:2"})
    assert read_plan(same).digest == before
    assert read_plan(changed(plan_file, scenario={"waiting": 3})).digest != before
    changed(plan_file, scenario={"waiting": 0}, policy={"policy": "greedy"})
    assert read_plan(plan_file).digest != before


def test_a_class_may_be_left_out_where_there_is_one(plan_file, tmp_path):
    assert read_plan(plan_file).job_class().name == "jobs"
    write_plan(tmp_path / "two.json", Greedy(), evaluate(TWO, Greedy(), method="chain"))
    two = read_plan(tmp_path / "two.json")
    assert two.job_class("b").speedup[4] == 3
    with pytest.raises(InputError, match="2 classes; name one of them with --class: a, b"):
        two.job_class()
    with pytest.raises(InputError, match="unknown class 'job'; did you mean 'jobs'"):
        read_plan(plan_file).job_class("job")


def test_scenarios_are_read_back_from_their_data():
    for scenario in (TWO, LOSS, Scenario.single([1, 1.8], 0.5, 4, size="lognormal:2")):
        assert scenario_from_data(json.loads(json.dumps(scenario.to_dict()))) == scenario


@pytest.mark.parametrize("text", ["sizes.csv", "scipy.stats.gamma(2, 0, 1)", "-", None])
def test_measured_sizes_and_arrivals_have_no_influence_on_decisions(plan_file, text):
    data = json.loads(plan_file.read_text())
    data["scenario"]["classes"][0]["size"] = data["scenario"]["arrivals"] = text
    plan_file.write_text(json.dumps(data))
    assert read_plan(plan_file).scenario == LOSS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenario": None}, "there is no scenario in the file.*write it with moldable plan FILE"),
        ({"policy": "greedy"}, "there is no scenario in the file"),
        ({"policy": {"policy": "greedi"}}, "unknown policy 'greedi'"),
        ({"scenario": {"servers": 8}}, "it needs servers and classes"),
        ({"scenario": {"servers": 8, "classes": 3}}, "classes=3 is not a list"),
        ({"scenario": {"servers": 8, "classes": [3]}}, "3 is not a class; it needs a name"),
        (
            {"scenario": {"servers": 8, "classes": [{"name": "x", "speedup": [1]}]}},
            r"class 'x': speedup=\[1\] must map widths",
        ),
        (
            {"scenario": {"servers": 8, "classes": [{"name": "x", "speedup": {"1.5": 1}}]}},
            "class 'x': speedup: '1.5' is not a width",
        ),
        (
            {"scenario": {"servers": 8, "classes": [{"name": "x", "speedup": {"1": "y"}}]}},
            "class 'x': .*'y' is not a number",
        ),
    ],
)
def test_files_that_are_no_plan_are_refused(plan_file, change, message):
    data = json.loads(plan_file.read_text()) | change
    plan_file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message) as caught:
        read_plan(plan_file)
    assert str(caught.value).startswith(str(plan_file))


def test_a_policy_that_does_not_suit_the_classes_is_refused(plan_file):
    changed(plan_file, policy={"policy": "thresholds", "classes": {"others": {"1": 1}}})
    with pytest.raises(InputError, match="thresholds names class 'others', which"):
        read_plan(plan_file)


def test_classes_that_own_their_servers_are_refused(tmp_path):
    reserved = Scenario(
        Workload([JobClass("a", 2.0, [1, 1.8]), JobClass("b", 1.0, [1, 1.8])], "reserved"), 12
    )
    write_plan(tmp_path / "plan.json", Greedy(), evaluate(reserved, Greedy()))
    with pytest.raises(InputError, match="live decisions need one pool"):
        read_plan(tmp_path / "plan.json")
