"""Jobs and nodes as squeue and sinfo list them.

Comments are texts of users and may hold newlines and separators. So every field ends with a random
token, and the output is split there.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from moldable.errors import SlurmError, shown

JOB_FIELDS: Final = (
    *("JobArrayID", "StateCompact", "Reason", "PriorityLong", "UserName", "SubmitTime"),
    *("EligibleTime", "StartTime", "NumCPUs", "NumNodes", "NumTasks", "cpus-per-task"),
    *("NTPerNode", "ReqNodes", "Feature", "Reservation", "OverSubscribe", "HetJobID"),
    *("tres-per-node", "tres-per-job", "Dependency", "admin_comment", "Comment"),
)
NODE_FIELDS: Final = ("NodeList", "StateCompact", "CPUsState", "Gres", "GresUsed")
_JOB_ID: Final = re.compile(r"[0-9]+(_[0-9]+)?(\+[0-9]+)?")
_ABSENT: Final = ("", "(null)", "N/A", "NONE")
_CPU_STATES: Final = 4
"""Allocated, idle, other and all CPUs of a node."""
_DIGITS: Final = 18
"""Most digits of a number in the output of Slurm."""
_ABOUT_TO_START: Final = ("None", "Resources", "Priority", "")
"""Reasons of pending jobs that start as soon as servers are idle."""
_NODES_ARE_DOWN: Final = ("Nodes required for job", "ReqNodeNotAvail")
"""Beginnings of the reasons of jobs that start as soon as nodes are available again."""
_STARTABLE: Final = ("idle", "mix", "alloc", "comp", "plnd")
_STOPPING: Final = "*$@^%!"
"""Signs after the state of a node that will not start jobs now, such as one not responding."""


@final
@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job in the queue; texts are empty and times None where Slurm has none.

    Attributes:
        job: its identifier, such as 17 or 17_3.
        state: Slurm's short form, such as PD or R.
        reason: why it is pending.
        priority: 0: it is held.
        submitted, eligible, started: seconds since 1970.
        cpus, nodes, tasks, cpus_per_task, tasks_per_node: what it has, or asks for.
        gpus_per_node, gpus_per_job: as Slurm writes them, such as "gres:gpu:2".
    """

    job: str
    state: str
    reason: str
    priority: int
    user: str
    submitted: float
    eligible: float | None
    started: float | None
    cpus: int
    nodes: int
    tasks: int
    cpus_per_task: int
    tasks_per_node: int
    required_nodes: str
    features: str
    reservation: str
    sharing: str
    heterogeneous: str
    gpus_per_node: str
    gpus_per_job: str
    dependency: str
    admin_comment: str
    comment: str

    @property
    def pending(self) -> bool:
        """Whether it has not started."""
        return self.state == "PD"

    @property
    def held(self) -> bool:
        """Whether it is on hold."""
        return self.pending and self.priority == 0 and self.reason.startswith("JobHeld")

    @property
    def about_to_start(self) -> bool:
        """Whether it starts as soon as servers are idle."""
        return self.pending and self.priority > 0 and self.reason in _ABOUT_TO_START

    @property
    def waits_for_nodes(self) -> bool:
        """Whether it starts as soon as nodes that are down or drained are back."""
        reason = self.reason.replace("_", " ")
        return self.pending and self.priority > 0 and reason.startswith(_NODES_ARE_DOWN)

    @property
    def order(self) -> tuple[float, int, int]:
        """Its place in the order of arrival: by submission, then by number."""
        base, _, task = self.job.partition("_")
        return (self.submitted, int(base.partition("+")[0]), int(task or 0))


@final
@dataclass(frozen=True, slots=True)
class Node:
    """A node of the partition.

    Attributes:
        name: its name.
        all_cpus, all_gpus: those that it has.
        cpus, gpus: those that jobs may use, idle or not.
        idle_cpus, idle_gpus: those that can be given to a job now.
        idle: whether the whole node is idle.
        usable: whether jobs may use the node.
    """

    name: str
    all_cpus: int
    cpus: int
    idle_cpus: int
    all_gpus: int
    gpus: int
    idle_gpus: int
    idle: bool
    usable: bool


def new_token() -> str:
    """Return a token that no comment holds."""
    return f"/{secrets.token_hex(8)}/"


def output_format(fields: Sequence[str], token: str) -> str:
    """Return the value of the option -O: width 0 means that nothing is cut."""
    return ",".join(f"{name}:0{token}" for name in fields)


def split_output(text: str, fields: Sequence[str], token: str) -> Iterator[list[str]]:
    """Yield the cells of each line."""
    cells = text.split(token)
    if cells.pop().strip() or len(cells) % len(fields):
        raise SlurmError(f"the output of Slurm ends in the middle of a line: {shown(text[-80:])}")
    for begin in range(0, len(cells), len(fields)):
        yield [cell.strip() for cell in cells[begin : begin + len(fields)]]


def read_job(cells: Sequence[str]) -> QueuedJob:
    """Return a job from a line of squeue."""
    texts = ["" if text in _ABSENT else text for text in cells]
    job, state, reason, _, user, *_ = texts
    if not _JOB_ID.fullmatch(job):
        raise SlurmError(f"{shown(job)} is not the number of a job")
    submitted, eligible, started = map(_time, texts[5:8])
    cpus, nodes, tasks, per_task, per_node = map(_count, texts[8:13])
    return QueuedJob(
        job,
        state,
        reason,
        _count(texts[3]),
        user,
        submitted or 0.0,
        eligible,
        started,
        cpus,
        nodes,
        tasks,
        per_task,
        per_node,
        *texts[13:],
    )


def read_node(cells: Sequence[str]) -> Node:
    """Return a node from a line of sinfo."""
    name, state, cpus, gres, gres_used = cells
    base = state.rstrip("*~#!%$@^-+")
    signs = state[len(base) :]
    startable = base in _STARTABLE and not any(sign in _STOPPING for sign in signs)
    counts = cpus.split("/")
    if len(counts) != _CPU_STATES:
        raise SlurmError(f"{shown(cpus)} in the output of Slurm does not count CPUs by state")
    allocated, idle, _, total = map(_count, counts)
    gpus, used = count_gpus(gres), count_gpus(gres_used)
    return Node(
        name,
        total,
        allocated + (idle if startable else 0),
        idle if startable else 0,
        gpus,
        gpus if startable else used,
        gpus - used if startable else 0,
        idle=startable and base in ("idle", "plnd"),
        usable=startable or allocated > 0,
    )


def count_gpus(text: str) -> int:
    """Return the number of GPUs in a list of generic resources, such as gpu:a100:4(S:0-1)."""
    found = 0
    for part in re.sub(r"\([^)]*\)", "", text).split(","):
        words = re.split(r"[:/=]", part.removeprefix("gres:").removeprefix("gres/"))
        if words[0] == "gpu":
            found += _count(words[-1]) if words[-1].isdecimal() else 1
    return found


def _count(text: str) -> int:
    """Read a number; of a range such as 1-3 the first."""
    first = text.partition("-")[0]
    if text in _ABSENT:
        return 0
    if not _is_number(first):
        raise SlurmError(f"{shown(text)} in the output of Slurm is not a number")
    return int(first)


def _time(text: str) -> float | None:
    return float(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS
