"""Checks before the agent starts: the plan fits the cluster, and the user has the rights."""

from __future__ import annotations

import os
import pwd
import re

from moldable.errors import InputError, SlurmError
from moldable.live.plan_file import LivePlan
from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.marks import checked_class
from moldable.live.slurm.programs import Runner, checked
from moldable.live.slurm.records import Node
from moldable.live.slurm.shapes import UNITS, Shape, all_units

ADMINISTRATOR = "Administrator"


def user_name() -> str:
    """Return the name of the account of this process, as Slurm lists it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def refuse_large_plan(plan: LivePlan, client: SlurmClient, shape: Shape) -> None:
    """Refuse a plan for more servers than the partition has, and one that cannot be marked."""
    for job_class in plan.scenario.workload.classes:
        checked_class(job_class.name)
    nodes: list[Node] = client.nodes()
    found = sum(all_units(node, shape.unit) for node in nodes)
    wanted = plan.scenario.servers
    if wanted > found:
        smaller = f"make a plan for at most {found}, or " if found else ""
        raise InputError(
            f"the plan is for {wanted} servers, but partition {client.partition} has {found} "
            f"{UNITS[shape.unit]}; {smaller}choose another --partition or --shape"
        )


def refuse_without_rights(configured: dict[str, str], runner: Runner) -> None:
    """Refuse to act on jobs of all users without the rights of a Slurm administrator."""
    name = user_name()
    owner = re.match(r"[^(]*", configured.get("SlurmUser", ""))
    if os.getuid() == 0 or (owner is not None and owner[0] == name):
        return
    words = ["sacctmgr", "-n", "-P", "show", "user", name, "format=AdminLevel"]
    try:
        level = checked(runner, words).strip()
    except (InputError, SlurmError):  # without accounting nobody else is an administrator
        level = "none"
    if level != ADMINISTRATOR:
        raise InputError(
            f"--operator acts on jobs of all users, which needs Slurm's admin level "
            f"{ADMINISTRATOR}; {name} has {level or 'none'}. Ask for: sacctmgr modify user {name} "
            f"set adminlevel=Administrator; or leave out --operator to act on your own jobs"
        )
