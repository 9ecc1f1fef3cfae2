"""The agent on a real Slurm: order, rights, jobs that it leaves alone, modes and errors."""

from __future__ import annotations

import os
import pwd
import re
import signal

import pytest

from engines.agent_process import start_agent
from engines.daemons import LONGEST, wait_for
from engines.private_slurm import USER
from moldable.live.journal import Journal, read_journal
from moldable.live.slurm.marks import Mark
from moldable.live.slurm.service import Settings
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.greedy import Greedy

HELD = ("sbatch", "--parsable", "-H", "-o/dev/null")
SLEEP = "--wrap=sleep 600"
MARK = "--comment=moldable:solver"
TWO = {"wide": {8: 5.0}, "small": {1: 1.0, 2: 1.8}}


def fields(cluster, job):
    """What Slurm says about a job, without what changes over time."""
    text = cluster.run("scontrol", "show", "job", "-d", job)
    changing = ("RunTime", "LastSchedEval", "EligibleTime", "AccrueTime", "SubmitTime")
    return [word for word in text.split() if not word.startswith(changing)]


def comments(cluster, *options):
    """The comment of each job in the queue."""
    rows = cluster.run("squeue", "-h", "-a", "-r", *options, "-O", "JobArrayID:0/,Comment:0")
    return dict(row.split("/", 1) for row in rows.splitlines())


def states(cluster):
    """The state, CPUs and reason of each job in the queue."""
    rows = cluster.run("squeue", "-h", "-a", "-r", "-o", "%i %t %C %r")
    return {row.split()[0]: tuple(row.split()[1:]) for row in rows.splitlines()}


def test_jobs_start_in_the_order_of_submission_although_a_later_one_would_fit(
    small_nodes, make_plan, make_agent
):
    plain = small_nodes.run("sbatch", "--parsable", "-n60", "-o/dev/null", SLEEP)
    small_nodes.wait_for_idle(4)
    wide = small_nodes.run(*HELD, "--comment=moldable:wide", SLEEP)
    small = small_nodes.run(*HELD, "--comment=moldable:small", SLEEP)
    agent = make_agent(make_plan(Greedy(), 64, TWO)[1])
    agent.step()
    assert states(small_nodes)[wide] == ("PD", "1", "JobHeldUser")
    assert states(small_nodes)[small] == ("PD", "1", "JobHeldUser")
    small_nodes.run("scancel", plain)
    wait_for(lambda: plain not in states(small_nodes), "the plain job to end")
    agent.step()
    small_nodes.wait_for_idle(54)
    found = comments(small_nodes)
    assert re.fullmatch(r"moldable:wide;width=8;idle=64;waiting=1;plan=\w{12}", found[wide])
    assert re.fullmatch(r"moldable:small;width=2;idle=56;waiting=0;plan=\w{12}", found[small])


def test_other_jobs_that_are_about_to_start_count_as_taken(small_nodes, make_plan, make_agent):
    running = small_nodes.run("sbatch", "--parsable", "-n10", "-o/dev/null", SLEEP)
    small_nodes.wait_for_idle(54)
    small_nodes.run("sbatch", "-n64", "-o/dev/null", SLEEP)
    job = small_nodes.run(*HELD, MARK, SLEEP)
    wait_for(lambda: "Resources" in str(states(small_nodes)), "the wide job to wait")
    make_agent(make_plan(Greedy(), 64)[1]).step()
    assert states(small_nodes)[job] == ("PD", "1", "JobHeldUser")
    assert states(small_nodes)[running][0] == "R"


def test_jobs_together_hold_no_more_than_the_servers_of_the_plan(
    small_nodes, make_plan, make_agent
):
    for _ in range(4):
        small_nodes.run(*HELD, MARK, SLEEP)
    agent = make_agent(make_plan(FixedWidth(4), 10)[1])
    agent.step()
    small_nodes.wait_for_idle(54)
    agent.step()
    assert sorted(found[1] for found in states(small_nodes).values()) == ["1", "2", "4", "4"]


def test_drained_nodes_do_not_count(small_nodes, make_plan, make_agent):
    with small_nodes.drained("n[1-62]"):
        job = small_nodes.run(*HELD, MARK, SLEEP)
        make_agent(make_plan(Greedy(), 64)[1]).step()
        wait_for(lambda: states(small_nodes)[job][:2] == ("R", "2"), "the job")


