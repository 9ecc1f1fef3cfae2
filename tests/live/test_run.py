"""`moldable run`: servers are never given twice, and the command behaves as if run directly."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from moldable import Scenario, evaluate
from moldable.live.journal import read_journal
from moldable.live.plan_file import write_plan
from moldable.live.running_jobs import RunningJobs
from moldable.policies import FixedWidth, Thresholds

CPUS = len(os.sched_getaffinity(0))
SHELL = ("sh", "-c")
LONGEST = 180.0
"""Seconds after which a command counts as hanging, also on slow machines."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Plans for 16 servers: with a queue, with 2 places, and without; and for this machine."""
    widths = {1: 1, 2: 1.8, 3: 2.5, 4: 3.0}
    tables = Thresholds({"jobs": {1: 1, 4: 2, 8: 3, 14: 4}})
    folder = tmp_path_factory.mktemp("plans")
    plans = {
        "queue": (16, "unlimited", tables),
        "places": (16, 2, FixedWidth(4, strict=True)),
        "loss": (16, 0, FixedWidth(4, strict=True)),
        "machine": (CPUS, "unlimited", FixedWidth(1)),
    }
    for name, (servers, waiting, policy) in plans.items():
        scenario = Scenario.single(widths, 0.4, servers, waiting=waiting)
        write_plan(folder / f"{name}.json", policy, evaluate(scenario, policy, precision=0.2))
    return folder


@pytest.fixture
def folder(written, tmp_path):
    """A folder with the plans, and a private one for the ledger."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    (tmp_path / "run").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture
def begin(folder):
    """Start `moldable run`; whatever is left is killed at the end of the test."""
    started = []

    def start(plan, *command, options=(), servers=16, **settings):
        program = str(Path(sys.executable).with_name("moldable"))
        own = () if servers is None else ("--servers", str(servers))
        words = ("run", "--plan", f"{plan}.json", *own, "--dir", "run", *options, "--", *command)
        process = subprocess.Popen(
            [program, *words],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **settings,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def status(run, folder):
    result = run("run", "--status", "--dir", "run", "--json", cwd=folder)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def until(condition, seconds=LONGEST):
    """Wait for a condition; the machine may be slow."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("the condition did not come true")


def test_servers_are_never_given_twice_though_jobs_are_killed(begin, folder):
    """25 at once on 16 servers; each job logs when it began and ended, and its width.

    No job ends before all servers are held.
    """
    code = (
        "import os, sys, time\n"
        "def log(sign):\n"
        "    line = f'{sign} {os.environ[\"MOLDABLE_WIDTH\"]} {os.getpid()}\\n'\n"
        "    file = os.open('log', os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "    os.write(file, line.encode())\n"
        "log('+')\n"
        "while not os.path.exists('full'):\n"
        "    time.sleep(0.05)\n"
        "time.sleep(0.6); log('-')\n"
    )
    jobs = [
        begin("queue", sys.executable, "-c", code, options=("--journal", "journal"))
        for _ in range(25)
    ]
    log = folder / "log"
    until(lambda: log.exists() and sum(map(int, log.read_text().split()[1::3])) == 16)
    for process in jobs[::5]:
        process.kill()
    (folder / "full").touch()
    codes = [process.wait(timeout=LONGEST) for process in jobs]
    assert sorted(codes) == [-9] * 5 + [0] * 20
    until(lambda: log.read_text().count("\n-") >= 20)
    held, peak, ended = 0, 0, Counter()
    for line in log.read_text().splitlines():
        sign, width, pid = line.split()
        held += int(width) if sign == "+" else -int(width)
        peak = max(peak, held)
        ended[pid] += sign == "-"
    # A job whose `moldable run` was killed continues, and holds its servers until it ends.
    assert peak == 16
    assert set(ended.values()) == {1}
    assert len(ended) >= 20
    running, lost = RunningJobs(16), 0
    for line in read_journal(folder / "journal"):
        if line.event == "granted":
            lost += len(running.granted(line))
        else:
            running.ended(line.job)
    assert lost <= 5  # the ends of jobs whose `moldable run` was killed
    granted = [line for line in read_journal(folder / "journal") if line.event == "granted"]
    order = [int(line.job.partition("-")[0]) for line in granted]
    assert order == sorted(order)
    assert {line.width for line in granted} > {1, 2}


