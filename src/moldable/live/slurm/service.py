"""The agent as a process: its checks, its lock, its log and its end."""

from __future__ import annotations

import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import cast, final

from moldable.checks import choice, within
from moldable.errors import InputError, printable
from moldable.live.journal import Journal
from moldable.live.plan_file import LivePlan, read_plan
from moldable.live.slurm.agent import LOG, MODES, Agent, Mode
from moldable.live.slurm.client import SlurmClient, configuration, default_partition
from moldable.live.slurm.heartbeat import MAX_AGE
from moldable.live.slurm.lock import AgentInfo, AgentLock
from moldable.live.slurm.programs import Runner, require_slurm, run
from moldable.live.slurm.pulse import Pulse
from moldable.live.slurm.shapes import Shape, shape_named
from moldable.live.slurm.snapshot import Scope
from moldable.live.slurm.start import refuse_large_plan, refuse_without_rights, user_name

SHORTEST_POLL, LONGEST_POLL = 0.05, 3600.0


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """The options of `moldable slurm agent`."""

    plan: Path
    mode: str = "enforce"
    shape: str = "tasks"
    partition: str | None = None
    operator: bool = False
    poll: float = 1.0
    journal: Path | None = None
    heartbeat: Path | None = None
    disable: Path | None = None
    seed: int = 0


def serve(settings: Settings, runner: Runner = run) -> None:
    """Check the settings and decide until SIGTERM or SIGINT."""
    within(settings.poll, "poll", InputError, SHORTEST_POLL, LONGEST_POLL)
    choice(settings.mode, MODES, "mode", InputError)
    shape, plan = shape_named(settings.shape), read_plan(settings.plan)
    _refuse_wrong_mode(settings, plan, shape)
    require_slurm()
    configured = configuration(runner)
    client = SlurmClient(default_partition(settings.partition, runner), runner)
    if settings.operator:
        refuse_without_rights(configured, runner)
    refuse_large_plan(plan, client, shape)
    scope = Scope(plan, shape, None if settings.operator else user_name())
    agent = Agent(
        client,
        scope,
        cast("Mode", settings.mode),
        Journal(settings.journal),
        _pulse(settings, client.partition, runner),
        settings.disable,
        settings.seed,
    )
    classes = tuple(job_class.name for job_class in plan.scenario.workload.classes)
    info = AgentInfo(os.getpid(), settings.mode, shape.name, client.partition, plan.digest, classes)
    # A handler may put at any moment; setting an Event could wait for the code it has interrupted.
    ending: SimpleQueue[int] = SimpleQueue()
    cluster = configured["ClusterName"]
    with AgentLock(cluster, info):
        _show_log()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: ending.put(number))
        LOG.info("%s", _greeting(info, cluster, plan, scope))
        try:
            agent.run(ending, settings.poll)
        finally:
            if agent.pulse is not None:
                agent.pulse.stop()
        LOG.info("ended")


def refuse_wrong_loss(plan: LivePlan, shape: Shape) -> None:
    """Refuse what job_submit.lua cannot decide at submission."""
    if plan.scenario.waiting:
        raise InputError(
            "mode loss refuses jobs that get no servers, but the plan is for jobs that wait; make "
            "one without waiting places (waiting = 0), or use --mode enforce"
        )
    if shape.name != "tasks":
        raise InputError(
            f"mode loss sets widths at submission, which works for the shape tasks, not "
            f"{shape.name}; use --shape tasks, or --mode enforce"
        )


def _refuse_wrong_mode(settings: Settings, plan: LivePlan, shape: Shape) -> None:
    """Refuse options that do not go together."""
    if settings.mode == "loss":
        refuse_wrong_loss(plan, shape)
    if settings.mode == "loss" and not (settings.operator and settings.heartbeat):
        raise InputError(
            "mode loss needs job_submit.lua, so --operator and --heartbeat are required; see: "
            "moldable slurm install --help"
        )
    if settings.heartbeat is not None and settings.poll > MAX_AGE / 3.0:
        raise InputError(
            f"poll={settings.poll:g} s is too long with --heartbeat, which is stale after "
            f"{MAX_AGE:g} s; use at most {MAX_AGE / 3.0:.3g}"
        )


def _pulse(settings: Settings, partition: str, runner: Runner) -> Pulse | None:
    if settings.heartbeat is None:
        return None
    try:
        default = default_partition(None, runner)
    except InputError:  # there is none
        default = None
    return Pulse(settings.heartbeat, partition, default == partition, settings.seed)


def _greeting(info: AgentInfo, cluster: str, plan: LivePlan, scope: Scope) -> str:
    whose = "of all users" if scope.user is None else f"of {scope.user}"
    queue = (
        ""
        if plan.scenario.waiting or info.mode == "loss"
        else "; the plan has no waiting places, but jobs wait here"
    )
    return (
        f"mode {info.mode}, jobs {whose} on cluster {cluster}, partition {info.partition}: plan "
        f"{plan.digest} for {plan.scenario.servers} servers, classes {', '.join(info.classes)}"
        f"{queue}"
    )


def _show_log() -> None:
    """Write the log to stderr, with times, one line for each event."""

    class Line(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
            word = "" if record.levelno < logging.WARNING else "warning: "
            return f"{moment} {word}{printable(record.getMessage())}"

    handler = logging.StreamHandler()
    handler.setFormatter(Line())
    LOG.handlers = [handler]
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
