"""A private Slurm on this machine: own key, own ports on the loopback interface, own folder.

Daemons are stopped by their recorded process ids, after all jobs have been cancelled.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from engines.accounting import DATABASE_PROGRAMS, accounting_options, start_accounting
from engines.daemons import Daemons, as_account, reserve_ports, wait_for

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged", "setpriv")
ACCOUNTS = ("slurm", "nobody")
USER = "nobody"
"""An account without any rights, which exists on every system."""
OTHERS = ("SLURM", "SBATCH", "SQUEUE", "SINFO", "SACCT", "SCONTROL", "COV")
"""Variables that would lead to another Slurm, or let another account measure the coverage."""
FAST = "batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1"
# The account may not be allowed to read this checkout or the interpreter's folder.
READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def missing(*, accounting: bool = False) -> str | None:
    """Return why no private Slurm can be started here; None if it can."""
    programs = PROGRAMS + (DATABASE_PROGRAMS if accounting else ())
    absent = [name for name in programs if shutil.which(name, path=search_path()) is None]
    if absent:
        return f"{', '.join(absent)} not installed; install with: make engines"
    if os.geteuid():
        return "a private Slurm with several users needs root"
    return None


def search_path() -> str:
    """Return the search path with the folders of daemons."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class PrivateSlurm:
    """A running Slurm.

    Args:
        nodes: number of nodes, called n1, n2, ...
        cpus: CPUs of each.
        gpus: fake GPUs of each, at most 4.
        accounting: also start MariaDB and slurmdbd, so that sacct works.
        options: lines of slurm.conf that differ from the usual ones.
        partitions: its partitions; by default one, called main, of all nodes.
    """

    def __init__(
        self,
        nodes: int,
        cpus: int,
        *,
        gpus: int = 0,
        accounting: bool = False,
        options: Mapping[str, str] | None = None,
        partitions: Sequence[str] = ("main Nodes=ALL Default=YES",),
    ) -> None:
        # Paths of Unix sockets have at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.name = f"test{self.folder.name[-8:].replace('_', 'x').lower()}"
        self.nodes, self.cpus, self.gpus = nodes, cpus, gpus
        self.daemons = Daemons(self.folder)
        self.reservation: socket.socket | None = None
        self.conf = self.folder / "slurm.conf"
        self.environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith(OTHERS)},
            "PATH": search_path(),
            "SLURM_CONF": str(self.conf),
            "LANG": "C.UTF-8",
        }
        try:
            self._start(dict(options or {}), partitions, accounting=accounting)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self, *words: str, user: str | None = None, text: str | None = None, check: bool = True
    ) -> str:
        """Run one of Slurm's programs, if asked under another account, and return its output."""
        result = subprocess.run(
            [*as_account(user), *words],
            env=self.environment,
            cwd="/",
            input=text,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert not check or result.returncode == 0, (words, result.stdout, result.stderr)
        return result.stdout.strip()

    def moldable(self, *words: str, user: str | None = None) -> list[str]:
        """Return the command line of `moldable`, which runs under another account if asked."""
        start = [] if user is None else [*as_account(user), *READING]
        return [*start, sys.executable, "-m", "moldable", *words]

    def home(self, user: str = USER) -> Path:
        """Create a folder that belongs to an account, for its runtime files and its jobs."""
        folder = Path(tempfile.mkdtemp(prefix="home-", dir=self.folder))
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
        return folder

    def clear(self) -> None:
        """Cancel all jobs, and wait until they have gone and every node is idle."""
        for state in ("PENDING", "RUNNING", "SUSPENDED"):
            self.run("scancel", "--full", f"--state={state}", check=False)
        wait_for(lambda: not self.run("squeue", "-h", "-a"), 60, "all jobs to end")
        wait_for(self._all_idle, 60, "all nodes to be idle")

    def _all_idle(self) -> bool:
        """Return whether every node is idle; nodes that were drained are put back in service.

        Slurm drains a node itself if a job could not be started or ended on it. A node that was
        resumed counts as not responding, idle*, for a second.
        """
        drained = self.run("sinfo", "-h", "-N", "-t", "drain,down,fail", "-o", "%N").split()
        if drained:
            names = f"NodeName={','.join(sorted(set(drained)))}"
            self.run("scontrol", "update", names, "State=resume", check=False)
        return self.run("sinfo", "-h", "-o", "%t") == "idle"

    def idle_cpus(self) -> int:
        """Return the number of idle CPUs as Slurm counts them."""
        return int(self.run("sinfo", "-h", "-o", "%C").split("/")[1])

    @contextmanager
    def drained(self, nodes: str) -> Iterator[None]:
        """Drain nodes for a while."""
        self.run("scontrol", "update", f"NodeName={nodes}", "State=drain", "Reason=test")
        try:
            yield
        finally:
            self.run("scontrol", "update", f"NodeName={nodes}", "State=resume")

    def wait_for_idle(self, cpus: int) -> None:
        """Wait until this many CPUs are idle."""
        try:
            wait_for(lambda: self.idle_cpus() == cpus, 20, f"{cpus} idle CPUs")
        except AssertionError as error:
            told = [self.run(*words) for words in (["squeue"], ["sinfo"], ["sinfo", "-R"])]
            raise AssertionError("\n".join([str(error), *told])) from None

    def restart_controller(self) -> None:
        """Stop slurmctld in its own time and start it again with its saved state."""
        self.daemons.stop("slurmctld")
        self._start_controller([])
        wait_for(lambda: "UP" in self.run("scontrol", "ping", check=False), 30, "slurmctld")

    def close(self) -> None:
        """Cancel all jobs, stop the daemons and remove the folder."""
        if "slurmctld" in self.daemons:
            try:
                self.clear()
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                sys.stderr.write(f"jobs of the private Slurm are left: {error}\n")
        self.daemons.close()
        if self.reservation is not None:
            self.reservation.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(
        self, options: dict[str, str], partitions: Sequence[str], *, accounting: bool
    ) -> None:
        self._start_munge()
        slurm = pwd.getpwnam("slurm")
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir()
            os.chown(self.folder / name, slurm.pw_uid, slurm.pw_gid)
        os.chown(self.folder / "spool", 0, 0)
        self.reservation, ports = reserve_ports(2 + self.nodes)
        usual = self._options(ports[0])
        if accounting:
            usual |= accounting_options(self, ports[1])
        if self.gpus:
            usual["GresTypes"] = "gpu"
            (self.folder / "gres.conf").write_text(
                f"AutoDetect=off\nNodeName=n[1-{self.nodes}] Name=gpu "
                f"File=/dev/tty[0-{self.gpus - 1}]\n"
            )
        lines = [f"{key}={value}" for key, value in (usual | options).items()]
        lines += [self._node(k, port) for k, port in enumerate(ports[2:], start=1)]
        lines += [f"PartitionName={text} MaxTime=INFINITE State=UP" for text in partitions]
        self.conf.write_text("\n".join(lines) + "\n")
        if accounting:
            start_accounting(self, ports[1])
        self._start_controller(["-c"])
        for k in range(1, self.nodes + 1):
            self.daemons.start(f"n{k}", ["slurmd", "-D", "-N", f"n{k}"], self.environment)
        self._wait_until_up()

    def _start_munge(self) -> None:
        key, self.munge = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        files = {"key-file": key, "socket": self.munge, "pid-file": "munge.pid"}
        files |= {"log-file": "munge.log", "seed-file": "munge.seed"}
        options = [f"--{name}={self.folder / str(file)}" for name, file in files.items()]
        self.daemons.start("munged", ["munged", "-F", "--force", *options], self.environment)
        wait_for(self.munge.exists, 10, "munged")

    def _start_controller(self, options: Sequence[str]) -> None:
        words = [*as_account("slurm"), "slurmctld", "-D", *options]
        self.daemons.start("slurmctld", words, self.environment)

    def _wait_until_up(self) -> None:
        # Nodes whose slurmd has not reported yet are unknown, "unk", but their CPUs count as idle.
        is_up: Callable[[], bool] = lambda: (  # noqa: E731
            self.run("sinfo", "-h", "-o", "%t", check=False) == "idle"
        )
        wait_for(is_up, 90, f"the nodes of the Slurm in {self.folder}")

    def _node(self, number: int, port: int) -> str:
        gpus = f" Gres=gpu:{self.gpus}" if self.gpus else ""
        return (
            f"NodeName=n{number} NodeHostname={host_name()} NodeAddr=127.0.0.1 Port={port} "
            f"CPUs={self.cpus} RealMemory={1000 * self.cpus}{gpus}"
        )

    def _options(self, port: int) -> dict[str, str]:
        return {
            "ClusterName": self.name,
            "SlurmctldHost": f"{host_name()}(127.0.0.1)",
            "SlurmctldPort": str(port),
            "SlurmUser": "slurm",
            "SlurmdUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.munge}",
            "CredType": "cred/munge",
            "StateSaveLocation": f"{self.folder}/state",
            "SlurmctldPidFile": f"{self.folder}/state/slurmctld.pid",
            "SlurmctldLogFile": f"{self.folder}/log/slurmctld.log",
            "SlurmdSpoolDir": f"{self.folder}/spool/%n",
            "SlurmdPidFile": f"{self.folder}/spool/%n.pid",
            "SlurmdLogFile": f"{self.folder}/log/%n.log",
            "SlurmdParameters": "config_overrides",  # more CPUs than the machine has
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "MpiDefault": "none",
            "SwitchType": "switch/none",
            "EnforcePartLimits": "ALL",
            "ReturnToService": "2",
            "KillWait": "1",
            "MinJobAge": "300",
            "MaxJobCount": "20000",
            "SlurmctldDebug": "info",
            "SlurmdDebug": "error",
            "SchedulerType": "sched/backfill",
            "PriorityType": "priority/basic",
            "SchedulerParameters": FAST,
            "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",  # loopback only
        }


def host_name() -> str:
    """Return the short name of this machine, by which slurmd must be listed."""
    return socket.gethostname().split(".")[0]


def kill(process: subprocess.Popen) -> None:
    """Kill a process as `kill -9` does."""
    process.send_signal(signal.SIGKILL)
    process.wait()


def sleep_until(moment: float) -> None:
    """Sleep until a moment of the monotonic clock."""
    time.sleep(max(0.0, moment - time.monotonic()))