def test_tasks_of_an_array_are_jobs_of_their_own(small_nodes, make_plan, make_agent):
    job = small_nodes.run(*HELD, MARK, "--array=3,5", SLEEP)
    make_agent(make_plan(Greedy(), 8)[1]).step()
    small_nodes.wait_for_idle(56)
    found = {name: Mark.parse(text).number("width") for name, text in comments(small_nodes).items()}
    assert found == {f"{job}_3": 5, f"{job}_5": 3}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--comment=moldable:solvr",), "no class solvr"),
        (("--comment=moldable:solver and more",), "not a valid one"),
        (("--comment=moldable:solver;shape=gpus",), "servers are CPUs here"),
        ((MARK, "hold"), "an administrator holds it"),
        ((MARK, "--ntasks-per-node=1", "-n2"), "--ntasks-per-node"),
        ((MARK, "--exclusive"), "--exclusive"),
        ((MARK, "-wn7"), "--nodelist"),
        ((MARK, "--dependency=after:1"), None),
        ((MARK, "--begin=now+1hour"), None),
        (("--comment=another text",), None),
    ],
)
def test_doubtful_jobs_are_left_as_they_are_with_a_line_that_says_why(
    small_nodes, make_plan, make_agent, caplog, options, reason
):
    if "--dependency=after:1" in options:
        first = small_nodes.run(*HELD, SLEEP)
        options = (MARK, f"--dependency=after:{first}")
    held = "hold" in options
    job = small_nodes.run(*HELD, *(word for word in options if word != "hold"), SLEEP)
    if held:
        small_nodes.run("scontrol", "hold", job, user="slurm")  # becomes an administrator's
    good = small_nodes.run(*HELD, MARK, SLEEP)
    before = fields(small_nodes, job)
    agent = make_agent(make_plan(Greedy(), 64)[1])
    agent.step()
    agent.step()
    assert fields(small_nodes, job) == before
    assert "width=5" in comments(small_nodes)[good]
    lines = [record.getMessage() for record in caplog.records if f"job {job} " in record.message]
    assert len(lines) == (reason is not None)
    assert reason is None or reason in lines[0]


def test_a_job_that_its_user_held_after_the_decision_stays_on_hold(
    small_nodes, make_plan, make_agent
):
    agent = make_agent(make_plan(Greedy(), 64)[1])
    with small_nodes.drained("n[1-64]"):
        # Released at a width, but not started, because there is no node.
        job = small_nodes.run("sbatch", "--parsable", "-o/dev/null", f"{MARK};granting=3", SLEEP)
        agent.step()
        assert comments(small_nodes)[job].startswith("moldable:solver;width=3")
        small_nodes.run("scontrol", "uhold", job)
    wait_for(lambda: "idle*" not in small_nodes.run("sinfo", "-h", "-o", "%t"), "the nodes")
    agent.step()
    assert states(small_nodes)[job] == ("PD", "1", "JobHeldUser")


def test_a_comment_cannot_pass_for_the_line_of_another_job(small_nodes, make_plan, make_agent):
    victim = small_nodes.run(*HELD, SLEEP)
    before = fields(small_nodes, victim)
    line = f"{victim}|PD|JobHeldUser|0|moldable:solver"
    small_nodes.run(*HELD, f"--comment=x\n{line}\n{line}", SLEEP)
    good = small_nodes.run(*HELD, MARK, SLEEP)
    make_agent(make_plan(Greedy(), 64)[1]).step()
    assert fields(small_nodes, victim) == before
    assert "width=5" in comments(small_nodes, "-j", good)[good]


def test_a_user_decides_about_own_jobs_only(small_nodes, make_plan, tmp_path):
    path, _ = make_plan(FixedWidth(3), 64)
    others = small_nodes.run(*HELD, MARK, SLEEP)
    before = fields(small_nodes, others)
    own = small_nodes.run(*HELD, MARK, SLEEP, user=USER)
    log = tmp_path / "log"
    environment = {**small_nodes.environment, "XDG_RUNTIME_DIR": str(small_nodes.home())}
    agent = start_agent(Settings(path, poll=0.2), environment, log, user=USER)
    try:
        wait_for(lambda: ";width=3" in comments(small_nodes)[own], log)
        assert fields(small_nodes, others) == before
    finally:
        agent.terminate()
        agent.join(LONGEST)
    assert agent.exitcode == 0
    assert log.read_text().splitlines()[-1].endswith("ended")
    wait_for(lambda: states(small_nodes)[own][:2] == ("R", "3"), "the job")


