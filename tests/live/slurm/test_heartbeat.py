"""The heartbeat of the agent: what it says, its file, and options that do not go with it."""

from __future__ import annotations

import json
import os
from queue import SimpleQueue

import pytest

from live.slurm.test_snapshot import job
from moldable.errors import InputError
from moldable.files.policy_file import policy_data
from moldable.live.plan_file import LivePlan
from moldable.live.slurm.agent import Agent
from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.heartbeat import FORGET, class_rows
from moldable.live.slurm.programs import Output
from moldable.live.slurm.pulse import Pulse
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.snapshot import Scope
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.thresholds import Thresholds


def scope(table, waiting=0) -> Scope:
    scenario = Scenario(Workload([JobClass("solver", 1.0, [1, 1.8, 2.5, 3])]), 8, waiting=waiting)
    policy = Thresholds({"solver": table}).with_classes(scenario)
    return Scope(LivePlan(policy, scenario, {}, "0123456789ab"), SHAPES["tasks"], None)


def test_equal_decisions_are_one_entry():
    assert class_rows(scope({2: 1, 5: 2, 8: 4}).plan) == {"solver": "0:0 1:1 5:2 8:4"}
    drawn = class_rows(scope({4: {1: 0.25, 4: 0.75}}).plan)
    assert drawn == {"solver": "0:0 1:1 4:1<0.25,4<1"}


def test_the_file_is_readable_for_slurmctld_whatever_the_umask(tmp_path):
    pulse = Pulse(tmp_path / "heartbeat", "main", default=True)
    before = os.umask(0o077)
    try:
        pulse.beat([], scope({1: 1}), "enforce", 5, 1234.9)
    finally:
        os.umask(before)
    assert pulse.path.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["heartbeat"]
    assert pulse.path.read_text().splitlines() == [
        "moldable 1",
        "time 1234",
        "mode enforce",
        "plan 0123456789ab",
        "idle 5",
        "partition main default",
        "shapes tasks threads",
        "seen ",
        "draws ",
        "class solver 0:0 1:1",
        "end",
    ]
    pulse.stop()
    pulse.stop()
    assert not list(tmp_path.iterdir())


def test_grants_that_were_seen_stay_known_until_they_are_forgotten_anyway(tmp_path):
    pulse = Pulse(tmp_path / "heartbeat", "main", default=False)
    mark = "moldable:solver;shape=tasks;width=1;seq=7.3"

    def seen(at, jobs):
        pulse.beat(jobs, scope({1: 1}), "loss", 5, at)
        (line,) = [x for x in pulse.path.read_text().splitlines() if x.startswith("seen ")]
        return line.split()[1:]

    assert seen(100.0, [job("1", admin_comment=mark), job("2", comment=mark)]) == ["7.3"]
    assert seen(100.0 + FORGET, []) == ["7.3"]
    assert seen(101.0 + 2 * FORGET, []) == []
    text = pulse.path.read_text()
    assert "\npartition main named\n" in text
    assert "\nshapes tasks\n" in text


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    pulse = Pulse(tmp_path / "no folder" / "heartbeat", "main", default=True)
    with pytest.raises(InputError, match="no folder/heartbeat cannot be written"):
        pulse.beat([], scope({1: 1}), "enforce", 5, 1234.9)


def test_an_error_that_lasts_is_logged_once_and_so_is_its_end(tmp_path, caplog):
    pulse, ending = Pulse(tmp_path / "folder" / "heartbeat", "main", default=True), SimpleQueue()

    looks = []

    def runner(words, text):  # noqa: ARG001 - the form of a runner
        looks.append(words[0])
        if looks.count("squeue") == 4:
            pulse.path.parent.mkdir(exist_ok=True)
        if looks.count("squeue") == 6:
            ending.put(15)
        return Output(0, "", "")

    caplog.set_level("INFO", "moldable.slurm")
    Agent(SlurmClient("main", runner), scope({1: 1}), pulse=pulse).run(ending, 0.001)
    first, last = caplog.messages
    assert "heartbeat cannot be written: no such file or directory" in first
    assert last == "there are no more errors"
    assert pulse.path.exists()


@pytest.mark.parametrize(
    ("waiting", "words", "message"),
    [
        (0, ("--mode=loss",), "--operator and --heartbeat are required"),
        (0, ("--mode=loss", "--operator"), "--operator and --heartbeat are required"),
        (5, ("--mode=loss", "--operator", "--heartbeat=x"), "the plan is for jobs that wait"),
        (
            0,
            ("--mode=loss", "--operator", "--heartbeat=x", "--shape=threads"),
            "works for the shape tasks, not threads",
        ),
        (5, ("--heartbeat=x", "--poll=4"), "stale after 10 s; use at most 3.33"),
        (5, ("--mode=los",), "did you mean 'loss'?"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, run, waiting, words, message):
    plan = scope({1: 1}, waiting).plan
    path = tmp_path / "plan.json"
    data = {"policy": policy_data(plan.policy), "scenario": plan.scenario.to_dict()}
    path.write_text(json.dumps(data))
    result = run("slurm", "agent", f"--plan={path}", *words)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
