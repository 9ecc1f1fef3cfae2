"""What an administrator installs, on a real Slurm with the plugin job_submit/lua and TaskProlog."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from engines.agent_process import start_agent
from engines.conftest import require_slurm
from engines.daemons import as_account, wait_for
from engines.private_slurm import USER, PrivateSlurm
from moldable.files.policy_file import policy_data
from moldable.live.journal import read_journal
from moldable.live.slurm.service import Settings
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.greedy import Greedy

CPUS = 64
MARK = "--comment=moldable:solver"
SLEEP = "--wrap=echo started; sleep 300"


class Managed:
    """A private Slurm on which `moldable slurm install` was followed step by step."""

    def __init__(self, cluster: PrivateSlurm) -> None:
        self.cluster = cluster
        self.run = cluster.run
        self.folder = cluster.folder / "moldable"
        self.run_folder = cluster.folder / "run"
        self.run_folder.mkdir()
        account = pwd.getpwnam("slurm")
        os.chown(self.run_folder, account.pw_uid, account.pw_gid)
        self.heartbeat = self.run_folder / "heartbeat"
        self.disable = self.folder / "disable"
        self.journal = self.run_folder / "decisions.jsonl"
        self.log = cluster.folder / "agent.log"
        self.outputs = cluster.folder / "out"
        self.outputs.mkdir()
        self.outputs.chmod(0o1777)
        self.plan = self._write_plan()
        self.installed = self._install()
        self._follow_readme()

    def _write_plan(self) -> Path:
        scenario = Scenario(
            Workload([JobClass("solver", 1.0, [1, 1.8, 2.5, 3, 3.4])]), CPUS, waiting=0
        )
        path = self.cluster.folder / "plan.json"
        data = {"policy": policy_data(Greedy()), "scenario": scenario.to_dict(), "expected": {}}
        path.write_text(json.dumps(data))
        return path

    def _install(self) -> str:
        words = ("slurm", "install", str(self.folder), "--plan", str(self.plan))
        words += ("--run-folder", str(self.run_folder), "--journal", str(self.journal))
        return self.run(*self.cluster.moldable(*words))

    def _follow_readme(self) -> None:
        beside = self.cluster.folder / "job_submit.lua"
        beside.symlink_to(self.folder / "job_submit.lua")
        with self.cluster.conf.open("a") as file:
            file.write("JobSubmitPlugins=lua\n")
            file.write(f"TaskProlog={self.folder / 'task_prolog.sh'}\n")
        self.cluster.restart_controller()
        self.run("scontrol", "reconfigure")

    @contextmanager
    def agent(self, mode: str, poll: float = 0.2) -> Iterator[object]:
        """Run the agent of the unit under the account of slurmctld."""
        settings = Settings(
            self.plan,
            mode,
            operator=True,
            poll=poll,
            journal=self.journal,
            heartbeat=self.heartbeat,
            disable=self.disable,
        )
        environment = {**self.cluster.environment, "XDG_RUNTIME_DIR": str(self.run_folder)}
        # In mode loss job_submit.lua trusts no heartbeat of the second in which it was loaded.
        least = int(time.time()) + 2 if mode == "loss" else 1
        process = start_agent(settings, environment, self.log, user="slurm")
        try:
            wait_for(lambda: self.beat(mode) >= least, 30, "the heartbeat")
            yield process
        finally:
            process.terminate()
            process.join(60)

    def beat(self, mode: str) -> int:
        """The time of the heartbeat, 0 if there is none of this mode."""
        text = self.heartbeat.read_text() if self.heartbeat.exists() else ""
        found = re.search(rf"^time (\d+)\nmode {mode}$", text, re.MULTILINE)
        return int(found[1]) if found else 0

    def submit(self, *words: str, user: str | None = USER) -> subprocess.CompletedProcess[str]:
        """Run sbatch, and return what it printed."""
        command = [*as_account(user), "sbatch", "--parsable", f"-o{self.outputs}/%j", *words]
        return subprocess.run(
            command,
            env=self.cluster.environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def job(self, job: str) -> dict[str, str]:
        """What Slurm says about a job."""
        words = self.run("scontrol", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def states(self) -> dict[str, tuple[str, ...]]:
        """The state, CPUs and reason of each job in the queue."""
        rows = self.run("squeue", "-h", "-a", "-r", "-o", "%i %t %C %r").splitlines()
        return {row.split()[0]: tuple(row.split()[1:]) for row in rows}

    def text(self, job: str) -> str:
        """What a job has printed."""
        path = self.outputs / job
        return path.read_text() if path.exists() else ""

    def clear(self) -> None:
        """Cancel all jobs; those that have just started first reach their scripts.

        A job that is cancelled before can stay in the queue for minutes.
        """
        for job, (state, *_) in self.states().items():
            if state == "R" and self.job(job)["StdOut"] != "/dev/null":
                wait_for(lambda job=job: self.text(job.partition("_")[0]), 20, f"job {job}")
        self.cluster.clear()

    def wait_until(self, job: str, *state: str) -> None:
        wait_for(lambda: self.states().get(job, ())[: len(state)] == state, 30, f"{job}: {state}")


@pytest.fixture(scope="module")
def _managed() -> Iterator[Managed]:
    require_slurm(accounting=False)
    with PrivateSlurm(CPUS, 1) as cluster:
        yield Managed(cluster)


@pytest.fixture
def managed(_managed) -> Iterator[Managed]:
    yield _managed
    for path in (_managed.disable, _managed.journal, _managed.log, _managed.heartbeat):
        path.unlink(missing_ok=True)
    _managed.clear()


def test_the_files_and_steps_are_those_of_this_cluster(managed):
    lines = managed.installed.splitlines()
    assert lines[-1] == (
        f"Nothing is installed yet; the steps are in {managed.folder / 'README.md'}"
    )
    readme = (managed.folder / "README.md").read_text()
    assert readme.startswith(f"# Moldable jobs on cluster {managed.cluster.name}\n")
    assert f"    TaskProlog={managed.folder}/task_prolog.sh\n" in readme
    assert "    JobSubmitPlugins=lua\n" in readme
    assert f"touch {managed.disable}\n" in readme


def test_refusals_of_install_change_nothing_and_end_with_code_2(managed):
    def install(*words):
        command = managed.cluster.moldable("slurm", "install", f"--plan={managed.plan}", *words)
        return managed.run("sh", "-c", '"$@" 2>&1; echo "code $?"', "sh", *command)

    place = str(managed.folder)
    before = {path.name: path.read_bytes() for path in managed.folder.iterdir()}
    wrong = install(place, "--mode=loss", "--shape=threads")
    assert "works for the shape tasks, not threads" in wrong
    assert wrong.endswith("code 2")
    unknown = install(place, "--partition=mian")
    assert "did you mean 'main'?" in unknown
    assert unknown.endswith("code 2")
    foreign = install(str(managed.cluster.folder), f"--run-folder={managed.run_folder}")
    assert "job_submit.lua exists and is not a regular file" in foreign
    assert foreign.endswith("code 2")
    assert {path.name: path.read_bytes() for path in managed.folder.iterdir()} == before


def test_enforced_jobs_get_their_width_and_their_scripts_see_it(managed):
    script = "--wrap=env | grep -E '^(MOLDABLE|SLURM_NTASKS|SLURM_NPROCS)' | sort; srun printf x"
    with managed.agent("enforce"):
        answer = managed.submit(MARK, "-n2", script)
        assert (answer.returncode, answer.stderr) == (0, "")
        job = answer.stdout.strip()
        wait_for(lambda: "ended" in managed.journal.read_text(), 40, "the journal")
    assert re.match(
        r"moldable:solver;shape=tasks;width=5;idle=64", managed.job(job)["AdminComment"]
    )
    assert managed.text(job).split() == [
        "MOLDABLE_CLASS=solver",
        "MOLDABLE_SHAPE=tasks",
        "MOLDABLE_WIDTH=5",
        "SLURM_NPROCS=5",
        "SLURM_NTASKS=5",
        "xxxxx",
    ]
    events = [(entry.event, entry.job, entry.width) for entry in read_journal(managed.journal)]
    assert events == [("granted", job, 5), ("ended", job, 5)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n2",), ""),
        (("--comment=anything", "-n2"), ""),
        (("--comment=moldable:solver;width=64", "-n2"), ""),
        (("--comment=moldable:solver\nmoldable:solver", "-n2"), ""),
        (("--comment=moldable:solvr", "-n2"), "the plan has no class solvr"),
        ((MARK, "--array=1", "-n2"), "it is an array"),
        ((MARK, "-n2", "--ntasks-per-node=1"), "--ntasks-per-node"),
        ((MARK, "-n2", "-wn[3-4]"), "--nodelist"),
    ],
)
def test_other_jobs_pass_untouched(managed, words, said):
    with managed.agent("enforce"):
        script = "--wrap=env | grep MOLDABLE; echo started; sleep 300"
        answer = managed.submit(*words, script)
        assert answer.returncode == 0
        assert said in answer.stderr
        assert answer.stderr.count("moldable:") == (said != "")
        job = answer.stdout.strip()
        first = f"{job}_1" if "--array=1" in words else job
        managed.wait_until(first, "R", "2")
    assert "AdminComment" not in managed.job(job)
    wait_for(lambda: managed.text(job), 20, "the script")
    assert managed.text(job) == "started\n"


def test_jobs_that_the_agent_cannot_judge_are_handed_back(managed):
    with managed.agent("enforce"):
        # job_submit.lua lets it through, and the shape tasks refuses it.
        job = managed.submit(MARK, "-n1", "-N1", "--exclusive", SLEEP).stdout.strip()
        managed.wait_until(job, "R", "1")
        wait_for(lambda: "passed=1" in managed.job(job)["AdminComment"], 20, "the mark")
    log = managed.log.read_text()
    assert f"job {job} is left unchanged: it asks for whole nodes (--exclusive)" in log
    assert f"job {job} was released as it was submitted" in log


def test_advise_tells_the_user_and_observe_writes_the_journal_only(managed):
    with managed.agent("advise"):
        answer = managed.submit(MARK, "-n2", SLEEP)
        assert "moldable: class solver would get width 5 of 64 idle servers" in answer.stderr
        job = answer.stdout.strip()
        managed.wait_until(job, "R", "2")
        wait_for(lambda: "advice=5" in managed.job(job).get("AdminComment", ""), 20, "the mark")
    with managed.agent("observe"):
        answer = managed.submit(MARK, "-n2", SLEEP)
        assert answer.stderr == ""
        other = answer.stdout.strip()
        wait_for(lambda: len(list(read_journal(managed.journal))) == 2, 20, "the journal")
        assert "AdminComment" not in managed.job(other)
    first, second = read_journal(managed.journal)
    assert (first.event, first.job, first.width) == ("advised", job, 5)
    assert (second.event, second.job, second.width) == ("observed", other, 5)
    assert (first.idle, second.idle) == (64, 62)


def test_jobs_pass_when_the_agent_has_died_and_those_on_hold_wait_for_the_next_one(managed):
    managed.run("sbatch", f"-n{CPUS}", "-o/dev/null", "-Jfull", SLEEP)
    wait_for(lambda: managed.cluster.idle_cpus() == 0, 20, "the plain job")
    with managed.agent("enforce") as process:
        held = managed.submit(MARK, "-n2", SLEEP).stdout.strip()
        managed.wait_until(held, "PD", "2", "JobHeldUser")
        process.kill()
        process.join(60)
        fresh = managed.submit(MARK, "-n2", SLEEP).stdout.strip()
        assert managed.states()[fresh] == ("PD", "2", "JobHeldUser")
        old = re.sub(r"time \d+", f"time {int(time.time()) - 11}", managed.heartbeat.read_text())
        managed.heartbeat.write_text(old)
        stale = managed.submit(MARK, "-n2", SLEEP).stdout.strip()
        assert managed.states()[stale][2] in ("Resources", "Priority", "None")
        assert "AdminComment" not in managed.job(stale)
    with managed.agent("enforce"):
        managed.cluster.restart_controller()
        managed.run("scancel", stale)
        managed.run("scancel", "-n", "full")
        managed.wait_until(held, "R", "5")
        managed.wait_until(fresh, "R", "5")
    # An agent that ends in order takes its heartbeat with it.
    assert not managed.heartbeat.exists()


def test_the_disable_file_switches_everything_off(managed):
    managed.run("sbatch", f"-n{CPUS - 2}", "-o/dev/null", "-Jfull", SLEEP)
    wait_for(lambda: managed.cluster.idle_cpus() == 2, 20, "the plain job")
    with managed.agent("enforce"):
        first = managed.submit(MARK, "-n2", SLEEP).stdout.strip()
        managed.wait_until(first, "R", "2")
        held = managed.submit(MARK, "-n3", SLEEP).stdout.strip()
        managed.wait_until(held, "PD", "3", "JobHeldUser")
        other = managed.submit(MARK, "-n3", SLEEP, user=None).stdout.strip()
        managed.wait_until(other, "PD", "3", "JobHeldUser")
        managed.run("scontrol", "hold", other)
        managed.wait_until(other, "PD", "3", "JobHeldAdmin")
        managed.disable.touch()
        passed = managed.submit(MARK, "-n4", SLEEP).stdout.strip()
        assert managed.states()[passed][0:2] == ("PD", "4")
        assert managed.states()[passed][2] != "JobHeldUser"
        wait_for(lambda: managed.states()[held][2] != "JobHeldUser", 20, "the release")
        managed.run("scancel", "-n", "full")
        managed.wait_until(held, "R", "3")
        managed.wait_until(passed, "R", "4")
        # A job that an administrator has held since is the administrator's.
        assert managed.states()[other] == ("PD", "3", "JobHeldAdmin")
        managed.disable.unlink()
        again = managed.submit(MARK, "-n2", SLEEP).stdout.strip()
        managed.wait_until(again, "R", "5")


def test_another_mode_releases_what_was_on_hold(managed):
    managed.run("sbatch", f"-n{CPUS}", "-o/dev/null", "-Jfull", SLEEP)
    wait_for(lambda: managed.cluster.idle_cpus() == 0, 20, "the plain job")
    with managed.agent("enforce"):
        held = managed.submit(MARK, "-n3", SLEEP).stdout.strip()
        managed.wait_until(held, "PD", "3", "JobHeldUser")
    with managed.agent("observe"):
        wait_for(lambda: managed.states()[held][2] != "JobHeldUser", 20, "the release")
        managed.run("scancel", "-n", "full")
        managed.wait_until(held, "R", "3")


def test_loss_mode_admits_exactly_the_servers_and_refuses_the_rest(managed):
    with managed.agent("loss"):
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda _: managed.submit(MARK, SLEEP), range(60)))
        admitted = [a for a in answers if a.returncode == 0]
        refused = [a for a in answers if a.returncode]
        # 12 jobs of 5 servers, and one of the last 4.
        assert (len(admitted), len(refused)) == (13, 47)
        for answer in refused:
            assert answer.returncode == 1
            assert (
                "moldable: refused, because there are no servers for class solver now (0 idle); "
                "submit it later"
            ) in answer.stderr
        wait_for(lambda: managed.cluster.idle_cpus() == 0, 30, "all jobs")
        widths = sorted(int(row[1]) for row in managed.states().values())
        assert widths == [4] + [5] * 12

        def journal():
            found = list(read_journal(managed.journal))
            return [sum(e.event == word for e in found) for word in ("granted", "blocked")]

        wait_for(lambda: journal() == [13, 47], 20, "the journal")
        assert managed.journal.stat().st_mode & 0o777 == 0o600
        # After a restart of slurmctld the ledger is empty, but the heartbeat knows the jobs.
        managed.cluster.restart_controller()
        loaded = int(time.time())
        wait_for(lambda: managed.beat("loss") > loaded + 1, 20, "a later heartbeat")
        assert managed.submit(MARK, SLEEP).returncode == 1
        gone = next(job for job, row in managed.states().items() if row[1] == "4")
        managed.run("scancel", gone)
        wait_for(lambda: managed.cluster.idle_cpus() == 4, 20, "the end of a job")
        wait_for(lambda: "idle 4\n" in managed.heartbeat.read_text(), 20, "the heartbeat")
        answer = managed.submit(MARK, "-n3", SLEEP)
        assert "moldable: width 4 of 4 idle servers" in answer.stderr
        managed.wait_until(answer.stdout.strip(), "R", "4")


def test_only_an_administrator_can_write_marks_and_the_files(managed):
    with managed.agent("enforce"):
        managed.run("sbatch", f"-n{CPUS}", "-o/dev/null", "-Jfull", SLEEP)
        wait_for(lambda: managed.cluster.idle_cpus() == 0, 20, "the plain job")
        job = managed.submit(MARK, "-n2", SLEEP).stdout.strip()
        managed.wait_until(job, "PD", "2", "JobHeldUser")
        before = managed.job(job)["AdminComment"]
        forged = "AdminComment=moldable:solver;width=64"
        managed.run("scontrol", "update", f"JobId={job}", forged, user=USER, check=False)
        assert managed.job(job)["AdminComment"] == before == "moldable:solver;shape=tasks"
        for path in (managed.heartbeat, managed.disable, managed.folder / "job_submit.lua"):
            words = ("sh", "-c", 'echo x >> "$1"', "sh", str(path))
            result = subprocess.run([*as_account(USER), *words], capture_output=True, check=False)
            assert result.returncode
        # A user may release an own job; it then runs as it was submitted.
        managed.run("scontrol", "release", job, user=USER)
        managed.run("scancel", "-n", "full")
        managed.wait_until(job, "R", "2")