def test_an_operator_decides_about_all_jobs_and_believes_no_comment(
    small_nodes, make_plan, make_agent
):
    forged = small_nodes.run(*HELD, f"{MARK};width=64;idle=64", SLEEP, user=USER)
    plain = small_nodes.run(*HELD, MARK, SLEEP)
    make_agent(make_plan(FixedWidth(3), 64)[1], user=None).step()
    small_nodes.wait_for_idle(58)
    for job in (forged, plain):
        words = fields(small_nodes, job)
        assert any(re.match(r"AdminComment=moldable:solver;width=3;", word) for word in words)


def test_without_rights_an_operator_ends_with_a_message_and_changes_nothing(small_nodes, make_plan):
    path, _ = make_plan(FixedWidth(3), 64)
    job = small_nodes.run(*HELD, MARK, SLEEP)
    before = fields(small_nodes, job)
    words = small_nodes.moldable("slurm", "agent", f"--plan={path}", "--operator", user=USER)
    result = small_nodes.run("sh", "-c", '"$@" 2>&1; echo "code $?"', "sh", *words, check=False)
    assert "needs Slurm's admin level Administrator; nobody has none" in result
    assert result.endswith("code 2")
    assert fields(small_nodes, job) == before


def test_one_agent_runs_for_each_user_and_ends_when_it_is_asked(
    small_nodes, make_plan, tmp_path, run
):
    path, _ = make_plan(FixedWidth(3), 64)
    environment = dict(os.environ)
    first = start_agent(Settings(path, poll=0.2), environment, tmp_path / "log")
    try:
        wait_for(
            lambda: (
                (tmp_path / "log").exists() and "mode enforce" in (tmp_path / "log").read_text()
            ),
            "the agent",
        )
        second = run("slurm", "agent", f"--plan={path}")
        assert second.returncode == 2
        assert (
            f"already running on cluster {small_nodes.name} (process {first.pid})" in second.stderr
        )
        # Other commands know what it decides.
        script = tmp_path / "job.sh"
        script.write_text("#!/bin/sh\ntrue\n")
        unknown = run("slurm", "submit", "--class", "solvr", str(script))
        assert unknown.returncode == 2
        assert "did you mean 'solver'?" in unknown.stderr
        assert run("slurm", "rescue").returncode == 2
    finally:
        first.terminate()
        first.join(LONGEST)
    assert first.exitcode == 0
    third = start_agent(Settings(path, poll=0.2), environment, tmp_path / "log")
    wait_for(lambda: (tmp_path / "log").read_text().count("mode enforce") == 2, "the agent")
    third.terminate()
    third.join(LONGEST)


def test_plans_that_do_not_match_the_cluster_are_refused(small_nodes, make_plan, run):
    assert small_nodes.nodes == 64
    path, _ = make_plan(Greedy(), 65)
    large = run("slurm", "agent", f"--plan={path}")
    assert large.returncode == 2
    assert "for 65 servers, but partition main has 64 CPUs" in large.stderr
    elsewhere = run("slurm", "agent", f"--plan={path}", "--partition=mian")
    assert "did you mean 'main'?" in elsewhere.stderr
    odd, _ = make_plan(Greedy(), 8, {"my class": [1, 1.8]})
    assert "cannot be written into comments" in run("slurm", "agent", f"--plan={odd}").stderr


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_without_enforcing_widths_are_only_told(small_nodes, make_plan, make_agent, tmp_path, mode):
    agent = make_agent(make_plan(Greedy(), 64)[1], mode=mode, journal=Journal(tmp_path / "journal"))
    agent.step()
    running = small_nodes.run("sbatch", "--parsable", "-n2", "-o/dev/null", MARK, SLEEP)
    wait_for(lambda: states(small_nodes)[running][0] == "R", "the job")
    held = small_nodes.run(*HELD, MARK, SLEEP)
    agent.step()
    agent.step()
    assert states(small_nodes) == {running: ("R", "2", "None"), held: ("PD", "1", "JobHeldUser")}
    told = [
        (found.job, found.event, found.width, found.idle)
        for found in read_journal(tmp_path / "journal")
    ]
    word = {"observe": "observed", "advise": "advised"}[mode]
    assert told == [(running, word, 5, 64), (held, word, 5, 62)]
    expected = ";advice=5;idle=64" if mode == "advise" else ""
    assert comments(small_nodes)[running].startswith(f"moldable:solver{expected}")