def test_a_killed_job_holds_its_servers_until_its_processes_end(begin, folder, run):
    first = begin("queue", *SHELL, "exec sleep 100", servers=16)
    (job,) = until(lambda: status(run, folder)["running"])
    first.kill()
    first.wait()
    assert status(run, folder)["busy"] == job["width"] == 4
    os.killpg(first.pid, signal.SIGKILL)
    until(lambda: status(run, folder)["busy"] == 0)
    assert list((folder / "run" / "running").iterdir()) == []


def test_processes_left_behind_keep_the_servers(begin, folder, run):
    first = begin("queue", *SHELL, "sleep 100 >/dev/null 2>&1 & exit 7")
    assert first.wait(timeout=LONGEST) == 7
    assert status(run, folder)["busy"] == 4
    os.killpg(first.pid, signal.SIGKILL)
    until(lambda: status(run, folder)["busy"] == 0)


def test_jobs_start_first_come_first_served(begin, folder, run):
    blocker = [begin("places", "sleep", "100") for _ in range(4)]
    until(lambda: len(status(run, folder)["running"]) == 4)
    first = begin("places", *SHELL, "echo first >> order; exec sleep 100")
    until(lambda: len(status(run, folder)["waiting"]) == 1)
    second = begin("places", *SHELL, "echo second >> order")
    until(lambda: len(status(run, folder)["waiting"]) == 2)
    third = begin("places", "true")
    assert third.wait(timeout=LONGEST) == 75
    assert "blocked: 2 jobs wait already" in third.communicate()[1]
    blocker[0].terminate()
    until((folder / "order").exists)
    assert (folder / "order").read_text() == "first\n"
    first.terminate()
    assert second.wait(timeout=LONGEST) == 0
    assert (folder / "order").read_text() == "first\nsecond\n"


def test_a_waiting_job_that_is_killed_does_not_stop_those_behind(begin, folder, run):
    running = [begin("places", "sleep", "100") for _ in range(4)]
    until(lambda: status(run, folder)["busy"] == 16)
    waiting = begin("places", "sleep", "100")
    until(lambda: str(waiting.pid) in _waiting(run, folder))
    last = begin("places", "true")
    until(lambda: str(last.pid) in _waiting(run, folder))
    waiting.kill()
    running[0].terminate()
    assert last.wait(timeout=LONGEST) == 0


def _waiting(run, folder):
    return {str(job["pid"]) for job in status(run, folder)["waiting"]}


def test_without_waiting_places_a_job_is_blocked_at_once(begin, folder, run):
    jobs = [begin("loss", "sleep", "100", options=("--journal", "log")) for _ in range(4)]
    until(lambda: status(run, folder)["busy"] == 16)
    refused = begin("loss", "touch", "started", options=("--journal", "log"))
    assert refused.wait(timeout=LONGEST) == 75
    assert "blocked: it gets no servers now (0 of 16 servers idle)" in refused.communicate()[1]
    assert not (folder / "started").exists()
    jobs[0].terminate()
    assert jobs[0].wait(timeout=LONGEST) == 128 + signal.SIGTERM
    *granted, blocked, ended = read_journal(folder / "log")
    assert [(line.event, line.idle, line.width) for line in granted] == [
        ("granted", idle, 4) for idle in (16, 12, 8, 4)
    ]
    assert (blocked.event, blocked.idle, blocked.width) == ("blocked", 0, 0)
    own = next(line for line in granted if line.job.endswith(f"-{jobs[0].pid}"))
    assert (ended.event, ended.state, ended.job) == ("ended", "cancelled", own.job)
    assert ended.started == own.time


def test_no_wait_refuses_instead_of_waiting(begin, folder, run):
    for _ in range(4):
        begin("places", "sleep", "100")
    until(lambda: status(run, folder)["busy"] == 16)
    assert begin("places", "true", options=("--no-wait",)).wait(timeout=LONGEST) == 75
    assert status(run, folder)["waiting"] == []


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("true",), 0),
        ((*SHELL, "exit 3"), 3),
        ((*SHELL, "kill -9 $$"), 128 + 9),
        ((*SHELL, "kill -TERM $$"), 128 + 15),
        (("no-such-command",), 127),
        (("./not-executable",), 126),
        (("a\udcffb",), 127),
    ],
)
def test_the_exit_code_is_that_of_the_command(begin, folder, command, code):
    (folder / "not-executable").touch(mode=0o600)
    assert begin("queue", *command).wait(timeout=LONGEST) == code


