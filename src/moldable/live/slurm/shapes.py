"""Shapes of moldable jobs: what a width means to Slurm, and how it is set."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

from moldable.checks import choice
from moldable.errors import InputError
from moldable.live.slurm.records import Node, QueuedJob, count_gpus

Unit = Literal["cpus", "nodes", "gpus"]
Refusal = Callable[[QueuedJob], bool]


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """How a job uses its servers.

    Attributes:
        name: the name on the command line.
        unit: what a server is.
        one_node: whether all servers of a job are on the same node.
        options: options with which sbatch submits such a job.
        set_by: the fields that `scontrol update` sets; {w} is the width, {gpu} the type of GPU.
        variable: shell expression of the width inside the job.
        refusals: tests for jobs that the shape does not support, by the reason.
    """

    name: str
    unit: Unit
    one_node: bool
    options: tuple[str, ...]
    set_by: tuple[str, ...]
    variable: str
    refusals: Mapping[str, Refusal]

    def settings(self, job: QueuedJob, width: int) -> tuple[str, ...]:
        """Return the words with which `scontrol update` sets the width of a job."""
        gpu = "gpu"
        if job.gpus_per_node:
            gpu = job.gpus_per_node.removeprefix("gres:").removeprefix("gres/")
            gpu = gpu.rpartition(":")[0] if gpu.rpartition(":")[2].isdecimal() else gpu
        return tuple(word.format(w=width, gpu=gpu) for word in self.set_by)

    def has_width(self, job: QueuedJob, width: int) -> bool:
        """Return whether Slurm has applied the width to a pending job."""
        taken = {
            "tasks": (job.cpus, job.tasks) == (width, width),
            "threads": (job.cpus, job.cpus_per_task, job.nodes) == (width, width, 1),
            "nodes": job.nodes == width,
            "gpus": count_gpus(job.gpus_per_node) == width and job.nodes == 1,
        }
        return taken[self.name]

    def refusal(self, job: QueuedJob) -> str | None:
        """Return why the shape does not support a job; None if it does."""
        return next((words for words, applies in self.refusals.items() if applies(job)), None)


_ANY: Final[dict[str, Refusal]] = {
    "it is a part of a heterogeneous job": lambda job: bool(job.heterogeneous),
    "it asks for certain nodes (--nodelist)": lambda job: bool(job.required_nodes),
    "it asks for features of nodes (--constraint)": lambda job: bool(job.features),
    "it asks for a reservation (--reservation)": lambda job: bool(job.reservation),
    "it asks for GPUs of the whole job (--gpus)": lambda job: bool(job.gpus_per_job),
    "it asks for tasks on each node (--ntasks-per-node)": lambda job: job.tasks_per_node > 0,
}
_SHARED: Final[dict[str, Refusal]] = _ANY | {
    "it asks for whole nodes (--exclusive)": lambda job: job.sharing == "NO",
}
_CPUS: Final[dict[str, Refusal]] = _SHARED | {
    "it asks for GPUs (--gres)": lambda job: bool(job.gpus_per_node),
}
SHAPES: Final = {
    shape.name: shape
    for shape in (
        Shape(
            "tasks",
            "cpus",
            one_node=False,
            options=(),
            set_by=("NumTasks={w}", "NumCPUs={w}"),
            variable="$SLURM_NTASKS",
            refusals=_CPUS
            | {"each of its tasks uses several CPUs (-c)": lambda job: job.cpus_per_task > 1},
        ),
        Shape(
            "threads",
            "cpus",
            one_node=True,
            options=("-N1", "-c1"),
            set_by=("CpusPerTask={w}", "NumCPUs={w}", "MinCPUsNode={w}", "NumNodes=1-1"),
            variable="$SLURM_CPUS_PER_TASK",
            refusals=_CPUS | {"it has several tasks (-n)": lambda job: job.tasks > 1},
        ),
        Shape(
            "nodes",
            "nodes",
            one_node=False,
            options=("-N1", "--exclusive"),
            set_by=("NumNodes={w}-{w}",),
            variable="$SLURM_JOB_NUM_NODES",
            refusals=_ANY
            | {"it does not ask for whole nodes (--exclusive)": lambda job: job.sharing != "NO"},
        ),
        Shape(
            "gpus",
            "gpus",
            one_node=True,
            options=("-N1", "--gres=gpu:1"),
            set_by=("Gres={gpu}:{w}",),
            variable="$SLURM_GPUS_ON_NODE",
            refusals=_SHARED
            | {
                "it asks for other resources than GPUs (--gres)": lambda job: (
                    "," in job.gpus_per_node or count_gpus(job.gpus_per_node) == 0
                ),
                "it asks for several nodes (-N)": lambda job: job.nodes > 1,
            },
        ),
    )
}
UNITS: Final = {"cpus": "CPUs", "nodes": "nodes", "gpus": "GPUs"}


def shape_named(name: str) -> Shape:
    """Return the shape of this name."""
    return SHAPES[choice(name, SHAPES, "shape", InputError)]


def held_units(job: QueuedJob, unit: Unit) -> int:
    """Return the servers that a job holds, or asks for."""
    if unit == "cpus":
        return job.cpus
    if unit == "nodes":
        return job.nodes
    return count_gpus(job.gpus_per_node) * max(job.nodes, 1) + count_gpus(job.gpus_per_job)


def all_units(node: Node, unit: Unit) -> int:
    """Return the servers of a node, whatever its state."""
    return {"cpus": node.all_cpus, "nodes": 1, "gpus": node.all_gpus}[unit]


def usable_units(node: Node, unit: Unit) -> int:
    """Return the servers of a node that jobs may use, idle or not."""
    return {"cpus": node.cpus, "nodes": int(node.usable), "gpus": node.gpus}[unit]


def idle_units(node: Node, unit: Unit) -> int:
    """Return the idle servers of a node."""
    return {"cpus": node.idle_cpus, "nodes": int(node.idle), "gpus": node.idle_gpus}[unit]


class Blocks:
    """The idle servers of each node, of which a job of one node gets at most the largest number.

    Where Slurm puts a job is not known in advance, so what remains on a node is taken to be the
    least possible.
    """

    def __init__(self, idle: Iterable[int]) -> None:
        self._negative = [-count for count in idle]
        heapq.heapify(self._negative)

    @property
    def largest(self) -> int:
        """The largest number of servers that one node surely has."""
        return max(-self._negative[0], 0) if self._negative else 0

    def take(self, width: int, *, one_node: bool) -> None:
        """Give servers to a job."""
        if not self._negative:
            return
        if one_node:
            heapq.heapreplace(self._negative, self._negative[0] + width)
            return
        for _ in range(width):
            heapq.heapreplace(self._negative, self._negative[0] + 1)