def test_the_journal_has_the_decision_and_the_end_of_each_job(
    small_nodes, make_plan, make_agent, tmp_path
):
    _, plan = make_plan(FixedWidth(3), 64)
    agent = make_agent(plan, journal=Journal(tmp_path / "journal"))
    good = small_nodes.run(*HELD, MARK, "--wrap=sleep 1")
    bad = small_nodes.run(*HELD, MARK, "--wrap=false")
    agent.step()
    wait_for(lambda: not states(small_nodes), "the jobs")
    agent.step()
    found = list(read_journal(tmp_path / "journal"))
    assert [(e.event, e.job, e.width, e.idle) for e in found[:2]] == [
        ("granted", good, 3, 64),
        ("granted", bad, 3, 61),
    ]
    ends = {e.job: (e.event, e.width, e.state, e.plan) for e in found[2:]}
    assert ends == {
        good: ("ended", 3, "completed", plan.digest),
        bad: ("ended", 3, "failed", plan.digest),
    }
    words = ("squeue", "-h", "-t", "all", "-j", good, "-o", "%S %e")
    begun, ended = map(float, small_nodes.run("env", "SLURM_TIME_FORMAT=%s", *words).split())
    (entry,) = (e for e in found[2:] if e.job == good)
    assert (entry.started, entry.time) == (begun, ended)
    assert ended - begun >= 1.0


def test_rescue_releases_what_is_held_and_says_so(small_nodes, run):
    job = small_nodes.run(*HELD, MARK, SLEEP)
    other = small_nodes.run(*HELD, "--comment=moldable:train", SLEEP)
    plain = small_nodes.run(*HELD, SLEEP)
    assert "would be released" in run("slurm", "rescue", "--dry-run").stdout
    assert states(small_nodes)[job][0] == "PD"
    result = run("slurm", "rescue", "--class", "solver")
    assert result.returncode == 0
    assert re.search(rf"{job} +solver +1 +released", result.stdout)
    wait_for(lambda: states(small_nodes)[job][0] == "R", "the job")
    assert states(small_nodes)[other][2] == states(small_nodes)[plain][2] == "JobHeldUser"


def test_status_counts_what_waits_runs_and_was_granted(small_nodes, make_plan, make_agent, run):
    _, plan = make_plan(FixedWidth(3), 4, {"counted": [1, 1.8, 2.5]})
    for _ in range(2):
        small_nodes.run(*HELD, "--comment=moldable:counted", SLEEP)
    make_agent(plan).step()
    small_nodes.wait_for_idle(60)
    waiting = small_nodes.run(*HELD, "--comment=moldable:counted", SLEEP)
    text = run("slurm", "status").stdout
    assert "Moldable jobs in the queue: 2 running, 1 waiting." in text
    assert re.search(rf"{waiting} +counted +waiting", text)
    assert re.search(r"3 +1 +50\.0%", text)


def test_without_slurm_the_commands_say_so(run, monkeypatch, tmp_path, make_plan):
    path, _ = make_plan(Greedy(), 8)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    for words in (("agent", f"--plan={path}"), ("status",), ("rescue",), ("submit", str(script))):
        result = run("slurm", *words)
        assert result.returncode == 2
        assert "is not in PATH" in result.stderr


def test_interrupting_the_agent_ends_it_like_asking_it(small_nodes, make_plan, tmp_path):
    path, _ = make_plan(Greedy(), 8)
    log = tmp_path / "log"
    environment = {**small_nodes.environment, "XDG_RUNTIME_DIR": str(small_nodes.home("root"))}
    agent = start_agent(Settings(path, poll=30.0), environment, log)
    wait_for(lambda: log.exists() and "mode enforce" in log.read_text(), "the agent")
    os.kill(agent.pid, signal.SIGINT)
    agent.join(LONGEST)
    assert agent.exitcode == 0
    assert pwd.getpwuid(os.getuid()).pw_name in log.read_text()