def test_input_output_environment_and_arguments_are_those_of_the_command(begin):
    code = "import os, sys; print(os.environ['MOLDABLE_WIDTH'], sys.argv[1:], input())"
    job = begin(
        "queue", sys.executable, "-c", code, "--plan", "; echo $HOME", stdin=subprocess.PIPE
    )
    assert job.communicate("line\n", timeout=LONGEST) == ("4 ['--plan', '; echo $HOME'] line\n", "")


def test_with_standard_files_closed_the_ledger_stays_whole_and_exit_codes_are_the_same(
    begin, folder, run
):
    closed = {"preexec_fn": lambda: os.closerange(0, 3)}
    command = (*SHELL, "echo noise; echo noise >&2; exec sleep 100")
    for _ in range(4):
        begin("places", *command, **closed)
    until(lambda: status(run, folder)["busy"] == 16)
    assert begin("places", "true", options=("--no-wait",), **closed).wait(LONGEST) == 75
    waiting = begin("places", "true", **closed)
    until(lambda: str(waiting.pid) in _waiting(run, folder))
    assert status(run, folder)["busy"] == 16
    assert (
        begin("places", "no-such-command", options=("--dir", "other"), **closed).wait(LONGEST)
        == 127
    )


def test_the_width_is_told_to_numerical_libraries(begin):
    job = begin("queue", "env")
    told = dict(
        line.split("=", 1)
        for line in job.communicate(timeout=LONGEST)[0].splitlines()
        if "=" in line
    )
    for name in ("OMP", "MKL", "OPENBLAS", "BLIS", "NUMEXPR", "NUMBA"):
        assert told[f"{name}_NUM_THREADS"] == "4"
    assert told["MOLDABLE_CLASS"] == "jobs"
    assert told["MOLDABLE_JOB"].partition("-")[0] == "1"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_signals_are_passed_on(begin, number):
    code = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(40))\n"
        "print('ready', flush=True)\n"
        # A signal just before signal.pause() would be handled only after the next one.
        "while True:\n"
        "    time.sleep(0.1)\n"
    )
    job = begin("queue", sys.executable, "-c", code)
    assert job.stdout.readline() == "ready\n"
    os.kill(job.pid, number)
    assert job.wait(timeout=LONGEST) == 40


def test_a_command_starts_with_the_signals_of_its_caller(begin):
    shown = ("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
    direct = subprocess.run(shown, capture_output=True, text=True, check=True)
    masks = [
        [int(word, 16) % 2**31 for word in text.split()[1::2]]  # without those of the C library
        for text in (direct.stdout, begin("queue", *shown).communicate(timeout=LONGEST)[0])
    ]
    assert masks[0] == masks[1]


def test_ctrl_c_ends_a_waiting_job_without_starting_it(begin, folder, run):
    for _ in range(4):
        begin("places", "sleep", "100")
    until(lambda: status(run, folder)["busy"] == 16)
    job = begin("places", "touch", "started")
    until(lambda: status(run, folder)["waiting"])
    os.kill(job.pid, signal.SIGINT)
    assert job.wait(timeout=LONGEST) == 130
    assert "Interrupted: the command was not started." in job.communicate()[1]
    assert not (folder / "started").exists()
    assert status(run, folder)["waiting"] == []
    assert list((folder / "run" / "waiting").iterdir()) == []


def test_pinned_jobs_run_on_cpus_of_their_own(begin):
    code = "import os; print(sorted(os.sched_getaffinity(0)), flush=True); input()"
    jobs = [
        begin(
            "machine",
            *(sys.executable, "-c", code),
            options=("--pin",),
            servers=None,
            stdin=subprocess.PIPE,
        )
        for _ in range(CPUS)
    ]
    cpus = sorted(job.stdout.readline() for job in jobs)
    assert cpus == sorted(f"[{cpu}]\n" for cpu in os.sched_getaffinity(0))
    assert [job.communicate("\n", timeout=LONGEST) for job in jobs] == [("", "")] * CPUS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--servers", "8"), "the plan is for 16 servers, but there are 8; plan for 8"),
        (("--servers", "16", "--pin"), "--pin gives each server a CPU of its own"),
        (("--servers", "16", "--class", "job"), "--class 'job' is not in the plan; did you mean"),
        (("--servers", "0"), "--servers 0 must be a whole number from 1"),
        (("--servers", "16", "--journal", "no/where"), "journal no/where cannot be written"),
    ],
)
def test_bad_options_are_explained(begin, options, message):
    job = begin("queue", "true", options=options, servers=None)
    errors = job.communicate(timeout=LONGEST)[1]
    assert message in errors
    assert job.returncode == 2


def test_an_empty_command_is_refused_before_it_gets_servers(begin, folder):
    job = begin("queue", "")
    assert "the command is empty; write its name after --" in job.communicate(timeout=LONGEST)[1]
    assert job.returncode == 2
    assert not list((folder / "run").iterdir())


def test_the_exit_code_is_that_of_the_command_even_if_the_ledger_is_gone(begin, folder):
    job = begin("queue", *SHELL, "echo started; read line; exit 7", stdin=subprocess.PIPE)
    assert job.stdout.readline() == "started\n"
    shutil.rmtree(folder / "run")
    errors = job.communicate("\n", timeout=LONGEST)[1]
    assert "note: run/lock cannot be used: no such file" in errors
    assert job.returncode == 7


def test_jobs_of_one_folder_share_their_servers(begin, folder, run):
    begin("queue", "sleep", "100", servers=20)
    until(lambda: status(run, folder)["running"])
    other = begin("queue", "true", servers=16)
    assert "16, but job 1-" in (errors := other.communicate(timeout=LONGEST)[1])
    assert "give --servers 20, or use another folder with --dir" in errors
    assert other.returncode == 2
    # Another plan for the same servers decides about its own jobs.
    assert begin("loss", *SHELL, "test $MOLDABLE_WIDTH = 4", servers=20).wait(timeout=LONGEST) == 0


def test_the_plan_is_refused_where_it_is_no_plan(begin, folder):
    (folder / "bare.json").write_text('{"policy": "greedy"}')
    job = begin("bare", "true")
    assert "bare.json: there is no scenario in the file" in job.communicate(timeout=LONGEST)[1]
    assert job.returncode == 2


def test_the_status_is_shown_in_words(begin, folder, run):
    words = ("run", "--status", "--dir", "run")
    assert run(*words, cwd=folder).stdout == "No job is running or waiting.\n"
    begin("queue", "sleep", "100")
    until(lambda: status(run, folder)["running"])
    text = run(*words, cwd=folder).stdout
    assert "4 of 16 servers busy; 1 running, 0 waiting." in text
    assert "sleep 100" in text


def test_the_status_of_a_folder_that_does_not_exist_makes_none(run, folder):
    result = run("run", "--status", "--dir", "typo", cwd=folder)
    assert result.stdout == "No job is running or waiting.\n"
    assert not (folder / "typo").exists()


def test_options_in_any_form_mean_the_same(run_process, folder):
    command = ("--", *SHELL, "echo $MOLDABLE_WIDTH")
    for words in (
        ("run", "--plan", "queue.json", "--servers", "16", "--dir", "run", *command),
        ("run", "--plan=queue.json", "--servers=16", "--dir=run", *command),
        ("run", "--servers", "16", "--dir", "run", "--plan", "./queue.json", "--no-wait", *command),
    ):
        assert run_process(*words, cwd=folder).stdout == "4\n"
    for words, message in {
        ("--servers", "x"): "Invalid value for '--servers'",
        ("--serverz", "3"): "No such option",
    }.items():
        result = run_process("run", "--plan", "queue.json", *words, *command, cwd=folder)
        assert result.returncode == 2
        assert message in result.stderr
    assert "no plan: give --plan" in run_process("run", "--", "true", cwd=folder).stderr
    assert "no command" in run_process("run", "--plan", "queue.json", cwd=folder).stderr
